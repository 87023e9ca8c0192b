//! When something was: one type for `TIMESTAMPTZ` of PostgreSQL and for ISO 8601 text of SQLite.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo, PgValueFormat, PgValueRef, Postgres};
use sqlx::sqlite::{Sqlite, SqliteArgumentsBuffer, SqliteTypeInfo, SqliteValueRef};
use sqlx::{Decode, Encode, Type};

use crate::clock;

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// The number of `timestamptz` in the catalogue of every PostgreSQL.
const TIMESTAMPTZ: Oid = Oid(1_184);
/// 2000-01-01, from which PostgreSQL counts, in microseconds since 1970.
const POSTGRES_EPOCH_MICROS: i64 = 946_684_800 * MICROS_PER_SECOND;

/// A moment by the wall clock, in microseconds since 1970 (UTC). Shown as `2026-11-16T05:00:00.000000Z`, which sorts as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// What time it is by the machine's wall clock.
    pub fn now() -> Timestamp {
        clock::now()
    }

    /// By microseconds since 1970.
    pub const fn from_unix_micros(micros: i64) -> Timestamp {
        Timestamp(micros)
    }

    /// By whole seconds since 1970; those that no calendar has are the last that can be counted.
    pub const fn from_unix_seconds(seconds: i64) -> Timestamp {
        Timestamp(seconds.saturating_mul(MICROS_PER_SECOND))
    }

    /// So long after 1970, rounded down to microseconds; what no calendar has is the last that can be counted.
    pub fn from_unix(since_1970: Duration) -> Timestamp {
        let seconds = i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX);
        let micros = i64::from(since_1970.subsec_micros());
        Timestamp(seconds.saturating_mul(MICROS_PER_SECOND).saturating_add(micros))
    }

    /// Microseconds since 1970.
    pub const fn unix_micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970, rounded down.
    pub const fn unix_seconds(self) -> i64 {
        self.0.div_euclid(MICROS_PER_SECOND)
    }

    /// So long before it, and not before 1970.
    #[must_use]
    pub fn before(self, span: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(micros_in(span)).max(0))
    }

    /// So long after it; what no calendar has is the last that can be counted.
    #[must_use]
    pub fn after(self, span: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(micros_in(span)))
    }

    /// Reads `2026-11-16T05:00:00.123456Z`. A blank may stand for the `T`, as in SQLite's own dates; fraction and `Z` may be missing: all is UTC.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
        let (date, time) = text.split_once(['T', 't', ' '])?;
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = days_from_civil(year, month, day);
        // A day that its month does not have would be one of the next.
        if civil_from_days(days) != (year, month, day) {
            return None;
        }
        let seconds = days * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second;
        Some(Timestamp(seconds * MICROS_PER_SECOND + micros_of(fraction)?))
    }
}

/// Whole microseconds, rounded down.
fn micros_in(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// Numbers of so many digits each, between separators.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut read = [0; 3];
    for (number, digits) in read.iter_mut().zip(digits) {
        let part = parts.next()?;
        let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = if is_number { part.parse().ok()? } else { return None };
    }
    parts.next().is_none().then_some(read)
}

/// A fraction of a second in microseconds, rounded down.
fn micros_of(fraction: &str) -> Option<i64> {
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = &fraction[..fraction.len().min(6)];
    format!("{digits:0<6}").parse().ok()
}

/// Days since 1970-01-01 of the proleptic Gregorian calendar, counted in eras of 400 years that begin in March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The reverse.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.unix_seconds(), self.0.rem_euclid(MICROS_PER_SECOND));
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Type<Postgres> for Timestamp {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ)
    }
}

impl Encode<'_, Postgres> for Timestamp {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        Encode::<Postgres>::encode(self.0.saturating_sub(POSTGRES_EPOCH_MICROS), buffer)
    }
}

impl Decode<'_, Postgres> for Timestamp {
    fn decode(value: PgValueRef<'_>) -> Result<Timestamp, BoxDynError> {
        match value.format() {
            PgValueFormat::Binary => {
                let since_2000 = i64::from_be_bytes(value.as_bytes()?.try_into()?);
                Ok(Timestamp(since_2000.saturating_add(POSTGRES_EPOCH_MICROS)))
            }
            PgValueFormat::Text => Err("a time as text was not asked for".into()),
        }
    }
}

impl Type<Sqlite> for Timestamp {
    fn type_info() -> SqliteTypeInfo {
        <str as Type<Sqlite>>::type_info()
    }
}

impl Encode<'_, Sqlite> for Timestamp {
    fn encode_by_ref(&self, buffer: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        Encode::<Sqlite>::encode(self.to_string(), buffer)
    }
}

impl Decode<'_, Sqlite> for Timestamp {
    fn decode(value: SqliteValueRef<'_>) -> Result<Timestamp, BoxDynError> {
        let text = <String as Decode<Sqlite>>::decode(value)?;
        Timestamp::parse(&text).ok_or_else(|| {
            format!("\"{}\" is no time; write it like 2026-11-16T05:00:00Z", text.escape_debug()).into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(text: &str, micros: i64) {
        assert_eq!(Timestamp::parse(text), Some(Timestamp(micros)), "{text}");
    }

    #[test]
    fn times_are_read_as_we_and_as_sqlite_write_them() {
        read("1970-01-01T00:00:00.000000Z", 0);
        read("2000-01-01 00:00:00", POSTGRES_EPOCH_MICROS);
        read("2024-02-29T12:34:56.789Z", 1_709_210_096_789_000);
        read("1969-12-31T23:59:59.999999Z", -1);
    }

    #[test]
    fn a_duration_since_1970_is_rounded_down_and_bounded() {
        assert_eq!(Timestamp::from_unix(Duration::new(3, 4_999)), Timestamp(3_000_004));
        assert_eq!(Timestamp::from_unix(Duration::MAX), Timestamp(i64::MAX));
    }

    #[test]
    fn what_is_before_1970_or_after_all_calendars_is_the_first_or_last_that_counts() {
        let (second, at) = (Duration::from_secs(1), Timestamp(3_000_000));
        assert_eq!((at.before(second), at.after(second)), (Timestamp(2_000_000), Timestamp(4_000_000)));
        assert_eq!((at.before(Duration::MAX), at.after(Duration::MAX)), (Timestamp(0), Timestamp(i64::MAX)));
    }

    #[test]
    fn what_no_calendar_has_is_no_time() {
        for text in [
            "",
            "now",
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01",
            "24-1-1T0:0:0",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00+01:00",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_read_again_and_sorts_as_time_does() {
        let mut last = String::new();
        for step in 0..20_000 {
            let time = Timestamp(step * 86_399_123_457 - 62_000_000_000_000_000);
            let shown = time.to_string();
            assert_eq!(Timestamp::parse(&shown), Some(time), "{shown}");
            assert!(shown > last, "{shown} after {last}");
            last = shown;
        }
    }
}
