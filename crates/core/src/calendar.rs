//! Windows of the calendar: every so often, or every so many months, counted from 1970 in UTC or a fixed offset of it.
//!
//! Knows no leap seconds and no daylight saving: a day has 86,400 seconds.

use core::fmt;

use crate::{Moment, Span};

const DAY_NANOS: u64 = 86_400_000_000_000;
/// Days from Monday, 29 December 1969 to Thursday, 1 January 1970.
const MONDAY_TO_EPOCH: i64 = 3;
/// Longest window: a century. Longer ones are a lifetime, not a quota.
const WINDOW_NANOS_MAX: u64 = 100 * 366 * DAY_NANOS;
const MONTHS_MAX: u32 = 1_200;
/// A month that lies after the end of every clock: 2^65 ns from 1970 are 1,169 years, this is 87,381.
const MONTH_AFTER_ALL: u64 = 1 << 20;

/// How a [`crate::FixedWindow`] cuts time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    unit: Unit,
    /// Nanoseconds that the windows begin earlier than in UTC, as days do east of Greenwich. From 0 to less than one window;
    /// months, which are of several lengths, begin up to a day earlier or (negative) later.
    early: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Unit {
    /// So many nanoseconds, from 1 to [`WINDOW_NANOS_MAX`].
    Nanos(u64),
    /// So many months, from 1 to [`MONTHS_MAX`].
    Months(u32),
}

/// A window of the calendar on one clock: knows what the wall clock showed at that clock's origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Calendar {
    window: Window,
    /// Nanoseconds from 1970 to [`Moment::default`].
    origin: u64,
}

/// Why a window of the calendar is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowError {
    /// A window of no length.
    Zero,
    /// A window above a century.
    TooLong,
}

impl Window {
    /// From each whole minute to the next.
    pub const MINUTE: Window = Window { unit: Unit::Nanos(60_000_000_000), early: 0 };
    /// From each whole hour to the next.
    pub const HOUR: Window = Window { unit: Unit::Nanos(3_600_000_000_000), early: 0 };
    /// From midnight UTC to midnight.
    pub const DAY: Window = Window { unit: Unit::Nanos(DAY_NANOS), early: 0 };
    /// From Monday, midnight UTC, to Monday.
    pub const WEEK: Window =
        Window { unit: Unit::Nanos(7 * DAY_NANOS), early: MONDAY_TO_EPOCH * DAY_NANOS.cast_signed() };
    /// From the first of each month, midnight UTC, to the first of the next.
    pub const MONTH: Window = Window { unit: Unit::Months(1), early: 0 };
    /// From New Year, midnight UTC, to New Year.
    pub const YEAR: Window = Window { unit: Unit::Months(12), early: 0 };

    /// A window of this length, counted from 1970-01-01T00:00Z: of 15 minutes, for instance, from each quarter hour.
    pub const fn every(length: Span) -> Result<Window, WindowError> {
        match length.as_nanos() {
            0 => Err(WindowError::Zero),
            nanos if nanos > WINDOW_NANOS_MAX => Err(WindowError::TooLong),
            nanos => Ok(Window { unit: Unit::Nanos(nanos), early: 0 }),
        }
    }

    /// So many months counted from January: 3 is a quarter.
    pub const fn months(months: u32) -> Result<Window, WindowError> {
        match months {
            0 => Err(WindowError::Zero),
            months if months > MONTHS_MAX => Err(WindowError::TooLong),
            months => Ok(Window { unit: Unit::Months(months), early: 0 }),
        }
    }

    /// The same window where clocks are ahead of UTC by `offset`: midnight in Berlin's winter is one hour early. Months begin at
    /// most a day early.
    #[must_use]
    pub const fn ahead_of_utc(self, offset: Span) -> Window {
        self.beginning_earlier(offset.as_nanos() as i128)
    }

    /// The same window where clocks are behind UTC by `offset`. Months begin at most a day late.
    #[must_use]
    pub const fn behind_utc(self, offset: Span) -> Window {
        self.beginning_earlier(-(offset.as_nanos() as i128))
    }

    /// The usual length; of months, that of 30 days each.
    pub const fn length(&self) -> Span {
        match self.unit {
            Unit::Nanos(nanos) => Span::from_nanos(nanos),
            Unit::Months(months) => Span::from_nanos(months as u64 * 30 * DAY_NANOS),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "less than a window or at most a day")]
    const fn beginning_earlier(self, nanos: i128) -> Window {
        let (early, day) = (self.early as i128 + nanos, DAY_NANOS as i128);
        let early = match self.unit {
            // A whole window earlier is the same windows.
            Unit::Nanos(length) => early.rem_euclid(length as i128),
            Unit::Months(_) if early > day => day,
            Unit::Months(_) if early < -day => -day,
            Unit::Months(_) => early,
        };
        Window { unit: self.unit, early: early as i64 }
    }

    /// The number of the window that a wall time (nanoseconds since 1970) lies in; 0 also for a month that began before 1970.
    const fn number(&self, wall: u128) -> u64 {
        let shifted = wall.saturating_add_signed(self.early as i128);
        match self.unit {
            Unit::Nanos(nanos) => word_at_most(shifted / nanos as u128),
            Unit::Months(months) => month_of(word_at_most(shifted / DAY_NANOS as u128)) / months as u64,
        }
    }

    /// When a window begins, in nanoseconds since 1970; 0 for one that began before, and for one of months that no clock will
    /// see, some time after the last that it sees.
    const fn start(&self, number: u64) -> u128 {
        let shifted = match self.unit {
            Unit::Nanos(nanos) => number as u128 * nanos as u128,
            Unit::Months(months) => {
                let month = number.saturating_mul(months as u64);
                let month = if month > MONTH_AFTER_ALL { MONTH_AFTER_ALL } else { month };
                first_day(month) as u128 * DAY_NANOS as u128
            }
        };
        shifted.saturating_add_signed(-(self.early as i128))
    }

    pub(crate) const fn words(&self) -> [u64; 3] {
        match self.unit {
            Unit::Nanos(nanos) => [0, nanos, self.early.cast_unsigned()],
            Unit::Months(months) => [1, months as u64, self.early.cast_unsigned()],
        }
    }

    /// The window whose words these are, taken on trust.
    pub(crate) const fn from_words([unit, length, early]: [u64; 3]) -> Window {
        let unit = if unit == 0 { Unit::Nanos(length) } else { Unit::Months(low_half(length)) };
        Window { unit, early: early.cast_signed() }
    }

    /// Whether this is a window that can be kept, and not one from a damaged file.
    pub(crate) fn is_sound(&self) -> bool {
        let window = match self.unit {
            Unit::Nanos(nanos) => Window::every(Span::from_nanos(nanos)),
            Unit::Months(months) => Window::months(months),
        };
        window.is_ok_and(|window| window.beginning_earlier(self.early.into()) == *self)
    }
}

impl Calendar {
    pub(crate) const fn new(window: Window, origin: u64) -> Calendar {
        Calendar { window, origin }
    }

    pub(crate) const fn window(&self) -> Window {
        self.window
    }

    pub(crate) const fn origin(&self) -> u64 {
        self.origin
    }

    /// The number of the window at a moment; grows by one from each to the next.
    pub(crate) const fn number(&self, now: Moment) -> u64 {
        self.window.number(self.origin as u128 + now.as_nanos() as u128)
    }

    /// When a window begins; the end of time if that is later.
    pub(crate) fn start(&self, number: u64) -> Moment {
        let since_origin = self.window.start(number).saturating_sub(u128::from(self.origin));
        Moment::from_nanos(u64::try_from(since_origin).unwrap_or(u64::MAX))
    }
}

/// Months from January 1970 to the month of a day, counted from 1 January 1970. The calendar in 400-year cycles that begin on
/// 1 March, so that a leap day is a year's last.
const fn month_of(day: u64) -> u64 {
    let day = day + 719_468; // from 1 March of year 0
    let (cycle, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * day + 2) / 153;
    // Months from March of year 0, then from January 1970.
    (cycle * 400 + year) * 12 + march_month + 2 - 1_970 * 12
}

/// Days from 1 January 1970 to the first of a month, counted from January 1970.
const fn first_day(month: u64) -> u64 {
    let from_march = month + 1_970 * 12 - 2;
    let (year, march_month) = (from_march / 12, from_march % 12);
    let (cycle, year) = (year / 400, year % 400);
    let day = (153 * march_month + 2) / 5 + 365 * year + year / 4 - year / 100;
    cycle * 146_097 + day - 719_468
}

/// Saturates where the wall clock in units of a nanosecond does not fit: from 2554 on.
#[expect(clippy::cast_possible_truncation, reason = "compared with the maximum before")]
const fn word_at_most(value: u128) -> u64 {
    if value > u64::MAX as u128 { u64::MAX } else { value as u64 }
}

#[expect(clippy::cast_possible_truncation, reason = "the 32 bits that were put there")]
const fn low_half(value: u64) -> u32 {
    value as u32
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => write!(f, "`window` has no length; use 1 ns or more, or 1 month or more"),
            Self::TooLong => write!(f, "`window` is longer than a century; use at most 100 years"),
        }
    }
}

impl core::error::Error for WindowError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(days: u64) -> u128 {
        u128::from(days) * u128::from(DAY_NANOS)
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        // 2000-02-29 is day 11,016; 2000-03-01 the next. 2100 is no leap year: 2100-03-01 is day 47,541.
        assert_eq!(month_of(11_016), 30 * 12 + 1);
        assert_eq!(month_of(11_017), 30 * 12 + 2);
        assert_eq!(first_day(130 * 12 + 2), 47_541);
        let mut month = 0;
        for day in 0..80_000 {
            if day == first_day(month + 1) {
                month += 1;
            }
            assert_eq!(month_of(day), month, "day {day}");
        }
        assert_eq!(month, 219 * 12);
    }

    #[test]
    fn a_window_begins_where_its_number_changes() {
        let quarter = Window::months(3).unwrap();
        let berlin = Window::DAY.ahead_of_utc(Span::from_secs(3_600));
        let lima = Window::MONTH.behind_utc(Span::from_secs(5 * 3_600));
        for window in [Window::MINUTE, Window::WEEK, Window::YEAR, quarter, berlin, lima] {
            let here = window.number(days(20_000) + 12_345_678_901);
            assert_eq!(window.number(window.start(here)), here);
            assert_eq!(window.number(window.start(here) - 1), here - 1);
            assert_eq!(window.number(window.start(here + 1) - 1), here);
            assert_eq!(Window::from_words(window.words()), window);
        }
    }

    #[test]
    fn weeks_begin_on_monday_and_berlin_days_an_hour_early() {
        // 1970-01-05 was a Monday.
        assert_eq!(Window::WEEK.number(days(4)), Window::WEEK.number(days(10)));
        assert_ne!(Window::WEEK.number(days(4) - 1), Window::WEEK.number(days(4)));
        let berlin = Window::DAY.ahead_of_utc(Span::from_secs(3_600));
        assert_ne!(berlin.number(days(5) - 3_600_000_000_001), berlin.number(days(5) - 3_600_000_000_000));
        assert_eq!(Window::DAY.behind_utc(Span::from_secs(23 * 3_600)), berlin);
    }

    #[test]
    fn months_west_of_greenwich_begin_late_on_the_first_and_not_early_on_the_last() {
        let hours = |hours: u64| Span::from_secs(hours * 3_600);
        // March 2024 begins on day 19,783; in Lima, five hours later.
        let (lima, march) = (Window::MONTH.behind_utc(hours(5)), 54 * 12 + 2);
        assert_eq!(lima.start(march), days(19_783) + u128::from(hours(5).as_nanos()));
        assert_eq!(lima.number(lima.start(march) - 1), march - 1);
        assert_eq!(lima.ahead_of_utc(hours(5)), Window::MONTH);
        assert_eq!(Window::YEAR.ahead_of_utc(hours(30)), Window::YEAR.ahead_of_utc(hours(24)));
        assert_eq!(Window::from_words(lima.words()), lima);
        assert!(lima.is_sound());
    }

    #[test]
    fn the_end_of_every_clock_saturates() {
        assert_eq!(Calendar::new(Window::YEAR, 0).start(u64::MAX), Moment::from_nanos(u64::MAX));
        assert_eq!(Calendar::new(Window::MONTH, u64::MAX).start(u64::MAX), Moment::from_nanos(u64::MAX));
        let nanos = Calendar::new(Window::every(Span::from_nanos(1)).unwrap(), u64::MAX);
        assert_eq!(nanos.number(Moment::from_nanos(5)), u64::MAX);
    }

    #[test]
    fn a_window_without_length_or_end_is_refused() {
        assert_eq!(Window::every(Span::ZERO), Err(WindowError::Zero));
        assert_eq!(Window::every(Span::MAX), Err(WindowError::TooLong));
        assert_eq!(Window::months(0), Err(WindowError::Zero));
        assert_eq!(Window::months(1_201), Err(WindowError::TooLong));
        assert!(!Window::from_words([1, 1, DAY_NANOS + 1]).is_sound());
        assert!(!Window::from_words([0, 5, 5]).is_sound());
    }
}
