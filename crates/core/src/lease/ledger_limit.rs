//! A limit in the units of a shared ledger: micro-tokens and microseconds, so small that a double holds every intermediate.
//!
//! The ledger is a script whose numbers are doubles, exact below 2^53. What is refused here could not be kept there to the
//! micro-token. Written so that it can be transcribed line by line: no step leaves that range. It does not know leases.

use core::fmt;

use crate::{Burst, Limit, Rate, Span, Tokens};

/// Largest burst that a ledger keeps: 9·10^9 tokens, in micro-tokens. With twice the largest numerator it is below 2^53.
pub const LEDGER_BURST_MICROS_MAX: u64 = 9_000_000_000_000_000;
/// A remainder times the numerator, and a fraction on top, are below this.
const EXACT_MAX: u128 = 1 << 53;
/// Longest time from empty to full: 2^51 µs, 71 years. A time of day plus this is below 2^53 until the year 2112.
const MICROSECONDS_TO_FULL_MAX: u128 = 1 << 51;

/// Longest time in which a debt that is kept is repaid, unless it is a burst: 2^50 µs, 35 years.
const MICROSECONDS_TO_REPAY_MAX: u64 = 1 << 50;

/// A [`Limit`] that a shared ledger keeps exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LedgerLimit {
    /// The rate is `num` micro-tokens every `den` microseconds, in lowest terms. Neither is 0; `num` is below 3.1·10^12.
    num: u64,
    den: u64,
    /// From when on it mints (µs), and what was minted then beyond whole micro-tokens, in parts of `den`.
    from: u64,
    fraction: u64,
    /// Micro-tokens in a full bucket, from 1 to [`LEDGER_BURST_MICROS_MAX`].
    burst: u64,
}

impl LedgerLimit {
    /// Accepts what doubles can keep to the micro-token; otherwise says what to change.
    pub fn new(limit: &Limit) -> Result<LedgerLimit, LedgerLimitError> {
        let [micros, nanos, burst] = limit.terms();
        // The terms are in lowest terms already, so a thousand is all that can be shared.
        let shared = greatest_common_divisor(1_000, nanos);
        let (num, den) = (u128::from(micros) * u128::from(1_000 / shared), u128::from(nanos / shared));
        if (num + 1) * den >= EXACT_MAX {
            return Err(LedgerLimitError::RateTooFine(Rate::of_terms(micros, nanos)));
        }
        if burst > LEDGER_BURST_MICROS_MAX {
            return Err(LedgerLimitError::BurstTooLarge(limit.burst()));
        }
        if u128::from(burst) * den > MICROSECONDS_TO_FULL_MAX * num {
            return Err(LedgerLimitError::TooLongToFull(Rate::of_terms(micros, nanos), Burst::micros(burst)));
        }
        match (u64::try_from(num), u64::try_from(den)) {
            (Ok(num), Ok(den)) => Ok(LedgerLimit { num, den, from: 0, fraction: 0, burst }),
            _ => Err(LedgerLimitError::RateTooFine(Rate::of_terms(micros, nanos))),
        }
    }

    /// The same limit, in force from `from` (µs) on: nothing is minted before. `fraction` is what the one before it had minted by
    /// then beyond whole micro-tokens, in parts of this one's denominator.
    #[must_use]
    pub const fn since(self, from: u64, fraction: u64) -> LedgerLimit {
        LedgerLimit { from, fraction: fraction % self.den, ..self }
    }

    /// The same limit, in force from `from` (µs) on, where `before` was until then: what that had minted beyond whole micro-tokens is not
    /// lost. Slices that were granted ahead of time count on it.
    #[must_use]
    pub fn after(self, before: &LedgerLimit, from: u64) -> LedgerLimit {
        let steps = u128::from(from.saturating_sub(before.from)) * u128::from(before.num);
        let rest = (steps + u128::from(before.fraction)) % u128::from(before.den);
        // Rounded down; below this one's denominator, since the rest is below that of the other.
        let fraction = rest * u128::from(self.den) / u128::from(before.den);
        self.since(from, u64::try_from(fraction).unwrap_or(0))
    }

    /// When it came into force, µs.
    pub const fn from(&self) -> u64 {
        self.from
    }

    /// What was minted by then beyond whole micro-tokens, in parts of the denominator.
    pub const fn fraction(&self) -> u64 {
        self.fraction
    }

    /// What the script is given: micro-tokens, per so many microseconds, and the burst in micro-tokens.
    pub const fn terms(&self) -> [u64; 3] {
        [self.num, self.den, self.burst]
    }

    /// Micro-tokens in a full bucket.
    pub const fn burst(&self) -> u64 {
        self.burst
    }

    /// The deepest debt that a slice makes, in micro-tokens: a burst, and so that debt and burst together are within
    /// [`LEDGER_BURST_MICROS_MAX`].
    pub(super) fn debt_max(&self) -> u64 {
        self.burst.min(LEDGER_BURST_MICROS_MAX - self.burst)
    }

    /// The deepest debt that is kept beside slices, in micro-tokens: a burst, or what 35 years repay if that is more, and so that debt and burst
    /// together are within [`LEDGER_BURST_MICROS_MAX`]. Only a change of the limit makes a debt deeper.
    pub(super) fn debt_kept_max(&self) -> u64 {
        let repaid = (MICROSECONDS_TO_REPAY_MAX / self.den).saturating_mul(self.num);
        repaid.max(self.burst).min(LEDGER_BURST_MICROS_MAX - self.burst)
    }

    /// Micro-tokens minted from `start` to `end` (µs), but at most `most`. Differences of what is minted since the limit is in force,
    /// rounded down: in pieces as in one go. 0 if `end` is not later.
    pub fn minted(&self, start: u64, end: u64, most: u64) -> u64 {
        if end <= start {
            return 0;
        }
        let ((periods_before, part_before), (periods, part)) = (self.split(start), self.split(end));
        let whole = periods - periods_before;
        // So many periods mint more than `most` whatever the parts are; and their product might not be exact.
        if whole > most / self.num + 1 {
            return most;
        }
        (whole * self.num + part - part_before).min(most)
    }

    /// Microseconds from `start` until so many micro-tokens more are minted: exact, a microsecond earlier there are fewer.
    pub fn time_to_mint(&self, start: u64, amount: u64) -> u64 {
        if amount == 0 {
            return 0;
        }
        let (periods, part) = self.split(start);
        let wanted = part + amount;
        let (whole, rest) = (wanted / self.num, wanted % self.num);
        // The least y for which y · num + fraction makes `wanted · den`. Below 0 it lies in the period before, where the fraction is ahead.
        let missing = (rest * self.den).cast_signed() - self.fraction.cast_signed();
        let begun = self.from + (periods + whole) * self.den;
        if missing >= 0 {
            begun + missing.cast_unsigned().div_ceil(self.num) - start
        } else {
            begun - missing.unsigned_abs() / self.num - start
        }
    }

    /// Whole denominators since the limit is in force, and what is minted in the rest with the fraction, rounded down: at most `num`.
    const fn split(&self, at: u64) -> (u64, u64) {
        let since = at.saturating_sub(self.from);
        let rest = since % self.den;
        ((since - rest) / self.den, (rest * self.num + self.fraction) / self.den)
    }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Why a limit cannot be kept by a shared ledger. Each message names the field, the value and the cure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LedgerLimitError {
    /// A ratio whose terms are too large for doubles.
    RateTooFine(Rate),
    /// Above 9·10^9 tokens.
    BurstTooLarge(Tokens),
    /// More than 71 years from empty to full.
    TooLongToFull(Rate, Burst),
}

impl fmt::Display for LedgerLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RateTooFine(rate) => write!(
                f,
                "`rate` is {rate}, a ratio too fine for a shared store to keep exactly; use a shorter period or rounder numbers"
            ),
            Self::BurstTooLarge(burst) => write!(
                f,
                "`burst` is {burst} tokens; on a shared store use at most {} (9·10^9)",
                Tokens::from_micros(LEDGER_BURST_MICROS_MAX)
            ),
            Self::TooLongToFull(rate, burst) => write!(
                f,
                "`burst` is {burst} tokens, which take more than 71 years to refill at {rate}; on a shared store use a smaller burst or \
                 a higher rate"
            ),
        }
    }
}

impl core::error::Error for LedgerLimitError {}

/// Whole microseconds in a span, rounded up.
pub(super) const fn micros_in(span: Span) -> u64 {
    span.as_nanos().div_ceil(1_000)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    fn accepted(rate: Rate, burst: Burst) -> Result<LedgerLimit, LedgerLimitError> {
        LedgerLimit::new(&Limit::new(rate, burst).unwrap())
    }

    #[test]
    fn the_terms_are_per_microsecond_and_in_lowest_terms() {
        let terms = |rate, burst| accepted(rate, burst).unwrap().terms();
        assert_eq!(terms(Rate::per_second(10), Burst::tokens(50)), [10, 1, 50_000_000]);
        assert_eq!(terms(Rate::per_day(1), Burst::tokens(5)), [1, 86_400, 5_000_000]);
        assert_eq!(terms(Rate::new(3, Span::from_secs(1_000)), Burst::tokens(5)), [3, 1_000, 5_000_000]);
        assert_eq!(terms(Rate::per_second(1_000_000_000), Burst::tokens(1)), [1_000_000_000, 1, 1_000_000]);
    }

    #[test]
    fn what_doubles_cannot_keep_is_refused_with_field_value_and_cure() {
        let refusal = |rate, burst| accepted(rate, burst).unwrap_err().to_string();
        assert_eq!(
            refusal(Rate::per_second(10), Burst::tokens(9_000_000_001)),
            "`burst` is 9000000001 tokens; on a shared store use at most 9000000000 (9·10^9)"
        );
        assert_eq!(
            refusal(Rate::per_year(1), Burst::tokens(72)),
            "`burst` is 72 tokens, which take more than 71 years to refill at 0.000001 tokens per 31.536s; on a shared store use a smaller \
             burst or a higher rate"
        );
        assert_eq!(
            refusal(Rate::new(999_999_937, Span::from_nanos(9_999_999_967)), Burst::tokens(1)),
            "`rate` is 999999937 tokens per 9.999999967s, a ratio too fine for a shared store to keep exactly; use a shorter period \
             or rounder numbers"
        );
    }

    /// 7 tokens every 11 seconds, from the origin of time and from a change on.
    fn phases() -> [LedgerLimit; 3] {
        let limit = accepted(Rate::new(7, Span::from_secs(11)), Burst::tokens(3)).unwrap();
        [limit, limit.since(1_759_999_999_999_999, 10), limit.since(1_760_000_000_500_000, 3)]
    }

    #[test]
    fn minting_in_pieces_is_minting_in_one_go() {
        let start = 1_760_000_000_000_123;
        for limit in phases() {
            let whole = limit.minted(start, start + 1_000_003, u64::MAX);
            let pieces: u64 =
                (0..1_000_003).map(|step| limit.minted(start + step, start + step + 1, u64::MAX)).sum();
            assert_eq!(whole, pieces);
            assert_eq!(limit.minted(start, start + 1_000_003, 5), 5, "at most what there is room for");
            assert_eq!(limit.minted(start + 1, start, 5), 0, "time never gives twice");
        }
        let minted = phases().map(|limit| limit.minted(start, start + 1_000_003, u64::MAX));
        assert_eq!(minted, [636_365, 636_366, 318_262], "the last was in force for half of the time");
    }

    #[test]
    fn the_time_to_mint_is_exact_to_the_microsecond() {
        for limit in phases() {
            for start in 1_760_000_000_000_123..1_760_000_000_000_150 {
                for amount in [1, 2, 3, 4, 5, 6, 7, 8, 636_363, 1_000_000, 3_000_000] {
                    let wait = limit.time_to_mint(start, amount);
                    assert!(limit.minted(start, start + wait, u64::MAX) >= amount);
                    assert!(limit.minted(start, start + wait - 1, u64::MAX) < amount);
                }
                assert_eq!(limit.time_to_mint(start, 0), 0);
            }
        }
    }
}
