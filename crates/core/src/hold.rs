//! A charge that may have to be taken back: how a check over buckets of several slots is all or nothing.
//!
//! No script reaches two slots of a cluster, so the buckets of a check are held one after the other, narrow before broad: a
//! client that is denied by its own bucket never touches the one that everybody shares. When one denies, those before it are released.
//! A held bucket is simply charged, so nobody is falsely admitted meanwhile; for as long as the hold lasts others may be falsely denied.
//!
//! ```text
//!   user ──── hold ✓ ──────────────────────── release
//!   org         └──── hold ✓ ──────────── release
//!   global               └──── hold ✗ denied
//! ```
//!
//! Releasing all of the cost would give tokens away: had it not been held, a bucket about to be full would have overflowed meanwhile. It
//! does not know slots, scripts or the order of anybody's buckets.

use crate::{Cost, Limit, Tokens};

/// One bucket, charged on probation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    cost: Cost,
    before: Tokens,
}

impl Hold {
    /// The bucket held `before`, and was then charged `cost`.
    pub const fn new(cost: Cost, before: Tokens) -> Hold {
        Hold { cost, before }
    }

    /// What to give back when `minted` was minted since: the cost, less what would have overflowed without the hold. The bucket is then no fuller
    /// than if it had not been held, and lacks at most what was minted during the hold.
    pub const fn release(&self, limit: &Limit, minted: Tokens) -> Tokens {
        let room = limit.burst().as_micros().saturating_sub(self.before.as_micros());
        let overflowed = minted.as_micros().saturating_sub(room);
        Tokens::from_micros(self.cost.as_micros().saturating_sub(overflowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Burst, Rate};

    fn limit() -> Limit {
        Limit::new(Rate::per_second(10), Burst::tokens(10)).unwrap()
    }

    fn tokens(tokens: u64) -> Tokens {
        Tokens::from_micros(tokens * 1_000_000)
    }

    #[test]
    fn what_would_have_overflowed_is_not_given_back() {
        let hold = Hold::new(Cost::tokens(4), tokens(9));
        assert_eq!(hold.release(&limit(), Tokens::ZERO), tokens(4));
        assert_eq!(hold.release(&limit(), tokens(1)), tokens(4), "just full without the hold");
        assert_eq!(hold.release(&limit(), tokens(3)), tokens(2));
        assert_eq!(hold.release(&limit(), tokens(900)), Tokens::ZERO);
    }

    /// Every way to spend while one is held, beside the same bucket that was never held: what the two hold after the release.
    fn outcomes(release: impl Fn(Hold, Tokens) -> Tokens, mut judge: impl FnMut(u64, u64, u64)) {
        let burst = 10;
        for (before, cost) in (0..=burst).flat_map(|before| (1..=before).map(move |cost| (before, cost))) {
            for (first, second) in (0..20).flat_map(|first| (0..20).map(move |second| (first, second))) {
                let hold = Hold::new(Cost::tokens(cost), tokens(before));
                let given = release(hold, tokens(first + second)).whole();
                let at_most = (before - cost + first).min(burst);
                for spent in 0..=at_most {
                    let released = ((at_most - spent + second).min(burst) + given).min(burst);
                    let untouched = ((before + first).min(burst) - spent + second).min(burst);
                    judge(released, untouched, first + second);
                }
            }
        }
    }

    #[test]
    fn a_released_bucket_is_never_fuller_than_one_that_was_not_held_and_lacks_what_was_minted_at_most() {
        outcomes(
            |hold, minted| hold.release(&limit(), minted),
            |released, untouched, minted| {
                assert!(
                    released <= untouched && released + minted >= untouched,
                    "{released} {untouched} {minted}"
                );
            },
        );
    }

    #[test]
    fn releasing_all_of_it_would_give_a_whole_burst_away() {
        let mut worst = 0;
        outcomes(
            |hold, _| Tokens::from(hold.cost),
            |released, untouched, _| worst = worst.max(released.saturating_sub(untouched)),
        );
        assert_eq!(worst, 10);
    }
}
