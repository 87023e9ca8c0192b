//! Points in time as people write them: `2026-12-24T18:00:00Z`, to the second. Or seconds since 1970.

use super::found::Found;
use super::tree::Node;

/// The last moment that can be written: the end of the year 9999.
const UNIX_S_MAX: u64 = 253_402_300_799;

/// Seconds since 1970, or a mistake.
pub(super) fn read(node: &Node<'_>, field: &str, found: &mut Found) -> Option<u64> {
    let text = node.scalar().unwrap_or_default();
    let seconds =
        text.parse::<u64>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit())).or_else(|| parse(text));
    let seconds = seconds.filter(|seconds| *seconds <= UNIX_S_MAX);
    if seconds.is_none() {
        let cure = format!(
            "write date, time and zone, as in `{field}: 2026-12-24T18:00:00Z` or `{field}: 2026-12-24T18:00:00+01:00`"
        );
        found.unfit(node, field, "a point in time", cure);
    }
    seconds
}

/// RFC 3339, without fractions of a second, from 1970 on.
fn parse(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<u64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let signs = [(4, b"-"), (7, b"-"), (10, b"T"), (13, b":"), (16, b":")];
    if signs.iter().any(|(at, sign)| bytes.get(*at) != Some(&sign[0])) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let month_at = usize::try_from(month).ok()?.checked_sub(1)?;
    let length = *lengths.get(month_at)?;
    if year < 1970 || !(1..=length).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let days = (year - 1970) * 365
        + (leap_days(year - 1) - leap_days(1969))
        + lengths[..month_at].iter().sum::<u64>()
        + day
        - 1;
    let local = days * 86_400 + hour * 3_600 + minute * 60 + second;
    match text.get(19..)? {
        "Z" => Some(local),
        zone if zone.len() == 6 && bytes.get(22) == Some(&b':') => {
            let (hours, minutes) = (number(20, 22)?, number(23, 25)?);
            let offset = (hours <= 14 && minutes < 60).then_some(hours * 3_600 + minutes * 60)?;
            match bytes.get(19)? {
                b'+' => local.checked_sub(offset),
                b'-' => Some(local + offset),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_seconds_since_1970() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2026-12-24T18:00:00+01:00", 1_798_131_600),
            ("2026-12-24T12:00:00-05:00", 1_798_131_600),
            ("9999-12-31T23:59:59Z", UNIX_S_MAX),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "2026-12-24",
            "2026-12-24 18:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-12-24T24:00:00Z",
            "2026-12-24T18:00:00",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+01:00",
            "2026-12-24T18:00:00.5Z",
            "2026-12-24T18:00:00é1:00",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
