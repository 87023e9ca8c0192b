//! What is hammered: how many keys under which limit, and what may be wasted.

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

    /// The policy of every process. No check may be decided without the store, and a second is long enough for it.
    pub(crate) fn policy(&self) -> String {
        let ((tokens, seconds), burst, mode) = (self.rate, self.burst, self.mode.name());
        format!(
            "{{store: {{deadline: 1s, instances_max: {PROCESSES}}}, rules: [{{name: hammered, scope: ip, \
             rate: {tokens}/{seconds}s, burst: {burst}, consistency: {mode}}}]}}"
        )
    }

    pub(crate) fn lasts(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// How long one run takes: as the gate can afford, or as `TOLLGATE_SOAK_SECONDS` says.
pub(crate) fn seconds(usually: u64) -> u64 {
    std::env::var("TOLLGATE_SOAK_SECONDS").map_or(usually, |seconds| seconds.parse().unwrap())
}
