//! The calendar on a blackboard: counts years and months from 1970 one by one, by the rule of leap years.

/// Nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;

/// How time is cut.
#[derive(Debug, Clone, Copy)]
pub enum Cut {
    /// Every so many nanoseconds from 1970 on.
    Nanos(u64),
    /// Every seven days, from Monday on.
    Weeks,
    /// Every so many months from January 1970 on.
    Months(u32),
}

/// Windows of the calendar where clocks are `east` nanoseconds ahead of UTC; negative is behind.
#[derive(Debug, Clone, Copy)]
pub struct CalendarModel {
    /// How time is cut.
    pub cut: Cut,
    /// Nanoseconds.
    pub east: i128,
}

impl CalendarModel {
    /// The number of the window at a wall time, in nanoseconds since 1970 in UTC; negative before 1970.
    pub fn number(&self, wall: i128) -> i128 {
        let local = wall + self.east;
        match self.cut {
            Cut::Nanos(nanos) => local.div_euclid(i128::from(nanos)),
            // 1970 began on a Thursday.
            Cut::Weeks => (local + 3 * DAY).div_euclid(7 * DAY),
            Cut::Months(months) => month_of(local.div_euclid(DAY)).div_euclid(i128::from(months)),
        }
    }

    /// When a window begins, in nanoseconds since 1970 in UTC.
    pub fn start(&self, number: i128) -> i128 {
        let local = match self.cut {
            Cut::Nanos(nanos) => number * i128::from(nanos),
            Cut::Weeks => number * 7 * DAY - 3 * DAY,
            Cut::Months(months) => first_day(number * i128::from(months)) * DAY,
        };
        local - self.east
    }
}

/// The month of a day, both counted from January 1970; −1 for any day before.
fn month_of(day: i128) -> i128 {
    if day < 0 {
        return -1;
    }
    let (mut left, mut year) = (day, 1970);
    while left >= days_of_year(year) {
        left -= days_of_year(year);
        year += 1;
    }
    let mut month = 0;
    while left >= days_of_month(year, month) {
        left -= days_of_month(year, month);
        month += 1;
    }
    (year - 1970) * 12 + month
}

/// The first day of a month, both counted from January 1970.
fn first_day(month: i128) -> i128 {
    let (year, month) = (1970 + month / 12, month % 12);
    let of_years: i128 = (1970..year).map(days_of_year).sum();
    of_years + (0..month).map(|month| days_of_month(year, month)).sum::<i128>()
}

fn is_leap(year: i128) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_year(year: i128) -> i128 {
    if is_leap(year) { 366 } else { 365 }
}

/// `month` from 0 to 11.
fn days_of_month(year: i128, month: i128) -> i128 {
    match month {
        1 if is_leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days_lie_in_known_months() {
        // `date -u -d 2024-02-29 +%s` is 1709164800, day 19,782.
        assert_eq!(month_of(19_782), 54 * 12 + 1);
        assert_eq!(month_of(19_783), 54 * 12 + 2);
        assert_eq!(first_day(54 * 12 + 2), 19_783);
        let lima = CalendarModel { cut: Cut::Months(1), east: -5 * 3_600_000_000_000 };
        assert_eq!(lima.start(54 * 12 + 2), 19_783 * DAY + 5 * 3_600_000_000_000);
    }
}
