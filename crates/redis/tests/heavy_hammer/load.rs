//! What is hammered: how many keys under which limit, in which order, and what may be wasted. Several are hammered side by side, by all threads.

use std::time::Duration;

use tollgate_core::{Burst, Limit, Rate};

/// Processes that hammer.
pub(crate) const PROCESSES: usize = 4;
/// Threads of each.
pub(crate) const THREADS: usize = 8;

/// How the store keeps the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Exact,
    Leased,
}

/// Keys of one rule, as workers ask them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys {
    pub(crate) mode: Mode,
    pub(crate) count: u64,
}

/// One rule that many ask.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) mode: Mode,
    pub(crate) keys: u64,
    /// Tokens in so many seconds.
    pub(crate) rate: (u64, u64),
    pub(crate) burst: u64,
    pub(crate) seconds: u64,
}

impl Mode {
    /// What must be used of what there was, in per mille.
    pub(crate) fn used_per_mille_min(self) -> u64 {
        match self {
            Mode::Exact => 990,
            Mode::Leased => 970,
        }
    }

    pub(crate) fn named(name: &str) -> Mode {
        if name == Mode::Leased.name() { Mode::Leased } else { Mode::Exact }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Exact => "exact",
            Mode::Leased => "leased",
        }
    }
}

impl Load {
    pub(crate) fn limit(&self) -> Limit {
        let (tokens, seconds) = self.rate;
        Limit::new(Rate::new(tokens, tollgate_core::Span::from_secs(seconds)), Burst::tokens(self.burst))
            .unwrap()
    }

    pub(crate) fn keys(&self) -> Keys {
        Keys { mode: self.mode, count: self.keys }
    }

    pub(crate) fn lasts(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// Whether hardly anything may be wasted: not where most keys are asked too seldom to be used up.
    pub(crate) fn is_used_up(&self) -> bool {
        !self.keys().are_some_hot()
    }

    fn rule(&self, number: usize) -> String {
        let ((tokens, seconds), burst, mode) = (self.rate, self.burst, self.mode.name());
        let path = path(number);
        format!(
            "{{name: hammered-{number}, scope: ip, path: {path}, rate: {tokens}/{seconds}s, burst: {burst}, \
             consistency: {mode}}}"
        )
    }
}

/// The policy of every process, in one line. No check may be decided without the store, and a second is long enough for it.
pub(crate) fn policy(loads: &[Load]) -> String {
    let rules: Vec<String> = loads.iter().enumerate().map(|(number, load)| load.rule(number)).collect();
    format!("{{store: {{deadline: 1s, instances_max: {PROCESSES}}}, rules: [{}]}}", rules.join(", "))
}

/// Where the load of this number is asked for.
pub(crate) fn path(number: usize) -> String {
    format!("/hammered-{number}")
}

impl Keys {
    /// Of thousands of keys under leases no more than a few can be asked more often than they refill, since only fast limits may lease: so those
    /// are, and the others come and go.
    fn are_some_hot(self) -> bool {
        self.mode == Mode::Leased && self.count >= 1_000
    }

    /// The key after this one: one after the other, or some much more often than others.
    pub(crate) fn after(self, key: u64, random: &mut fastrand::Rng) -> u64 {
        if !self.are_some_hot() {
            return (key + 1) % self.count;
        }
        // Of 10,000 the first is asked three times in ten, and the last half together one time in twelve.
        let far = (u128::from(random.u32(..)).pow(4) >> 64).pow(2) >> 64;
        u64::try_from((far * u128::from(self.count)) >> 64).unwrap()
    }
}

/// How long one run takes: as the gate can afford, or as `TOLLGATE_SOAK_SECONDS` says.
pub(crate) fn seconds(usually: u64) -> u64 {
    std::env::var("TOLLGATE_SOAK_SECONDS").map_or(usually, |seconds| seconds.parse().unwrap())
}
