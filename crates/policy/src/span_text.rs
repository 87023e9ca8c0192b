//! A length of time as people say it: `100ms`, `2 h 5 min`, `1 d`.

use tollgate_core::Span;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A length of time for people. Below a minute exact; else rounded up, so that whoever waits so long has waited long enough: to
/// whole seconds, from a day on to whole minutes.
/// ```
/// # use tollgate_core::Span;
/// # use tollgate_policy::span_text;
/// assert_eq!(span_text(Span::from_secs(7_500)), "2 h 5 min");
/// ```
pub fn span_text(span: Span) -> String {
    let nanos = span.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    if nanos < MINUTE {
        return span.to_string();
    }
    // What is rounded up to a whole day is one.
    let step = if nanos > DAY - SECOND { MINUTE } else { SECOND };
    // In seconds, in which the longest time rounded up has room.
    let mut rest_s = nanos.div_ceil(step) * (step / SECOND);
    let mut parts = Vec::new();
    for (unit, worth) in [("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", SECOND)] {
        let worth_s = worth / SECOND;
        if rest_s >= worth_s {
            parts.push(format!("{} {unit}", rest_s / worth_s));
        }
        rest_s %= worth_s;
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(nanos: u64, expected: &str) {
        assert_eq!(span_text(Span::from_nanos(nanos)), expected, "{nanos}");
    }

    #[test]
    fn short_times_are_exact_and_long_ones_in_the_units_of_a_clock() {
        check(0, "0s");
        check(1, "1ns");
        check(100_000_000, "100ms");
        check(59_999_999_999, "59.999999999s");
        check(MINUTE, "1 min");
        check(90 * SECOND, "1 min 30 s");
        check(HOUR, "1 h");
        check(7_500 * SECOND, "2 h 5 min");
        check(7_501 * SECOND, "2 h 5 min 1 s");
        check(DAY, "1 d");
        check(30 * DAY, "30 d");
        check(DAY + 2 * HOUR + 3 * MINUTE, "1 d 2 h 3 min");
    }

    #[test]
    fn long_times_are_rounded_up_never_down() {
        check(333_333_333_334, "5 min 34 s");
        check(HOUR - 1, "1 h");
        check(DAY - 1, "1 d");
        check(DAY + 1, "1 d 1 min");
        check(2 * DAY - 1, "2 d");
        check(u64::MAX, "213503 d 23 h 35 min");
    }
}
