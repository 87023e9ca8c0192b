//! What is asked for: rules that differ in what they do while the store does not answer, a leased one, buckets whose limit comes with the call, and
//! checks of several buckets.

use tollgate::{Burst, Limit, Rate};

use crate::traffic::INSTANCES;

/// Clients of everything but the leased rule, which all share. Each asks 71 times a second.
pub(crate) const CLIENTS: usize = 4;

/// What one check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Open,
    Local,
    Closed,
    /// One bucket of which both instances hold slices.
    Leased,
    /// A limit that comes with the call.
    Explicit,
    /// The client's bucket and one that all clients share, all or nothing.
    Several,
}

/// A limit that is to be kept: of each client, or of all together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    pub(crate) limit: Limit,
    pub(crate) is_of_all: bool,
}

pub(crate) const EVERYTHING: [Asked; 6] =
    [Asked::Open, Asked::Local, Asked::Closed, Asked::Leased, Asked::Explicit, Asked::Several];

/// In which order it is asked for. The leased rule twice: 571 times a second, more than it refills.
pub(crate) const TURNS: [Asked; 7] =
    [Asked::Open, Asked::Local, Asked::Leased, Asked::Closed, Asked::Explicit, Asked::Leased, Asked::Several];

impl Asked {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Asked::Open => "/open",
            Asked::Local => "/local",
            Asked::Closed => "/closed",
            Asked::Leased => "/leased",
            Asked::Explicit => "/explicit",
            Asked::Several => "/several",
        }
    }

    pub(crate) fn clients(self) -> usize {
        if self == Asked::Leased { 1 } else { CLIENTS }
    }

    /// The limits that its checks are under.
    pub(crate) fn kept(self) -> Vec<Kept> {
        let of_client = Kept { limit: of_client(), is_of_all: false };
        match self {
            Asked::Leased => vec![Kept { limit: limit(500, 200), is_of_all: true }],
            // Clients are denied by their own first, and later by that of all.
            Asked::Several => vec![of_client, Kept { limit: limit(190, 250), is_of_all: true }],
            _ => vec![of_client],
        }
    }

    fn rules(self) -> Vec<String> {
        let (path, kept) = (self.path(), self.kept());
        let on_failure = match self {
            Asked::Open => "open",
            Asked::Closed => "closed",
            _ => "local",
        };
        let consistency = if self == Asked::Leased { "leased" } else { "exact" };
        let rule = |(number, kept): (usize, &Kept)| {
            let (name, scope) = (&path[1..], if kept.is_of_all { "global" } else { "ip" });
            let [micros, nanos, burst] = kept.limit.terms();
            let (rate, burst) = (micros * 1_000 / nanos, burst / 1_000_000);
            format!(
                "{{name: {name}-{number}, scope: {scope}, path: {path}, rate: {rate}/s, burst: {burst}, \
                 on_store_failure: {on_failure}, consistency: {consistency}}}"
            )
        };
        // Whoever brings a limit along needs no rule.
        if self == Asked::Explicit { Vec::new() } else { kept.iter().enumerate().map(rule).collect() }
    }
}

/// The limit of every client.
pub(crate) fn of_client() -> Limit {
    limit(50, 50)
}

fn limit(rate: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_second(rate), Burst::tokens(burst)).unwrap()
}

/// The rules of every instance.
pub(crate) fn policy() -> String {
    let rules: Vec<String> = EVERYTHING.into_iter().flat_map(Asked::rules).collect();
    format!("{{store: {{instances_max: {INSTANCES}}}, rules: [{}]}}", rules.join(", "))
}
