//! What a stamped bucket holds at one moment, under the limit of one call.
//!
//! The bucket may be in debt. Rounded down to the micro-token, from absolute time, so that under one rate nothing drifts.
//! It does not know what is asked of the bucket, or who stores it.

use crate::limit::BURST_MICROS_MAX;
use crate::{Limit, Moment, Span, Tokens};

/// A clock this far behind the stamp was set back for good: the stamp follows it, and nothing is credited.
const CLOCK_BEHIND_MAX: Span = Span::from_secs(1);

/// What a bucket on its own held when it was last written, which may be debt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampedBalance {
    /// Micro-tokens; negative is debt, at most 10^12 tokens of it.
    pub micros: i64,
    /// When that was.
    pub stamp: Moment,
}

/// What a bucket on its own holds at one moment under one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampedLevel {
    limit: Limit,
    now: Moment,
    stored: StampedBalance,
    /// Micro-tokens, at most the burst.
    micros: i64,
    /// The later of the moment and the stamp: nothing is minted before.
    from: Moment,
    /// What is minted by then, beyond whole micro-tokens, in parts of the limit's denominator.
    rest: u64,
}

impl StampedBalance {
    /// A bucket that is full under any limit.
    pub const fn full(now: Moment) -> StampedBalance {
        StampedBalance { micros: BURST_MICROS_MAX.cast_signed(), stamp: now }
    }

    /// The same with so many micro-tokens more, or fewer; at most 10^12 tokens of either.
    #[inline]
    #[must_use]
    pub const fn plus(self, micros: i64) -> StampedBalance {
        let (sum, most) = (self.micros.saturating_add(micros), BURST_MICROS_MAX.cast_signed());
        let sum = if sum > most { most } else { sum };
        StampedBalance { micros: if sum < -most { -most } else { sum }, stamp: self.stamp }
    }
}

impl StampedLevel {
    /// What `stored` has become at `now` under the limit that came with the call.
    #[inline]
    pub fn new(limit: &Limit, stored: StampedBalance, now: Moment) -> StampedLevel {
        let stored = if is_set_back(stored, now) { StampedBalance { stamp: now, ..stored } } else { stored };
        // A clock a little behind the stamp must not move it back: the time between would be credited twice.
        let from = now.max(stored.stamp);
        let ((until, rest), (since, _)) = (minted_by(limit, from), minted_by(limit, stored.stamp));
        let held = i128::from(stored.micros) + (until - since).cast_signed();
        let micros = narrow(held.min(i128::from(limit.burst)));
        StampedLevel { limit: *limit, now, stored, micros, from, rest }
    }

    /// The moment it is about.
    #[inline]
    pub const fn now(&self) -> Moment {
        self.now
    }

    /// Micro-tokens, at most the burst; negative is debt.
    #[inline]
    pub const fn micros(&self) -> i64 {
        self.micros
    }

    /// The same as an amount: none if the bucket is in debt.
    #[inline]
    pub const fn held(&self) -> Tokens {
        Tokens::from_micros(if self.micros < 0 { 0 } else { self.micros.cast_unsigned() })
    }

    /// What was stored, unless the clock was set back by more than a second: then as of now.
    #[inline]
    pub const fn stored(&self) -> StampedBalance {
        self.stored
    }

    /// The level after a charge of `micros`, into debt if need be; its [`StampedLevel::stored`] is to be stored.
    #[inline]
    #[must_use]
    pub fn charged(&self, micros: u64) -> StampedLevel {
        self.plus(i64::try_from(micros).unwrap_or(i64::MAX).saturating_neg())
    }

    /// The level after `micros` were given, but no fuller than full; its [`StampedLevel::stored`] is to be stored.
    #[must_use]
    pub fn given(&self, micros: u64) -> StampedLevel {
        let room = self.limit.burst.cast_signed() - self.micros;
        self.plus(i64::try_from(micros).unwrap_or(i64::MAX).min(room))
    }

    /// What is to be stored where the bucket holds so much more, or less, than was thought; no fuller than full.
    pub(crate) fn stored_plus(&self, micros: i64) -> StampedBalance {
        if micros < 0 { self.plus(micros).stored } else { self.given(micros.unsigned_abs()).stored }
    }

    #[inline]
    fn plus(&self, micros: i64) -> StampedLevel {
        let stored = StampedBalance { micros: self.micros, stamp: self.from }.plus(micros);
        StampedLevel { stored, micros: stored.micros, ..*self }
    }

    /// How long until the bucket holds so much, if nobody spends: exact to the nanosecond, saturating at [`Span::MAX`].
    #[inline]
    pub fn wait_for(&self, tokens: Tokens) -> Span {
        let missing = i128::from(tokens.as_micros()) - i128::from(self.micros);
        if missing <= 0 {
            return Span::ZERO;
        }
        // The least x for which rest + x · num makes another `missing · den`.
        let steps = missing.unsigned_abs() * u128::from(self.limit.den) - u128::from(self.rest);
        let nanos = match u64::try_from(steps) {
            Ok(steps) => steps.div_ceil(self.limit.num),
            Err(_) => u64::try_from(steps.div_ceil(u128::from(self.limit.num))).unwrap_or(u64::MAX),
        };
        (self.from + Span::from_nanos(nanos)).since(self.now)
    }

    /// How long until it is full, if nobody spends.
    #[inline]
    pub fn time_to_full(&self) -> Span {
        self.wait_for(self.limit.burst())
    }
}

/// Whether the clock was set back for good since `stored` was written.
#[inline]
pub(crate) fn is_set_back(stored: StampedBalance, now: Moment) -> bool {
    stored.stamp.since(now) > CLOCK_BEHIND_MAX
}

/// Micro-tokens the rate mints from the clock's origin to `now`, rounded down, and what is beyond in parts of the
/// denominator. Differences of it never drift.
#[inline]
fn minted_by(limit: &Limit, now: Moment) -> (u128, u64) {
    if let Some(steps) = now.as_nanos().checked_mul(limit.num) {
        let (whole, rest) = limit.divide(steps);
        return (u128::from(whole), rest);
    }
    let (periods, nanos) = limit.divide(now.as_nanos());
    let (of_periods, steps) =
        (u128::from(periods) * u128::from(limit.num), u128::from(nanos) * u128::from(limit.num));
    let (whole, rest) = match u64::try_from(steps) {
        Ok(steps) => limit.divide(steps),
        // Below `num`, and below `den`.
        Err(_) => (low_word(steps / u128::from(limit.den)), low_word(steps % u128::from(limit.den))),
    };
    (of_periods + u128::from(whole), rest)
}

/// An amount from the deepest debt to the largest burst.
#[expect(clippy::cast_possible_truncation, reason = "both are at most 10^18 in magnitude")]
const fn narrow(micros: i128) -> i64 {
    micros as i64
}

#[expect(clippy::cast_possible_truncation, reason = "the caller has compared it with a word")]
const fn low_word(value: u128) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Burst, Rate};

    const START: Moment = Moment::from_nanos(315_360_000_000_000_123);

    fn limit(per_second: u64, burst: u64) -> Limit {
        Limit::new(Rate::per_second(per_second), Burst::tokens(burst)).unwrap()
    }

    #[test]
    fn debt_is_repaid_before_anything_is_held() {
        let start = START - Span::from_nanos(123);
        let owing = StampedBalance { micros: -5_000_000, stamp: start };
        let level = StampedLevel::new(&limit(10, 50), owing, start + Span::from_millis(300));
        assert_eq!((level.micros(), level.held()), (-2_000_000, Tokens::ZERO));
        assert_eq!(level.wait_for(Tokens::from_micros(1_000_000)), Span::from_millis(300));
        assert_eq!(level.time_to_full(), Span::from_millis(5_200));
    }

    #[test]
    fn a_bucket_is_full_when_it_says_and_not_a_nanosecond_earlier() {
        for (tokens, seconds, burst) in
            [(7, 11, 3), (1_000_000_000, 1, 1), (3, 7_777, 1_000), (1, 1, 999_999)]
        {
            let limit =
                Limit::new(Rate::new(tokens, Span::from_secs(seconds)), Burst::tokens(burst)).unwrap();
            let spent = StampedLevel::new(&limit, StampedBalance::full(START), START).charged(999_999);
            let full_at = START + spent.time_to_full();
            let at = |now| StampedLevel::new(&limit, spent.stored(), now).held();
            assert_eq!(at(full_at), limit.burst(), "{limit:?}");
            assert!(at(full_at - Span::from_nanos(1)) < limit.burst(), "{limit:?}");
        }
    }

    #[test]
    fn minting_is_the_same_by_products_and_by_division() {
        let moments = [0, 1, 999_999_999, 1 << 40, 315_360_000_000_000_123, u64::MAX - 1, u64::MAX];
        for (amount, nanos) in [(1, 1), (7, 11), (999_999_999, 999_999_937), (1, 31_536_000_000_000_000)] {
            let rate = Rate::new(amount, Span::from_nanos(nanos));
            let Ok(limit) = Limit::new(rate, Burst::micros(1)) else { continue };
            for now in moments {
                let steps = u128::from(now) * u128::from(limit.num);
                let den = u128::from(limit.den);
                let exact = (steps / den, low_word(steps % den));
                assert_eq!(minted_by(&limit, Moment::from_nanos(now)), exact, "{limit:?} at {now}");
            }
        }
    }

    #[test]
    fn a_bucket_full_under_any_limit_is_full_under_the_largest() {
        let largest = Limit::new(Rate::per_second(1_000_000_000), Burst::tokens(1_000_000_000_000)).unwrap();
        let level = StampedLevel::new(&largest, StampedBalance::full(START), START);
        assert_eq!((level.held(), level.time_to_full()), (largest.burst(), Span::ZERO));
    }
}
