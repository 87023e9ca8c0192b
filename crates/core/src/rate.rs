//! How fast a bucket refills, as an exact ratio.

use core::fmt;

use crate::Span;
use crate::tokens::{MICROS_PER_TOKEN, write_tokens};

/// A refill rate: so many tokens per so much time. Held as an exact ratio of micro-tokens to nanoseconds, and checked
/// by [`crate::Limit::new`]: from 1 per year (365 days) to 10^9 per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    micros: u128,
    nanos: u128,
}

impl Rate {
    /// `tokens` every `period`.
    pub const fn new(tokens: u64, period: Span) -> Self {
        Self { micros: tokens as u128 * MICROS_PER_TOKEN as u128, nanos: period.as_nanos() as u128 }
    }

    /// `tokens` every second.
    pub const fn per_second(tokens: u64) -> Self {
        Self::new(tokens, Span::from_secs(1))
    }

    /// `tokens` every minute.
    pub const fn per_minute(tokens: u64) -> Self {
        Self::new(tokens, Span::from_secs(60))
    }

    /// `tokens` every hour.
    pub const fn per_hour(tokens: u64) -> Self {
        Self::new(tokens, Span::from_secs(3_600))
    }

    /// `tokens` every day of 24 hours.
    pub const fn per_day(tokens: u64) -> Self {
        Self::new(tokens, Span::from_secs(86_400))
    }

    /// `tokens` every year of 365 days.
    pub const fn per_year(tokens: u64) -> Self {
        Self::new(tokens, Span::from_secs(31_536_000))
    }

    /// `numerator / denominator` tokens every `period`; `None` where the product does not fit.
    pub(crate) fn ratio(numerator: u128, denominator: u128, period: Span) -> Option<Self> {
        let micros = numerator.checked_mul(u128::from(MICROS_PER_TOKEN))?;
        let nanos = denominator.checked_mul(u128::from(period.as_nanos()))?;
        Some(Self { micros, nanos })
    }

    /// `micros` micro-tokens every `nanos` nanoseconds.
    pub(crate) const fn of_terms(micros: u64, nanos: u64) -> Self {
        Self { micros: micros as u128, nanos: nanos as u128 }
    }

    /// One of so many equal parts of the rate. The period is below 2^64 ns, so that the product fits.
    pub(crate) const fn among(self, parts: u32) -> Self {
        Self { micros: self.micros, nanos: self.nanos * parts as u128 }
    }

    /// Micro-tokens and nanoseconds in lowest terms; the ratio is the rate. Either may be 0.
    pub(crate) const fn lowest_terms(self) -> (u128, u128) {
        let (mut a, mut b) = (self.micros, self.nanos);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        match (self.micros.checked_div(a), self.nanos.checked_div(a)) {
            (Some(micros), Some(nanos)) => (micros, nanos),
            _ => (0, 0), // both were 0
        }
    }
}

/// `10 tokens per 1s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tokens(self.micros, f)?;
        let period = Span::from_nanos(u64::try_from(self.nanos).unwrap_or(u64::MAX));
        write!(f, " tokens per {period}")
    }
}
