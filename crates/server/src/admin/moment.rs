//! Moments as they were typed: a date, or how long from now, or how long ago.

use tollgate_records::Timestamp;

use crate::http::{Problem, shown};

/// Longest span: ten years, in days and in seconds.
const SPAN_DAYS_MAX: u64 = 10 * 366;
const SPAN_S_MAX: u64 = SPAN_DAYS_MAX * 86_400;

/// When something ends: `2026-12-24T18:00:00Z`, or `90s`, `30m`, `2h` or `7d` from now, which is so many seconds after 1970.
pub(super) fn read(text: &str, now_unix_s: u64) -> Result<Timestamp, Problem> {
    let from_now = || at(now_unix_s.checked_add(span_s(text)?)?);
    Timestamp::parse(text)
        .or_else(from_now)
        .ok_or_else(|| bad("expires", text, "from now").because("bad_body"))
}

/// When something was: a date, or such a span ago.
pub(super) fn ago(field: &'static str, text: &str, now_unix_s: u64) -> Result<Timestamp, Problem> {
    let before = || at(now_unix_s.saturating_sub(span_s(text)?));
    Timestamp::parse(text).or_else(before).ok_or_else(|| bad(field, text, "ago").because("bad_query"))
}

fn at(unix_s: u64) -> Option<Timestamp> {
    i64::try_from(unix_s).ok().map(Timestamp::from_unix_seconds)
}

fn span_s(text: &str) -> Option<u64> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = text.split_at(unit_at);
    let unit_s = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    let span_s = digits.parse::<u64>().ok()?.checked_mul(unit_s)?;
    (1..=SPAN_S_MAX).contains(&span_s).then_some(span_s)
}

fn bad(field: &'static str, text: &str, direction: &str) -> Problem {
    let detail = format!(
        "`{field}` is '{}'; use a date like 2026-12-24T18:00:00Z, or a time {direction} like 30m, 2h or 7d, at most {SPAN_DAYS_MAX}d",
        shown(text)
    );
    Problem::field(field, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_spans_are_read_and_nothing_else() {
        let read = |text: &str| read(text, 1_000).map(Timestamp::unix_seconds).ok();
        let ago = |text: &str| ago("since", text, 1_000).map(Timestamp::unix_seconds).ok();
        assert_eq!((read("1970-01-01T00:01:00Z"), ago("1970-01-01T00:01:00Z")), (Some(60), Some(60)));
        assert_eq!((read("90s"), read("2h"), read("7d")), (Some(1_090), Some(8_200), Some(605_800)));
        assert_eq!((ago("90s"), ago("2h")), (Some(910), Some(0)));
        assert!(read("3660d").is_some() && ago("3660d").is_some());
        let told = super::read("3661d", 1_000).unwrap_err();
        let expected = "`expires` is '3661d'; use a date like 2026-12-24T18:00:00Z, or a time from now like 30m, 2h or 7d, at most 3660d";
        assert_eq!(told.detail(), expected);
        for text in ["", "soon", "0s", "-1s", "1.5h", "2 h", "h", "5", "9999999999d", "18446744073709551615s"]
        {
            assert_eq!((read(text), ago(text)), (None, None), "{text}");
        }
    }
}
