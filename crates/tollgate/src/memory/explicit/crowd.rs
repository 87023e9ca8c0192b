//! What a window remembers of buckets that were not full and had to go: enough that none of them comes back fuller.
//!
//! Balances under two limits cannot be compared, but times can. A bucket that was evicted would have been full by a certain
//! moment, and held no less than nothing when it went. Whoever comes to the window later may be that bucket, so it starts no
//! fuller than a bucket of its own limit for which both are true. Written and read while the window's gate is held.

use tollgate_core::{Limit, Moment, Span};

use crate::memory::explicit::slot::FullAt;
use crate::sync::{AtomicU64, Ordering};

/// The latest that any bucket evicted from one window would have been full, and when the last one was evicted; zeros as long as none was.
#[derive(Debug)]
#[cfg_attr(not(loom), derive(zerocopy::FromZeros))]
#[cfg_attr(loom, derive(Default))]
pub(crate) struct Crowd {
    full_at: AtomicU64,
    evicted_at: AtomicU64,
}

impl Crowd {
    /// Notes that a bucket was evicted at `now`, which would have been full at `full_at`.
    pub(crate) fn note(&self, full_at: FullAt, now: Moment) {
        let later = |cell: &AtomicU64, moment: Moment| {
            cell.store(cell.load(Ordering::Relaxed).max(moment.as_nanos()), Ordering::Relaxed);
        };
        later(&self.full_at, full_at.moment());
        later(&self.evicted_at, now);
    }

    /// The latest that any of those evicted would have been full, which binds nobody once it is past, and when the last of them
    /// was evicted.
    pub(crate) fn noted(&self) -> (Moment, Moment) {
        let moment = |cell: &AtomicU64| Moment::from_nanos(cell.load(Ordering::Relaxed));
        (moment(&self.full_at), moment(&self.evicted_at))
    }

    /// The most that a newcomer under this limit may hold at `now`, in micro-tokens.
    pub(crate) fn bound(&self, limit: &Limit, now: Moment) -> i64 {
        let moment = |cell: &AtomicU64| Moment::from_nanos(cell.load(Ordering::Relaxed));
        // Rounded so that the bound is never too high: what is still to be minted up, what was minted down.
        let to_full = moment(&self.full_at).since(now);
        let due = limit.minted_in(to_full).as_micros().saturating_add(u64::from(to_full > Span::ZERO));
        let by_full = limit.burst().as_micros().saturating_sub(due);
        let by_minting = limit.minted_in(now.since(moment(&self.evicted_at))).as_micros();
        let bound = by_full.max(by_minting).min(limit.burst().as_micros());
        bound.cast_signed()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use tollgate_core::{Burst, Rate};
    use zerocopy::FromZeros;

    #[test]
    fn a_newcomer_holds_no_more_than_the_evicted_one_would() {
        let limit = Limit::new(Rate::per_second(10), Burst::tokens(50)).unwrap();
        let (crowd, start) = (Crowd::new_zeroed(), Moment::from_nanos(1 << 40));
        assert_eq!(crowd.bound(&limit, start), 50_000_000, "nobody was evicted");
        crowd.note(FullAt::at(start + Span::from_secs(2)), start);
        let bound = |millis| crowd.bound(&limit, start + Span::from_millis(millis));
        assert!((29_800_000..=30_000_000).contains(&bound(0)), "{}", bound(0));
        assert!((39_800_000..=40_000_000).contains(&bound(1_000)), "{}", bound(1_000));
        assert_eq!(bound(2_100), 50_000_000);
    }

    #[test]
    fn a_bucket_that_would_be_full_in_a_year_binds_nobody_longer_than_its_own_time_to_full() {
        let limit = Limit::new(Rate::per_second(10), Burst::tokens(50)).unwrap();
        let (crowd, start) = (Crowd::new_zeroed(), Moment::from_nanos(1 << 40));
        crowd.note(FullAt::at(start + Span::from_secs(365 * 86_400)), start);
        assert_eq!(crowd.bound(&limit, start), 0);
        assert_eq!(crowd.bound(&limit, start + Span::from_secs(1)), 10_000_000);
        assert_eq!(crowd.bound(&limit, start + Span::from_secs(5)), 50_000_000);
    }
}
