//! When something ends by itself, as it was typed: a date, or how long it lasts.

use tollgate_records::Timestamp;

use crate::http::{Problem, shown};

/// Longest that something lasts by a span: ten years, in seconds.
const SPAN_S_MAX: u64 = 10 * 366 * 86_400;

/// Reads `2026-12-24T18:00:00Z`, or `90s`, `30m`, `2h` or `7d` from now, which is so many seconds after 1970.
pub(super) fn read(text: &str, now_unix_s: u64) -> Result<Timestamp, Problem> {
    Timestamp::parse(text).or_else(|| after(text, now_unix_s)).ok_or_else(|| {
        let detail = format!(
            "`expires` is '{}'; use a date like 2026-12-24T18:00:00Z, or a time from now like 30m, 2h or 7d",
            shown(text)
        );
        Problem::field("expires", detail).because("bad_body")
    })
}

fn after(text: &str, now_unix_s: u64) -> Option<Timestamp> {
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
    let is_span = (1..=SPAN_S_MAX).contains(&span_s);
    let end = i64::try_from(now_unix_s.checked_add(span_s)?).ok()?;
    is_span.then(|| Timestamp::from_unix_seconds(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_spans_are_read_and_nothing_else() {
        let read = |text: &str| read(text, 1_000).map(Timestamp::unix_seconds).ok();
        assert_eq!(read("1970-01-01T00:01:00Z"), Some(60));
        assert_eq!((read("90s"), read("2h"), read("7d")), (Some(1_090), Some(8_200), Some(605_800)));
        for text in ["", "soon", "0s", "-1s", "1.5h", "2 h", "h", "5", "9999999999d", "18446744073709551615s"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
