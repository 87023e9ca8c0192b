//! Times as operators type them: a length such as `30m`, or a moment such as `2026-11-20T10:00Z`. All is UTC.

use tollgate_records::Timestamp;

/// What is written where a time is wrong.
const CURE: &str =
    "write a length such as 30m, 2h or 7d, at most 3660d, or a moment such as 2026-11-20T10:00Z";
const CURE_OF_LENGTH: &str = "write a length such as 30m, 2h or 7d, at most 3660d";
/// Longest length: ten years, as the server has it, in seconds.
const SECONDS_MAX: i64 = 3_660 * 86_400;
/// Units and how many seconds they have.
const UNITS: [(char, i64); 5] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400), ('w', 7 * 86_400)];

/// A time that was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// So many seconds from now, or before now.
    Seconds(i64),
    /// At this moment.
    At(Timestamp),
}

impl When {
    /// Reads either.
    pub(crate) fn parse(text: &str) -> Result<When, String> {
        length(text).map(When::Seconds).or_else(|| moment(text).map(When::At)).ok_or_else(|| CURE.to_owned())
    }

    /// Reads a length.
    pub(crate) fn parse_length(text: &str) -> Result<When, String> {
        length(text).map(When::Seconds).ok_or_else(|| CURE_OF_LENGTH.to_owned())
    }

    /// Reads a moment.
    pub(crate) fn parse_moment(text: &str) -> Result<When, String> {
        moment(text).map(When::At).ok_or_else(|| "write a moment such as 2026-11-20T10:00Z".to_owned())
    }

    /// As the server reads it, by whose clock a length is counted.
    pub(crate) fn sent(self) -> String {
        match self {
            When::Seconds(seconds) => format!("{seconds}s"),
            When::At(moment) => moment.to_string(),
        }
    }

    /// When that is, counted from a moment on.
    pub(crate) fn after(self, now: Timestamp) -> Timestamp {
        match self {
            When::Seconds(seconds) => {
                Timestamp::from_unix_seconds(now.unix_seconds().saturating_add(seconds))
            }
            When::At(moment) => moment,
        }
    }

    /// When that was, counted back from a moment.
    pub(crate) fn before(self, now: Timestamp) -> Timestamp {
        match self {
            When::Seconds(seconds) => {
                Timestamp::from_unix_seconds(now.unix_seconds().saturating_sub(seconds))
            }
            When::At(moment) => moment,
        }
    }
}

/// Digits and a unit, above 0; may be repeated, as in `1h30m`.
fn length(text: &str) -> Option<i64> {
    let (mut total, mut rest) = (0_i64, text);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let unit = rest.get(end..)?.chars().next()?;
        let (_, seconds) = UNITS.into_iter().find(|(known, _)| *known == unit)?;
        let number: i64 = rest.get(..end)?.parse().ok()?;
        total = total.checked_add(number.checked_mul(seconds)?)?;
        rest = rest.get(end + unit.len_utf8()..)?;
    }
    (1..=SECONDS_MAX).contains(&total).then_some(total)
}

/// A date, perhaps with a time of day, perhaps without its seconds.
fn moment(text: &str) -> Option<Timestamp> {
    let bare = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let full = match bare.split_once(['T', 't', ' ']) {
        None => format!("{bare}T00:00:00"),
        Some((_, time)) if time.matches(':').count() == 1 => format!("{bare}:00"),
        Some(_) => bare.to_owned(),
    };
    Timestamp::parse(&full)
}

/// A time of the server as people read it: without fractions of seconds.
pub(crate) fn shown(time: &str) -> String {
    match Timestamp::parse(time) {
        Some(_) => format!("{}Z", time.trim_end_matches(['Z', 'z']).split('.').next().unwrap_or_default()),
        None => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_moments_are_read_as_they_were_meant() {
        for (text, seconds) in
            [("30s", 30), ("30m", 1_800), ("2h", 7_200), ("7d", 604_800), ("1h30m", 5_400), ("1w", 604_800)]
        {
            assert_eq!(When::parse(text), Ok(When::Seconds(seconds)), "{text}");
        }
        let at = Timestamp::parse("2026-11-20T10:00:00Z").unwrap();
        for text in ["2026-11-20T10:00Z", "2026-11-20T10:00:00Z", "2026-11-20 10:00", "2026-11-20t10:00z"] {
            assert_eq!(When::parse(text), Ok(When::At(at)), "{text}");
        }
        assert_eq!(
            When::parse("2026-11-20"),
            Ok(When::At(Timestamp::parse("2026-11-20T00:00:00Z").unwrap()))
        );
    }

    #[test]
    fn what_is_no_time_is_refused_with_its_cure() {
        for text in [
            "",
            "0s",
            "-1h",
            "30",
            "m",
            "1.5h",
            "1h30",
            "1y",
            "soon",
            "2026-02-30",
            "2026-11-20T25:00Z",
            "3661d",
            "99999999999d",
        ] {
            assert!(When::parse(text).unwrap_err().contains("such as"), "{text}");
        }
        assert!(When::parse_length("2026-11-20").is_err() && When::parse_moment("2h").is_err());
    }

    #[test]
    fn a_length_counts_from_now_and_a_moment_does_not() {
        let now = Timestamp::from_unix_seconds(10_000);
        assert_eq!(When::Seconds(60).after(now).unix_seconds(), 10_060);
        assert_eq!(When::Seconds(60).before(now).unix_seconds(), 9_940);
        let at = Timestamp::from_unix_seconds(5);
        assert_eq!((When::At(at).after(now), When::At(at).before(now)), (at, at));
    }

    #[test]
    fn times_are_shown_to_the_second() {
        assert_eq!(shown("2026-11-16T05:00:00.123456Z"), "2026-11-16T05:00:00Z");
        assert_eq!(shown("never"), "never");
    }
}
