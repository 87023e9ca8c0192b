//! What the table has been through.

use crate::memory::counters::Event;
use crate::memory::explicit::store::ExplicitStore;
use crate::shared::Shared;

/// Counts since the limiter was made. Each is exact; together they are not one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// How many keys the table was made for.
    pub keys_max: usize,
    /// Slots that hold a bucket, full ones that nobody has reclaimed yet included.
    pub slots_taken: u64,
    /// Full buckets that were forgotten to make room, at no loss.
    pub reclaimed: u64,
    /// Buckets that were not full and had to make room for a newcomer, which inherited their mark.
    pub evicted: u64,
    /// New clients denied for want of room.
    pub denied_new: u64,
    /// Charges to a shared overflow bucket.
    pub overflowed: u64,
    /// Buckets carried over to another limit of their rule.
    pub relabelled: u64,
    /// Checks whose idempotency key could not be remembered: a retry of theirs is charged again.
    pub retries_unguarded: u64,
    /// Reservations that are open, those that timed out and nobody has swept yet included.
    pub reservations_open: usize,
    /// Idempotency keys that are remembered, in the same way.
    pub idempotency_keys: usize,
    /// Charges that the sliding logs remember.
    pub log_entries: usize,
    /// Charges that the sliding logs of rules without a bound of their own may remember: [`crate::LimiterBuilder::log_entries_max`].
    pub log_entries_max: usize,
    /// The same of the table for limits that come with the call.
    pub explicit: ExplicitStats,
}

/// What the table of [explicit buckets](crate::Explicit) has been through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ExplicitStats {
    /// How many keys the table is for.
    pub keys_max: usize,
    /// Slots that hold a bucket, full ones that nobody has reclaimed yet included.
    pub slots_taken: u64,
    /// Full buckets that were forgotten to make room, at no loss.
    pub reclaimed: u64,
    /// Buckets that were not full and had to make room for a newcomer.
    pub evicted: u64,
    /// New clients denied for want of room.
    pub denied_new: u64,
}

impl ExplicitStats {
    fn of(store: &ExplicitStore, keys_max: usize) -> ExplicitStats {
        let sum = |event| store.counters.sum(event);
        ExplicitStats {
            keys_max,
            slots_taken: sum(Event::TookFree),
            reclaimed: sum(Event::TookFull),
            evicted: sum(Event::Evicted),
            denied_new: sum(Event::DeniedNew),
        }
    }
}

impl Stats {
    /// Buckets in both tables together, at most as many as they were made for. A table has spare slots beyond that, so that more may
    /// be taken.
    pub fn keys(&self) -> u64 {
        let explicit = &self.explicit;
        self.slots_taken.min(self.keys_max as u64) + explicit.slots_taken.min(explicit.keys_max as u64)
    }

    pub(crate) fn of(shared: &Shared) -> Stats {
        let counters = &shared.store.counters;
        shared.store.logs.forget_empty(shared.clock.now());
        Stats {
            keys_max: shared.keys_max,
            explicit: ExplicitStats::of(&shared.explicit, shared.explicit_keys_max),
            retries_unguarded: counters.sum(Event::RetryUnguarded),
            reservations_open: shared.reservations.len(),
            idempotency_keys: shared.remembered.len(),
            log_entries: shared.store.logs.entries(),
            log_entries_max: shared.store.meters.log_entries_max(),
            slots_taken: counters.sum(Event::TookFree),
            reclaimed: counters.sum(Event::TookFull),
            evicted: counters.sum(Event::Evicted),
            denied_new: counters.sum(Event::DeniedNew),
            overflowed: counters.sum(Event::Overflowed),
            relabelled: counters.sum(Event::Relabelled),
        }
    }
}
