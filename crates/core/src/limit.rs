//! A rate and a burst that can be honoured exactly. Parsed once: past here nothing re-checks.

use core::fmt;

use crate::{Burst, Cost, Rate, Span, Tokens};

/// Largest burst: 10^12 tokens, in micro-tokens.
pub(crate) const BURST_MICROS_MAX: u64 = 1_000_000_000_000_000_000;
/// Fastest rate: 10^9 tokens per second is 10^6 micro-tokens per nanosecond.
const MICROS_PER_NANO_MAX: u128 = 1_000_000;
/// Slowest rate: one token (10^6 micro-tokens) per year of 365 days.
const NANOS_PER_TOKEN_MAX: u128 = 31_536_000_000_000_000;
/// Longest time from empty to full: 2^62 ns, 146 years. Keeps every wait within a [`Span`].
const NANOS_TO_FULL_MAX: u128 = 1 << 62;
/// Largest numerator and denominator of the reduced rate. With them every product in this crate fits in 128 bits:
/// 2^64 ns · 10^18, plus 2·10^18 micro-tokens · 3.2·10^18, is below 2^124.
const NUMERATOR_MAX: u128 = 1_000_000_000_000_000_000;
const DENOMINATOR_MAX: u128 = 3_200_000_000_000_000_000;

/// What a bucket promises: in every interval of length `d` at most `burst + rate · d` is admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limit {
    /// The rate is `num` micro-tokens every `den` nanoseconds, in lowest terms. Neither is 0.
    pub(crate) num: u64,
    pub(crate) den: u64,
    /// Micro-tokens in a full bucket, from 1 to [`BURST_MICROS_MAX`].
    pub(crate) burst: u64,
    /// `2^64 / den` rounded down, at most `2^64 − 1`: a product with it takes the place of a division by `den`.
    pub(crate) inverse: u64,
}

impl Limit {
    /// Accepts the limit if it can be kept to the micro-token, whatever happens later; otherwise says what to change.
    pub const fn new(rate: Rate, burst: Burst) -> Result<Limit, LimitError> {
        let sound = match sound_burst(burst) {
            Ok(sound) => sound,
            Err(error) => return Err(error),
        };
        let (num, den) = rate.lowest_terms();
        if num == 0 {
            return Err(LimitError::ZeroRate);
        }
        if den == 0 {
            return Err(LimitError::ZeroPeriod);
        }
        if num > NUMERATOR_MAX || den > DENOMINATOR_MAX {
            return Err(LimitError::RateTooFine(rate));
        }
        if num > den * MICROS_PER_NANO_MAX {
            return Err(LimitError::RateTooFast(rate));
        }
        if num * NANOS_PER_TOKEN_MAX < den * 1_000_000 {
            return Err(LimitError::RateTooSlow(rate));
        }
        if burst.as_micros() * den > NANOS_TO_FULL_MAX * num {
            return Err(LimitError::TooLongToFull(rate, burst));
        }
        let inverse = if den == 1 { u64::MAX as u128 } else { (1 << 64) / den };
        Ok(Limit { num: narrow(num), den: narrow(den), burst: sound, inverse: narrow(inverse) })
    }

    /// Burst credit: a bucket that holds what `rate` mints in `credit`, so that whoever was idle that long may spend it at once.
    /// Rounded down to the micro-token. 300 s is what cloud providers give.
    pub const fn with_credit(rate: Rate, credit: Span) -> Result<Limit, LimitError> {
        // Any burst will do to judge the rate by itself.
        match Limit::new(rate, Burst::micros(1)) {
            Ok(limit) => Limit::new(rate, Burst::micros(limit.minted_in(credit).as_micros())),
            Err(error) => Err(error),
        }
    }

    /// A limit that stands for a quota per window: its burst is the quota, its rate is never used.
    pub(crate) const fn of_quota(quota: u64) -> Limit {
        Limit { num: 1, den: 1, burst: quota, inverse: u64::MAX }
    }

    /// What is minted in a span, rounded down. Saturates at 1.8·10^13 tokens, which is above every burst.
    pub const fn minted_in(&self, span: Span) -> Tokens {
        let micros = span.as_nanos() as u128 * self.num as u128 / self.den as u128;
        Tokens::from_micros(if micros > u64::MAX as u128 { u64::MAX } else { narrow(micros) })
    }

    /// Whether the cost is above the burst, so that no amount of waiting helps.
    #[inline]
    pub const fn never_admits(&self, cost: Cost) -> bool {
        cost.as_micros() > self.burst
    }

    /// What a full bucket holds.
    pub const fn burst(&self) -> Tokens {
        Tokens::from_micros(self.burst)
    }

    /// Rebuilds a limit from [`Limit::terms`]; `None` if they are not those of a limit.
    pub const fn from_terms([num, den, burst]: [u64; 3]) -> Option<Limit> {
        match Limit::new(Rate::of_terms(num, den), Burst::micros(burst)) {
            // In lowest terms already, or they are not the terms of a limit.
            Ok(limit) if limit.num == num && limit.den == den => Some(limit),
            _ => None,
        }
    }

    /// The limit in three words: micro-tokens, per so many nanoseconds, and the burst in micro-tokens.
    pub const fn terms(&self) -> [u64; 3] {
        [self.num, self.den, self.burst]
    }

    /// `steps / den`, and what is left over; the quotient by a product, which is quicker than a division.
    #[inline]
    pub(crate) const fn divide(&self, steps: u64) -> (u64, u64) {
        // inverse ≤ 2^64 / den < inverse + 1 (+ 1 more if den is 1), so the product falls short of the true quotient by less
        // than 1 + steps / 2^64: rounded down, by at most one.
        let guess = narrow_high(steps as u128 * self.inverse as u128);
        let left = steps - guess * self.den;
        if left >= self.den { (guess + 1, left - self.den) } else { (guess, left) }
    }

    /// How long an empty bucket takes to fill, rounded up to the nanosecond.
    pub const fn time_to_full(&self) -> Span {
        self.time_to_mint(Tokens::from_micros(self.burst))
    }

    /// How long minting `amount` takes, rounded up to the nanosecond. Saturates at [`Span::MAX`].
    pub const fn time_to_mint(&self, amount: Tokens) -> Span {
        let micros = amount.as_micros() as u128 * self.den as u128;
        if micros <= u64::MAX as u128 {
            return Span::from_nanos(narrow(micros).div_ceil(self.num));
        }
        let nanos = micros.div_ceil(self.num as u128);
        Span::from_nanos(if nanos > u64::MAX as u128 { u64::MAX } else { narrow(nanos) })
    }
}

/// Micro-tokens of a burst that can be kept: above 0, at most 10^12 tokens.
pub(crate) const fn sound_burst(burst: Burst) -> Result<u64, LimitError> {
    match burst.as_micros() {
        0 => Err(LimitError::ZeroBurst),
        micros if micros > BURST_MICROS_MAX as u128 => Err(LimitError::BurstTooLarge(burst)),
        micros => Ok(narrow(micros)),
    }
}

/// The low 64 bits; every caller has checked that there are no others.
#[expect(clippy::cast_possible_truncation, reason = "the caller has compared it with a maximum below 2^64")]
const fn narrow(value: u128) -> u64 {
    value as u64
}

/// The high 64 bits.
#[inline]
const fn narrow_high(value: u128) -> u64 {
    (value >> 64) as u64
}

/// Why a rate and a burst are no limit. Each message names the field, the value and the cure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError {
    /// No tokens at all.
    ZeroBurst,
    /// Above 10^12 tokens.
    BurstTooLarge(Burst),
    /// No tokens per period.
    ZeroRate,
    /// A period of no length.
    ZeroPeriod,
    /// Above 10^9 per second.
    RateTooFast(Rate),
    /// Below 1 per year.
    RateTooSlow(Rate),
    /// A ratio whose terms are too large to be kept exactly.
    RateTooFine(Rate),
    /// More than 146 years from empty to full.
    TooLongToFull(Rate, Burst),
    /// More than a sliding counter can count.
    QuotaTooLarge(Tokens),
    /// A sliding window of no length.
    ZeroWindow,
    /// A sliding window above 146 years.
    WindowTooLong(Span),
    /// No place for anyone to work.
    ZeroPlaces,
    /// More places than [`crate::PLACES_MAX`].
    TooManyPlaces(u32),
    /// Places that are lost at once.
    ZeroTimeout,
    /// A timeout above 146 years.
    TimeoutTooLong(Span),
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroBurst => write!(f, "`burst` is 0, which denies everything; use 1 token or more"),
            Self::BurstTooLarge(burst) => {
                write!(f, "`burst` is {burst} tokens; use at most 1000000000000 (10^12)")
            }
            Self::ZeroRate => {
                write!(f, "`rate` is 0, so a bucket once spent never refills; use at least 1 per year")
            }
            Self::ZeroPeriod => write!(f, "`rate` has a period of 0; use a period of 1 ns or more"),
            Self::RateTooFast(rate) => {
                write!(f, "`rate` is {rate}; use at most 1000000000 (10^9) tokens per second")
            }
            Self::RateTooSlow(rate) => {
                write!(f, "`rate` is {rate}; use at least 1 token per year (365 days)")
            }
            Self::RateTooFine(rate) => {
                write!(
                    f,
                    "`rate` is {rate}, a ratio too fine to keep exactly; use a shorter period or rounder numbers"
                )
            }
            Self::TooLongToFull(rate, burst) => write!(
                f,
                "`burst` is {burst} tokens, which take more than 146 years to refill at {rate}; use a smaller burst or a higher rate"
            ),
            Self::QuotaTooLarge(quota) => write!(
                f,
                "`quota` is {quota} tokens; a sliding counter counts to {}, so count in larger units, or use a token bucket or \
                 a sliding log",
                crate::COUNTER_TOKENS_MAX
            ),
            Self::ZeroWindow => write!(f, "`window` is 0; use 1 ns or more"),
            Self::WindowTooLong(window) => write!(f, "`window` is {window}; use at most 146 years"),
            Self::ZeroPlaces => write!(f, "`places` is 0, which denies everything; use 1 or more"),
            Self::TooManyPlaces(places) => {
                write!(f, "`places` is {places}; use at most {}", crate::PLACES_MAX)
            }
            Self::ZeroTimeout => {
                write!(f, "`timeout` is 0, so a place would be lost as soon as it is taken; use more")
            }
            Self::TimeoutTooLong(timeout) => write!(f, "`timeout` is {timeout}; use at most 146 years"),
        }
    }
}

impl core::error::Error for LimitError {}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::{String, ToString};

    fn refusal(rate: Rate, burst: Burst) -> String {
        Limit::new(rate, burst).unwrap_err().to_string()
    }

    #[test]
    fn the_whole_promised_range_is_accepted() {
        for burst in [Burst::micros(1), Burst::tokens(1), Burst::tokens(1_000_000_000_000)] {
            assert!(Limit::new(Rate::per_second(1_000_000_000), burst).is_ok());
        }
        assert!(Limit::new(Rate::per_year(1), Burst::tokens(146)).is_ok());
    }

    #[test]
    fn a_limit_that_cannot_be_kept_is_refused_with_field_value_and_cure() {
        let ten = Rate::per_second(10);
        assert_eq!(
            refusal(ten, Burst::tokens(0)),
            "`burst` is 0, which denies everything; use 1 token or more"
        );
        assert_eq!(
            refusal(ten, Burst::tokens(1_000_000_000_001)),
            "`burst` is 1000000000001 tokens; use at most 1000000000000 (10^12)"
        );
        assert_eq!(
            refusal(Rate::per_second(0), Burst::tokens(1)),
            "`rate` is 0, so a bucket once spent never refills; use at least 1 per year"
        );
        assert_eq!(
            refusal(Rate::new(1, Span::ZERO), Burst::tokens(1)),
            "`rate` has a period of 0; use a period of 1 ns or more"
        );
        assert_eq!(
            refusal(Rate::per_second(1_000_000_001), Burst::tokens(1)),
            "`rate` is 1000000001 tokens per 1s; use at most 1000000000 (10^9) tokens per second"
        );
        assert_eq!(
            refusal(Rate::new(1, Span::from_secs(31_536_001)), Burst::tokens(1)),
            "`rate` is 1 tokens per 31536001s; use at least 1 token per year (365 days)"
        );
        assert_eq!(
            refusal(Rate::new(u64::MAX, Span::from_nanos(u64::MAX - 1)), Burst::tokens(1)),
            "`rate` is 18446744073709551615 tokens per 18446744073.709551614s, a ratio too fine to keep exactly; \
             use a shorter period or rounder numbers"
        );
        assert_eq!(
            refusal(Rate::per_year(1), Burst::tokens(147)),
            "`burst` is 147 tokens, which take more than 146 years to refill at 1 tokens per 31536000s; \
             use a smaller burst or a higher rate"
        );
    }

    #[test]
    fn the_quotient_by_a_product_is_the_quotient() {
        let mut random = 0x1234_5678_9abc_def1_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random >> (random % 64)
        };
        let hard =
            [1, 2, 3, 7, 1_000, 1 << 32, (1 << 32) + 1, 31_536_000_000_000_000, 3_199_999_999_999_999_999];
        for den in hard
            .into_iter()
            .chain((0..2_000).map(|_| next() % 3_200_000_000_000_000_000 + 1).collect::<std::vec::Vec<_>>())
        {
            let inverse =
                if den == 1 { u64::MAX } else { u64::try_from((1_u128 << 64) / u128::from(den)).unwrap() };
            let limit = Limit { num: 1, den, burst: 1, inverse };
            let edges = [
                0,
                1,
                den - 1,
                den,
                den + 1,
                u64::MAX,
                u64::MAX - 1,
                u64::MAX / den * den,
                u64::MAX / den * den - 1,
            ];
            for steps in edges.into_iter().chain((0..500).map(|_| next()).collect::<std::vec::Vec<_>>()) {
                assert_eq!(limit.divide(steps), (steps / den, steps % den), "{steps} / {den}");
            }
        }
    }

    #[test]
    fn a_slow_bucket_says_how_long_it_takes_to_fill() {
        let reset = Limit::new(Rate::new(3, Span::from_secs(1_000)), Burst::tokens(5)).unwrap();
        assert_eq!(reset.time_to_full(), Span::from_nanos(1_666_666_666_667));
    }
}
