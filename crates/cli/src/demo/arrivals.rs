//! When requests come: at even distances, the first at t = 0.
//!
//! The distance is an exact ratio, so that 60 per second never drifts. A moment that falls between two nanoseconds is
//! rounded up: no request comes early. Knows no limit and no verdict.

use std::fmt;

use tollgate::{Moment, Span};

use crate::decimal::Decimal;

/// The distance between two requests, as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrivals {
    PerSecond(Decimal),
    /// Never zero.
    Every(Span),
}

impl Arrivals {
    /// When the request at `index` comes (the first has index 0), or the first instant after `index / parts`
    /// distances if a distance is divided into `parts`.
    pub(crate) fn moment(self, index: u64, parts: u64) -> Moment {
        let (nanos, requests) = self.distance();
        let after = (nanos * u128::from(index)).div_ceil(requests * u128::from(parts));
        Moment::from_nanos(u64::try_from(after).unwrap_or(u64::MAX))
    }

    /// How many requests come before `length` is over.
    pub(crate) fn count(self, length: Span) -> u64 {
        let (nanos, requests) = self.distance();
        let last = u128::from(length.as_nanos().saturating_sub(1)) * requests / nanos;
        u64::try_from(last + 1).unwrap_or(u64::MAX)
    }

    /// Nanoseconds, and how many distances they hold.
    fn distance(self) -> (u128, u128) {
        match self {
            Arrivals::PerSecond(Decimal { digits, places }) => {
                (1_000_000_000 * 10_u128.pow(places), u128::from(digits))
            }
            Arrivals::Every(span) => (u128::from(span.as_nanos()), 1),
        }
    }
}

/// `60 requests per second`, `one request every 50ms`.
impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arrivals::PerSecond(number) if number.is_one() => write!(f, "one request per second"),
            Arrivals::PerSecond(number) => write!(f, "{number} requests per second"),
            Arrivals::Every(span) => write!(f, "one request every {span}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIXTY: Arrivals = Arrivals::PerSecond(Decimal { digits: 60, places: 0 });

    #[test]
    fn sixty_per_second_never_drift() {
        assert_eq!(SIXTY.moment(59, 1), Moment::from_nanos(983_333_334));
        assert_eq!(SIXTY.moment(60, 1), Moment::from_nanos(1_000_000_000));
        assert_eq!(SIXTY.moment(6_000_000, 1), Moment::from_nanos(100_000_000_000_000));
        assert_eq!(SIXTY.moment(1, 2), Moment::from_nanos(8_333_334));
    }

    #[test]
    fn the_request_at_the_very_end_is_not_counted() {
        assert_eq!(SIXTY.count(Span::from_secs(1)), 60);
        assert_eq!(Arrivals::Every(Span::from_millis(300)).count(Span::from_secs(1)), 4);
        assert_eq!(Arrivals::Every(Span::from_secs(9)).count(Span::from_secs(1)), 1);
        assert_eq!(Arrivals::PerSecond(Decimal { digits: 5, places: 1 }).count(Span::from_secs(5)), 3);
    }
}
