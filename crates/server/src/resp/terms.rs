//! What the numbers of a `CL.THROTTLE` come to: a limit, and the time between two tokens as redis-cell counts it.
//!
//! Reducing a rate to its lowest terms is dearer than all the rest of a request, and clients repeat their numbers: the last few
//! are remembered.

use tollgate_core::{Burst, Limit, Rate, Span};

use super::cell_error::CellError;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// What was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Tokens beyond the first that may be spent at once.
    pub(super) max_burst: i64,
    /// Tokens per period.
    pub(super) count: i64,
    /// In seconds.
    pub(super) period: i64,
}

/// What is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    /// `count / period` tokens per second, exactly, and `max_burst + 1` at once.
    pub(super) limit: Limit,
    /// Nanoseconds from one token to the next, rounded down as redis-cell does; at least 1. Used to tell times, never to decide.
    pub(super) interval_nanos: u64,
}

/// The terms of the last few requests, at most four.
#[derive(Debug, Default)]
pub(super) struct RememberedTerms {
    places: [Option<(Numbers, Terms)>; 4],
}

impl RememberedTerms {
    /// The terms for these numbers, remembered or worked out.
    #[inline]
    pub(super) fn of(&mut self, numbers: Numbers) -> Result<Terms, CellError<'static>> {
        // Any spreading will do: the place is only a guess of where to look.
        let mix = numbers.max_burst ^ numbers.count.rotate_left(1) ^ numbers.period.rotate_left(2);
        let [first, second, third, fourth] = &mut self.places;
        let place = match mix & 3 {
            0 => first,
            1 => second,
            2 => third,
            _ => fourth,
        };
        match place {
            Some((remembered, terms)) if *remembered == numbers => Ok(*terms),
            _ => {
                let terms = Terms::of(numbers)?;
                *place = Some((numbers, terms));
                Ok(terms)
            }
        }
    }
}

impl Terms {
    /// Works the terms out, or says what is wrong with the numbers.
    #[cold]
    fn of(numbers: Numbers) -> Result<Terms, CellError<'static>> {
        let max_burst = unsigned("max_burst", numbers.max_burst)?;
        let count = unsigned("count", numbers.count)?;
        let period = unsigned("period", numbers.period)?;
        let interval = u128::from(period) * u128::from(NANOS_PER_SECOND) / u128::from(count).max(1);
        if count == 0 || interval == 0 {
            return Err(CellError::ZeroRate);
        }
        // A period beyond 584 years saturates, and is refused as too slow or too fine.
        let rate = Rate::new(count, Span::from_secs(period));
        let limit = Limit::new(rate, Burst::tokens(max_burst + 1)).map_err(CellError::Limit)?;
        Ok(Terms { limit, interval_nanos: u64::try_from(interval).unwrap_or(u64::MAX) })
    }
}

/// A number that must not be negative.
pub(super) fn unsigned(field: &'static str, value: i64) -> Result<u64, CellError<'static>> {
    u64::try_from(value).map_err(|_| CellError::Negative { field, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::Tokens;

    fn terms(max_burst: i64, count: i64, period: i64) -> Result<Terms, String> {
        let found = RememberedTerms::default().of(Numbers { max_burst, count, period });
        found.map_err(|error| error.to_string())
    }

    #[test]
    fn thirty_a_minute_and_fifteen_more_at_once_are_one_every_two_seconds_and_sixteen() {
        let terms = terms(15, 30, 60).unwrap();
        assert_eq!(terms.limit, Limit::new(Rate::new(1, Span::from_secs(2)), Burst::tokens(16)).unwrap());
        assert_eq!(terms.interval_nanos, 2_000_000_000);
    }

    #[test]
    fn what_is_remembered_is_what_was_asked_for() {
        let mut remembered = RememberedTerms::default();
        for _ in 0..2 {
            for max_burst in 0..100 {
                let terms = remembered.of(Numbers { max_burst, count: 1, period: 1 }).unwrap();
                assert_eq!(
                    terms.limit.burst(),
                    Tokens::from_micros((max_burst.unsigned_abs() + 1) * 1_000_000)
                );
            }
        }
    }

    #[test]
    fn numbers_that_are_no_limit_are_refused_in_words() {
        let refusal = |max_burst, count, period| terms(max_burst, count, period).unwrap_err();
        let zero = "Cell error: Store error: Zero rates are not supported";
        assert_eq!(refusal(1, 0, 1), zero);
        assert_eq!(refusal(1, 1, 0), zero);
        assert_eq!(refusal(1, 1_000_000_001, 1), zero, "less than a nanosecond between two tokens");
        assert_eq!(refusal(-1, 1, 1), "Cell error: Store error: max_burst is -1; use 0 or more");
        assert_eq!(refusal(1, -5, 1), "Cell error: Store error: count is -5; use 0 or more");
        assert_eq!(
            refusal(1, 1, i64::MIN),
            "Cell error: Store error: period is -9223372036854775808; use 0 or more"
        );
        assert!(refusal(i64::MAX, 1, 1).contains("`burst` is 9223372036854775808 tokens; use at most"));
        assert!(refusal(0, 1, i64::MAX).contains("`rate` is 1 tokens per"));
        assert!(refusal(0, i64::MAX, i64::MAX).contains("`rate` is"));
    }
}
