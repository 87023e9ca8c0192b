//! A10, fixed window: a quota per window of the calendar, all of it back when the next begins.

use std::ops::Range;

use tollgate_core::{Cost, Demand, FixedWindow, Moment, Span, Start, Window};
use tollgate_sim::models::{CalendarModel, Cut, FixedWindowModel};
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::any_algorithm::{any_demand, any_quota};
use super::bucket::{Answer, Bucket};

/// Checks of one case.
pub(crate) const STEPS: u64 = 200;

const HOUR_NANOS: u64 = 3_600_000_000_000;
/// 200 years, so that a case begins before 2170 and ends before 2560.
const YEARS_200: u64 = 6_300_000_000_000_000_000;
/// A meter that mints 2^64 micro-tokens laps its marks; a pause stays well below.
const PAUSE_MICROS_MAX: u64 = 1 << 60;
/// Deeper debts saturate.
const DEBT_MICROS_MAX: i64 = 500_000_000_000_000_000;

/// Beside a calendar that counts day by day: quota, waits, debts and refunds, in windows of every kind.
pub(crate) fn follows_the_calendar(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (window, calendar) = any_window_and_model(rng);
        let quota = any_quota(rng);
        let origin = rng.u64(2 * 24 * HOUR_NANOS..YEARS_200);
        let mut now = Moment::from_nanos(rng.u64(..) >> 4);
        let start = Start { now, offset: rng.u64(..), origin };
        let wall = |now: Moment| i128::from(origin) + i128::from(now.as_nanos());
        let mut bucket = Bucket::new(FixedWindow::new(quota, window).unwrap(), start);
        let mut model = FixedWindowModel::full(bucket.full(), calendar, wall(now));
        let (mut number, mut charged) = (calendar.number(wall(now)), 0);
        for _ in 0..STEPS {
            now = now + any_pause(rng, &calendar, wall(now), bucket.full());
            assert_eq!(i128::from(bucket.balance(now)), model.left(wall(now)), "left at {now:?}");
            if rng.u8(0..16) == 0 {
                let most = bucket.full().cast_signed().saturating_mul(3);
                let micros = (rng.i64(-most..=most) / 2).max(-DEBT_MICROS_MAX - bucket.balance(now));
                bucket.adjust(micros, now);
                model.take(-i128::from(micros), wall(now));
                charged -= i128::from(micros);
            }
            if calendar.number(wall(now)) != number {
                (number, charged) = (calendar.number(wall(now)), 0);
            }
            let (demand, left) = (any_demand(rng, bucket.full()), model.left(wall(now)));
            match bucket.check(demand, now) {
                Answer::Admit { remaining, delay } => {
                    assert_eq!(i128::from(remaining), left - i128::from(demand.need()));
                    assert_eq!(delay, Span::ZERO);
                    model.take(i128::from(demand.cost.as_micros()), wall(now));
                    charged += i128::from(demand.cost.as_micros());
                    assert!(charged <= i128::from(bucket.full()), "more than the quota in one window");
                }
                Answer::Deny { missing, held, wait } => {
                    assert_eq!(i128::from(missing), i128::from(demand.need()) - left);
                    assert_eq!(i128::from(held), (left - i128::from(demand.keep.as_micros())).max(0));
                    let end = model.when_left(i128::from(demand.need()), wall(now));
                    assert_eq!(i128::from(wait.as_nanos()), end - wall(now), "from {}", wall(now));
                    bucket.judge_wait(demand, wait, now);
                }
                Answer::Never => assert!(demand.need() > bucket.full()),
            }
        }
    });
}

/// Why it is documented as unsafe: the last nanosecond of one window and the first of the next admit two quotas, and no two
/// moments closer than a window admit more.
pub(crate) fn admits_twice_the_quota_around_a_boundary(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (window, calendar) = any_window_and_model(rng);
        let origin = rng.u64(2 * 24 * HOUR_NANOS..YEARS_200);
        let start = Start { now: Moment::default(), offset: rng.u64(..), origin };
        let mut bucket = Bucket::new(FixedWindow::new(any_quota(rng), window).unwrap(), start);
        let boundary = calendar.start(calendar.number(i128::from(origin)) + 1) - i128::from(origin);
        let boundary = Moment::from_nanos(u64::try_from(boundary).unwrap());
        let all = Demand::of(Cost::micros(bucket.full()));
        let last = boundary - Span::from_nanos(1);
        assert!(matches!(bucket.check(all, last), Answer::Admit { .. }));
        assert_eq!(bucket.peek(Demand::of(Cost::micros(1)), last).0, denied_for_a_nanosecond());
        assert!(matches!(bucket.check(all, boundary), Answer::Admit { .. }));
        assert!(!bucket.admits(Demand::of(Cost::micros(1)), boundary));
    });
}

fn denied_for_a_nanosecond() -> Answer {
    Answer::Deny { missing: 1, held: 0, wait: Span::from_nanos(1) }
}

/// A window of every kind and any offset, and what it means.
fn any_window_and_model(rng: &mut Rng) -> (Window, CalendarModel) {
    let (window, cut) = match rng.u8(0..9) {
        0 => (Window::MINUTE, Cut::Nanos(60_000_000_000)),
        1 => (Window::HOUR, Cut::Nanos(HOUR_NANOS)),
        2 => (Window::DAY, Cut::Nanos(24 * HOUR_NANOS)),
        3 => (Window::WEEK, Cut::Weeks),
        4 => (Window::MONTH, Cut::Months(1)),
        5 => (Window::YEAR, Cut::Months(12)),
        6 => {
            let nanos = any_magnitude(rng, 3_000_000_000_000_000_000);
            (Window::every(Span::from_nanos(nanos)).unwrap(), Cut::Nanos(nanos))
        }
        _ => {
            let months = rng.u32(1..=40);
            (Window::months(months).unwrap(), Cut::Months(months))
        }
    };
    let hours = rng.u64(0..=14 * 4) * HOUR_NANOS / 4;
    match rng.u8(0..3) {
        0 => (window.ahead_of_utc(Span::from_nanos(hours)), CalendarModel { cut, east: i128::from(hours) }),
        1 => (window.behind_utc(Span::from_nanos(hours)), CalendarModel { cut, east: -i128::from(hours) }),
        _ => (window, CalendarModel { cut, east: 0 }),
    }
}

/// No time, any, or to about the next boundary; 200 of them stay within the clock.
fn any_pause(rng: &mut Rng, calendar: &CalendarModel, wall: i128, quota: u64) -> Span {
    let number = calendar.number(wall);
    let to_next = u64::try_from(calendar.start(number + 1) - wall).unwrap();
    let windows = (PAUSE_MICROS_MAX / quota).clamp(1, 1 << 20);
    let nanos = match rng.u8(0..8) {
        0..=2 => 0,
        3 => to_next,
        4 => to_next - 1,
        5 => to_next.saturating_add(any_magnitude(rng, to_next)),
        6 => any_magnitude(rng, to_next.saturating_mul(windows)),
        _ => rng.u64(0..to_next),
    };
    Span::from_nanos(if nanos > u64::MAX >> 8 { to_next.min(u64::MAX >> 9) } else { nanos })
}
