//! What happened on a link, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// Running totals, since the link was opened.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) round_trips: AtomicU64,
    pub(crate) upkeep_round_trips: AtomicU64,
    pub(crate) scripts_sent: AtomicU64,
    pub(crate) redirects: AtomicU64,
    pub(crate) connects: AtomicU64,
    pub(crate) losses: AtomicU64,
    pub(crate) overloads: AtomicU64,
}

/// What happened on a link since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Commands that carried a batch of operations, further attempts included.
    pub round_trips: u64,
    /// Commands that carried another call, further attempts included: for the records of limits and of reservations, and to count instances.
    pub upkeep_round_trips: u64,
    /// Calls that carried the script's text because the server did not know it.
    pub scripts_sent: u64,
    /// Calls that another node of the cluster had to answer.
    pub redirects: u64,
    /// Connections made.
    pub connects: u64,
    /// Connections lost.
    pub losses: u64,
    /// Calls refused because too many were under way.
    pub overloads: u64,
}

impl Counters {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> LinkCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LinkCounts {
            round_trips: of(&self.round_trips),
            upkeep_round_trips: of(&self.upkeep_round_trips),
            scripts_sent: of(&self.scripts_sent),
            redirects: of(&self.redirects),
            connects: of(&self.connects),
            losses: of(&self.losses),
            overloads: of(&self.overloads),
        }
    }
}
