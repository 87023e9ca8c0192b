//! How the store is, and by what it decides: the store of record, slices of it, or this program alone.

use serde::Serialize;
use tollgate_redis::LedgerCounts;

use super::beat::Done;
use crate::engine::Engine;
use crate::shared_store;

/// What was done with the store in one beat.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct OfStore {
    kind: &'static str,
    state: &'static str,
    /// Checks that the store of record decided, what it had said before included.
    exact: u64,
    /// Checks that slices decided.
    leased: u64,
    /// Checks that this program decided alone.
    fallback: u64,
    /// What part of the questions about leased buckets needed no trip.
    lease_hit_ratio: Option<f64>,
    /// What part of the denials needed none.
    denial_cache_ratio: Option<f64>,
    round_trips_per_check: Option<f64>,
}

/// What a shared store has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct StoreTally {
    lease_hits: u64,
    lease_asks: u64,
    fallbacks: u64,
    denials_remembered: u64,
    round_trips: u64,
}

impl StoreTally {
    pub(super) fn of(counts: &LedgerCounts) -> StoreTally {
        StoreTally {
            lease_hits: counts.lease_hits,
            lease_asks: counts.lease_asks,
            fallbacks: counts.fallbacks,
            denials_remembered: counts.denials_remembered,
            round_trips: counts.link.round_trips,
        }
    }

    fn since(self, before: StoreTally) -> StoreTally {
        StoreTally {
            lease_hits: self.lease_hits.saturating_sub(before.lease_hits),
            lease_asks: self.lease_asks.saturating_sub(before.lease_asks),
            fallbacks: self.fallbacks.saturating_sub(before.fallbacks),
            denials_remembered: self.denials_remembered.saturating_sub(before.denials_remembered),
            round_trips: self.round_trips.saturating_sub(before.round_trips),
        }
    }
}

impl OfStore {
    /// Of the checks of one beat; in memory there are no tallies.
    pub(super) fn between(
        before: Option<StoreTally>,
        after: Option<StoreTally>,
        total: &Done,
        engine: &Engine,
    ) -> OfStore {
        let Some(after) = after else { return OfStore::in_memory(total) };
        OfStore::shared(
            after.since(before.unwrap_or_default()),
            total,
            shared_store::standing(engine.ledger.as_ref()),
        )
    }

    pub(super) fn in_memory(total: &Done) -> OfStore {
        OfStore {
            kind: "memory",
            state: "ok",
            exact: total.checks(),
            leased: 0,
            fallback: 0,
            lease_hit_ratio: None,
            denial_cache_ratio: None,
            round_trips_per_check: None,
        }
    }

    fn shared(done: StoreTally, total: &Done, state: &'static str) -> OfStore {
        let StoreTally { lease_hits, lease_asks, fallbacks, denials_remembered, round_trips } = done;
        OfStore {
            kind: "redis",
            state,
            exact: total.checks().saturating_sub(lease_hits + fallbacks),
            leased: lease_hits,
            fallback: fallbacks,
            lease_hit_ratio: part(lease_hits, lease_hits + lease_asks),
            // Both are counted at their own moment: a check may be in the next beat of one of them.
            denial_cache_ratio: part(denials_remembered.min(total.denied), total.denied),
            round_trips_per_check: part(round_trips, total.checks()),
        }
    }
}

/// `None` of nothing.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn part(of: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| of as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_this_beat_and_none_where_nothing_was_done() {
        let before = StoreTally { lease_hits: 100, lease_asks: 50, round_trips: 7, ..StoreTally::default() };
        let after = StoreTally {
            lease_hits: 190,
            lease_asks: 60,
            fallbacks: 5,
            denials_remembered: 10,
            round_trips: 57,
        };
        let total = Done { admitted: 180, denied: 20, shadow: 3, refused: 0 };
        let of = OfStore::shared(after.since(before), &total, "connected");
        assert_eq!((of.exact, of.leased, of.fallback), (105, 90, 5));
        assert_eq!((of.lease_hit_ratio, of.denial_cache_ratio), (Some(0.9), Some(0.5)));
        assert_eq!(of.round_trips_per_check, Some(0.25));
        let idle = OfStore::shared(after.since(after), &Done::default(), "connected");
        assert_eq!(
            (idle.lease_hit_ratio, idle.denial_cache_ratio, idle.round_trips_per_check),
            (None, None, None)
        );
        // More slices than checks, since they are counted a moment apart.
        assert_eq!(OfStore::shared(after, &Done::default(), "connected").exact, 0);
    }
}
