//! A rate as the script counts it: micro-tokens per microseconds, in lowest terms, small enough for doubles.

use tollgate_core::Tokens;

use crate::LimitRefused;

/// Doubles are exact up to this.
const EXACT: u128 = 1 << 53;
/// Largest burst, in micro-tokens: with as many again to spare below 2^53 for what a rate mints in one period.
pub(crate) const BURST_MICROS_MAX: u64 = 9_000_000_000_000_000;
/// Longest time, in microseconds: 71 years.
pub(crate) const MICROS_MAX: u64 = 1 << 51;

/// `num` micro-tokens every `den` microseconds. Neither is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Terms {
    pub(crate) num: u64,
    pub(crate) den: u64,
    /// What a nanosecond's denominator is divided by to get this one.
    pub(crate) shrunk: u64,
}

impl Terms {
    /// Of a rate of `micros` every `nanos`, which are in lowest terms.
    pub(crate) fn new(micros: u64, nanos: u64) -> Result<Terms, LimitRefused> {
        let too_fine = LimitRefused::RateTooFine { micros, nanos };
        if micros == 0 || nanos == 0 {
            return Err(too_fine);
        }
        let shrunk = common_divisor(1_000, nanos);
        let (num, den) = (u128::from(micros) * u128::from(1_000 / shrunk), nanos / shrunk);
        // A remainder times `num`, and a fraction in parts of `den` on top.
        if (num + 1) * u128::from(den) >= EXACT {
            return Err(too_fine);
        }
        u64::try_from(num).map(|num| Terms { num, den, shrunk }).map_err(|_| too_fine)
    }

    /// Refuses a burst that the rate does not refill in time, or that is too large.
    pub(crate) fn accept_burst(&self, burst: Tokens) -> Result<(), LimitRefused> {
        accept_amount(burst)?;
        let micros = u128::from(burst.as_micros()) * u128::from(self.den) / u128::from(self.num);
        if micros > u128::from(MICROS_MAX) { Err(LimitRefused::TooLongToFull(burst)) } else { Ok(()) }
    }
}

/// Refuses what is more than a bucket can hold.
pub(crate) fn accept_amount(tokens: Tokens) -> Result<(), LimitRefused> {
    if tokens.as_micros() > BURST_MICROS_MAX { Err(LimitRefused::BurstTooLarge(tokens)) } else { Ok(()) }
}

const fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::{Burst, Limit, Rate, Span};

    fn terms(rate: Rate) -> Result<Terms, LimitRefused> {
        let [num, den, _] = Limit::new(rate, Burst::micros(1)).unwrap().terms();
        Terms::new(num, den)
    }

    #[test]
    fn rates_are_in_lowest_terms_of_microseconds() {
        let of = |rate| terms(rate).map(|terms| (terms.num, terms.den));
        assert_eq!(of(Rate::per_second(10)), Ok((10, 1)));
        assert_eq!(of(Rate::per_day(1)), Ok((1, 86_400)));
        assert_eq!(of(Rate::new(7, Span::from_nanos(9_000))), Ok((7_000_000, 9)));
        assert_eq!(of(Rate::per_second(1_000_000_000)), Ok((1_000_000_000, 1)));
    }

    #[test]
    fn a_rate_too_fine_for_doubles_is_refused() {
        let odd = Rate::new(999_999_937, Span::from_nanos(31_000_000_000_000_001));
        let refused = terms(odd).unwrap_err();
        assert!(refused.to_string().contains("too fine for the shared store"), "{refused}");
        let slow = terms(Rate::per_year(1)).unwrap();
        let burst = Tokens::from_micros(72_000_000);
        assert_eq!(slow.accept_burst(burst), Err(LimitRefused::TooLongToFull(burst)));
        let large = Tokens::from_micros(BURST_MICROS_MAX + 1);
        assert_eq!(
            terms(Rate::per_second(1_000)).unwrap().accept_burst(large),
            Err(LimitRefused::BurstTooLarge(large))
        );
    }
}
