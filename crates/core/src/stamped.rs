//! A bucket for limits that the caller brings along: explicit rate and burst with every call.
//!
//! There is no rule and so no meter; the bucket holds its balance and when it was last charged. The rate of the call
//! applies to all the time since then, a smaller burst clamps, and raising the rate never denies. A shared store keeps
//! the same two numbers. It does not know who the caller is.

use crate::stamped_level::is_set_back;
use crate::{Cost, Limit, Moment, Span, StampedBalance, StampedLevel, Tokens};

/// A bucket on its own: what it held when it was last charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamped {
    /// What it held then, after the charge.
    pub balance: Tokens,
    /// When that was.
    pub stamp: Moment,
}

/// What becomes of one check against a [`Stamped`] bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampedDecision {
    /// Go ahead; store `bucket`.
    Admit {
        /// The charged bucket.
        bucket: Stamped,
    },
    /// Not now.
    Deny {
        /// At `now + wait` the same check is admitted if nobody else spends; a nanosecond earlier it is not.
        wait: Span,
        /// What the bucket holds, too little for the cost.
        remaining: Tokens,
        /// To be stored although nothing was charged: the clock had been set back by more than a second. Gives no tokens.
        restamped: Option<Stamped>,
    },
    /// Not ever: the cost is above the burst.
    Never,
}

/// Decides one check against a bucket (`None`: never charged, so full) under the limit that came with the call.
pub fn decide_stamped(limit: &Limit, bucket: Option<Stamped>, cost: Cost, now: Moment) -> StampedDecision {
    if limit.never_admits(cost) {
        return StampedDecision::Never;
    }
    let stored = bucket.map_or(StampedBalance::full(now), StampedBalance::from);
    let level = StampedLevel::new(limit, stored, now);
    if level.held() >= Tokens::from(cost) {
        return StampedDecision::Admit { bucket: Stamped::of(level.charged(cost.as_micros()).stored()) };
    }
    StampedDecision::Deny {
        wait: level.wait_for(Tokens::from(cost)),
        remaining: level.held(),
        restamped: is_set_back(stored, now).then(|| Stamped::of(level.stored())),
    }
}

impl Stamped {
    /// A bucket that is not in debt.
    fn of(balance: StampedBalance) -> Stamped {
        let micros = balance.micros.max(0).unsigned_abs();
        Stamped { balance: Tokens::from_micros(micros), stamp: balance.stamp }
    }
}

impl From<Stamped> for StampedBalance {
    fn from(bucket: Stamped) -> StampedBalance {
        let micros = i64::try_from(bucket.balance.as_micros()).unwrap_or(i64::MAX);
        StampedBalance { micros, stamp: bucket.stamp }.plus(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Burst, Rate};

    const SECOND: Span = Span::from_secs(1);
    const START: Moment = Moment::from_nanos(1_000_000_000_000);

    fn limit(per_second: u64, burst: u64) -> Limit {
        Limit::new(Rate::per_second(per_second), Burst::tokens(burst)).unwrap()
    }

    fn charged(decision: StampedDecision) -> Stamped {
        let StampedDecision::Admit { bucket } = decision else { panic!("{decision:?}") };
        bucket
    }

    #[test]
    fn the_rate_of_the_call_applies_since_the_last_charge() {
        let empty = charged(decide_stamped(&limit(10, 50), None, Cost::tokens(50), START));
        let later = START + SECOND;
        let StampedDecision::Deny { remaining, .. } =
            decide_stamped(&limit(10, 50), Some(empty), Cost::tokens(11), later)
        else {
            panic!()
        };
        assert_eq!(remaining, Tokens::from_micros(10_000_000));
        assert!(matches!(
            decide_stamped(&limit(20, 50), Some(empty), Cost::tokens(20), later),
            StampedDecision::Admit { .. }
        ));
    }

    #[test]
    fn a_smaller_burst_clamps() {
        let nearly_full = charged(decide_stamped(&limit(10, 50), None, Cost::ONE, START));
        let clamped = charged(decide_stamped(&limit(10, 5), Some(nearly_full), Cost::ONE, START));
        assert_eq!(clamped.balance, Tokens::from_micros(4_000_000));
    }

    #[test]
    fn the_wait_is_exact_to_the_nanosecond() {
        let slow = Limit::new(Rate::new(7, Span::from_secs(11)), Burst::tokens(3)).unwrap();
        let empty = charged(decide_stamped(&slow, None, Cost::tokens(3), START));
        let StampedDecision::Deny { wait, .. } = decide_stamped(&slow, Some(empty), Cost::tokens(2), START)
        else {
            panic!()
        };
        let check = |now| decide_stamped(&slow, Some(empty), Cost::tokens(2), now);
        assert!(matches!(check(START + wait), StampedDecision::Admit { .. }));
        assert!(matches!(check(START + wait - Span::from_nanos(1)), StampedDecision::Deny { .. }));
    }

    #[test]
    fn two_clocks_a_second_apart_admit_no_more_than_one() {
        let (limit, mut bucket, mut admitted) = (limit(10, 50), None, 0);
        for tick in 0..6_000 {
            let now = START + Span::from_millis(10 * tick) + Span::from_millis(990 * (tick % 2));
            match decide_stamped(&limit, bucket, Cost::ONE, now) {
                StampedDecision::Admit { bucket: charged } => {
                    bucket = Some(charged);
                    admitted += 1;
                }
                StampedDecision::Deny { restamped, .. } => bucket = restamped.or(bucket),
                StampedDecision::Never => panic!(),
            }
        }
        assert!(admitted <= 50 + 10 * 61, "{admitted}");
    }

    #[test]
    fn a_clock_set_back_for_good_is_followed_and_credits_nothing() {
        let empty = charged(decide_stamped(&limit(10, 50), None, Cost::tokens(50), START));
        let earlier = START - Span::from_secs(100);
        let StampedDecision::Deny { wait, remaining, restamped } =
            decide_stamped(&limit(10, 50), Some(empty), Cost::ONE, earlier)
        else {
            panic!()
        };
        assert_eq!((wait, remaining), (Span::from_millis(100), Tokens::ZERO));
        assert_eq!(restamped, Some(Stamped { balance: Tokens::ZERO, stamp: earlier }));
    }
}
