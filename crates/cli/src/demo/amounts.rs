//! Amounts as they are shown: ordinals, shares, tokens and times in few digits.
//!
//! Rounds to the nearest last digit, halves up, and only for display: exact figures print themselves.
//! Computes in integers; knows no column and no colour.

use tollgate::{Moment, Span, Tokens};

/// `1st`, `52nd`, `60th`.
pub(crate) fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// `16.7 %`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    format!("{} %", rounded(u128::from(part) * 100, u128::from(whole.max(1)), 1))
}

/// `9.83`: at most two places.
pub(crate) fn tokens(amount: Tokens) -> String {
    rounded(u128::from(amount.as_micros()), 1_000_000, 2)
}

/// `966.7`: micro-tokens as requests of one token each, with at most one place.
pub(crate) fn requests(micros: u64) -> String {
    rounded(u128::from(micros), 1_000_000, 1)
}

/// `0.2`, `500000`, `2.5 M`: `micros / parts` in at most 9 characters for every burst.
pub(crate) fn short_tokens(micros: u128, parts: u64) -> String {
    let token = 1_000_000 * u128::from(parts);
    if micros < token * 1_000_000 {
        rounded(micros, token, if micros < token * 1_000 { 2 } else { 0 })
    } else {
        format!(
            "{} M",
            rounded(micros, token * 1_000_000, if micros < token * 1_000_000_000 { 2 } else { 0 })
        )
    }
}

/// `0.983 s`: at most three places.
pub(crate) fn seconds(moment: Moment) -> String {
    format!("{} s", rounded(u128::from(moment.as_nanos()), 1_000_000_000, 3))
}

/// `60 s`, `2.9 s`: at most three places.
pub(crate) fn span(span: Span) -> String {
    seconds(Moment::default() + span)
}

/// `0.983333334 s`: every nanosecond.
pub(crate) fn exact_seconds(moment: Moment) -> String {
    let nanos = moment.as_nanos();
    format!("{}.{:09} s", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// `part / whole` in decimal, with at most `places` places and no idle zeros.
pub(crate) fn rounded(part: u128, whole: u128, places: u32) -> String {
    let unit = 10_u128.pow(places);
    let scaled = (part * unit + whole / 2) / whole;
    let (integer, fraction) = (scaled / unit, scaled % unit);
    let fraction = format!("{fraction:0width$}", width = places as usize);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { integer.to_string() } else { format!("{integer}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_follow_the_spoken_word() {
        let spoken = [1, 2, 3, 4, 11, 12, 13, 21, 51, 60, 101, 111].map(ordinal);
        assert_eq!(spoken.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 51st 60th 101st 111th");
    }

    #[test]
    fn amounts_round_to_the_nearest_and_drop_idle_zeros() {
        assert_eq!(tokens(Tokens::from_micros(9_833_333)), "9.83");
        assert_eq!(tokens(Tokens::from_micros(1_000_000)), "1");
        assert_eq!(tokens(Tokens::from_micros(999_999)), "1");
        assert_eq!(tokens(Tokens::from_micros(5_000)), "0.01");
        assert_eq!(short_tokens(1_000_000, 5), "0.2");
        assert_eq!(short_tokens(2_500_000_000_000, 1), "2.5 M");
        assert_eq!(short_tokens(1_000_000_000_000_000_000, 1), "1000000 M");
        assert_eq!(percent(1, 6), "16.7 %");
        assert_eq!(seconds(Moment::from_nanos(983_333_334)), "0.983 s");
        assert_eq!(exact_seconds(Moment::from_nanos(983_333_334)), "0.983333334 s");
    }
}
