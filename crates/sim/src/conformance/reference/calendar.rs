//! Which window of the calendar a moment lies in: by walking through the years.

use tollgate_core::{Moment, Window};

const DAY_NANOS: u64 = 86_400_000_000_000;

/// The number of the window that `now` lies in, the clock's origin being 1970. Knows months and years, and windows of one
/// length without an offset.
pub(super) fn window_number(window: Window, now: Moment) -> i128 {
    let months = month_number(now.as_nanos() / DAY_NANOS);
    match window {
        Window::MONTH => months,
        Window::YEAR => months / 12,
        _ => i128::from(now.as_nanos() / window.length().as_nanos()),
    }
}

/// Months since January 1970 on a day since 1 January 1970.
fn month_number(mut day: u64) -> i128 {
    let mut months = 0;
    for year in 1970_u64.. {
        let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
        for days in [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
            if day < days {
                return months;
            }
            day -= days;
            months += 1;
        }
    }
    months
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::Span;

    #[test]
    fn a_leap_day_belongs_to_february() {
        // 29 February 2000 is day 11,016.
        assert_eq!([11_015, 11_016, 11_017].map(month_number), [361, 361, 362]);
        let day = |day: u64| Moment::from_nanos(0) + Span::from_secs(day * 86_400);
        assert_eq!(window_number(Window::YEAR, day(10_957)), 30);
        assert_eq!(window_number(Window::DAY, day(10_957)), 10_957);
    }
}
