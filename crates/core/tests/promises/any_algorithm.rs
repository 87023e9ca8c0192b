//! Random limits of every algorithm, and what is asked of them.

use tollgate_core::{
    Algorithm, Burst, Concurrency, Cost, Demand, FixedWindow, LeakyBucket, Limit, Moment, PLACES_MAX, Rate,
    SlidingCounter, SlidingLog, Span, Start, Tokens, Window,
};
use tollgate_sim::seeds::{Rng, any_magnitude};

const HOUR_NANOS: u64 = 3_600_000_000_000;
const CENTURY_NANOS: u64 = 3_162_240_000_000_000_000;
const QUOTA_MICROS_MAX: u64 = 1_000_000_000_000_000_000;

/// An algorithm and a limit from the whole range that is allowed.
pub(crate) fn any_algorithm(rng: &mut Rng) -> Algorithm {
    let length = Span::from_nanos(any_magnitude(rng, 1 << 62));
    match rng.u8(0..6) {
        0 => Limit::new(any_rate(rng), any_quota(rng)).map_or_else(|_| any_algorithm(rng), Algorithm::from),
        1 if rng.bool() => any_leaky(rng).max_wait(length).into(),
        1 => any_leaky(rng).into(),
        2 => FixedWindow::new(any_quota(rng), any_window(rng)).unwrap().into(),
        3 => SlidingCounter::new(any_counter_quota(rng), length).unwrap().into(),
        4 => SlidingLog::new(any_quota(rng), length).unwrap().into(),
        _ => any_concurrency(rng).into(),
    }
}

pub(crate) fn any_leaky(rng: &mut Rng) -> LeakyBucket {
    loop {
        if let Ok(leaky) = LeakyBucket::new(any_rate(rng), any_quota(rng)) {
            return leaky;
        }
    }
}

/// The rate and the queue of a leaky bucket, as those of a limit.
pub(crate) fn leaky_limit(leaky: &LeakyBucket) -> Limit {
    *tollgate_core::Ruler::new((*leaky).into(), start_at(Moment::default())).meter().unwrap().limit()
}

pub(crate) fn any_concurrency(rng: &mut Rng) -> Concurrency {
    let places = u32::try_from(any_magnitude(rng, u64::from(PLACES_MAX))).unwrap();
    Concurrency::new(places, Span::from_nanos(any_magnitude(rng, 1 << 62))).unwrap()
}

pub(crate) fn any_rate(rng: &mut Rng) -> Rate {
    match rng.u8(0..3) {
        0 => Rate::per_second(any_magnitude(rng, 1_000_000_000)),
        1 => Rate::new(any_magnitude(rng, 1_000), Span::from_secs(any_magnitude(rng, 86_400))),
        _ => {
            Rate::new(any_magnitude(rng, 1_000_000_000), Span::from_nanos(any_magnitude(rng, CENTURY_NANOS)))
        }
    }
}

pub(crate) fn any_quota(rng: &mut Rng) -> Burst {
    match rng.u8(0..3) {
        0 => Burst::tokens(any_magnitude(rng, QUOTA_MICROS_MAX / 1_000_000)),
        1 => Burst::tokens(any_magnitude(rng, 20)),
        _ => Burst::micros(any_magnitude(rng, QUOTA_MICROS_MAX)),
    }
}

/// A quota that a sliding counter can count.
pub(crate) fn any_counter_quota(rng: &mut Rng) -> Burst {
    let tokens = tollgate_core::COUNTER_TOKENS_MAX;
    match rng.u8(0..3) {
        0 => Burst::tokens(any_magnitude(rng, tokens)),
        1 => Burst::tokens(any_magnitude(rng, 20)),
        _ => Burst::micros(any_magnitude(rng, tokens * 1_000_000)),
    }
}

pub(crate) fn any_window(rng: &mut Rng) -> Window {
    let window = match rng.u8(0..8) {
        0 => Window::MINUTE,
        1 => Window::DAY,
        2 => Window::WEEK,
        3 => Window::YEAR,
        4 => Window::months(rng.u32(1..=1_200)).unwrap(),
        5 => Window::every(Span::from_nanos(any_magnitude(rng, CENTURY_NANOS))).unwrap(),
        _ => Window::MONTH,
    };
    match rng.u8(0..3) {
        0 => window.ahead_of_utc(Span::from_nanos(rng.u64(0..=14 * HOUR_NANOS))),
        1 => window.behind_utc(Span::from_nanos(rng.u64(0..=12 * HOUR_NANOS))),
        _ => window,
    }
}

/// A start at `now`, in 1970 and with the count at 0.
pub(crate) fn start_at(now: Moment) -> Start {
    Start { now, offset: 0, origin: 0 }
}

/// A start at any moment of the first 36 years, with the count anywhere, in this century or the next.
pub(crate) fn any_start(rng: &mut Rng) -> Start {
    let now = Moment::from_nanos(rng.u64(..) >> 4);
    Start { now, offset: rng.u64(..), origin: any_magnitude(rng, u64::MAX / 4) }
}

/// A demand of up to a little more than `full` micro-tokens; every third keeps something.
pub(crate) fn any_demand(rng: &mut Rng, full: u64) -> Demand {
    let cost = Cost::micros(match rng.u8(0..8) {
        0 => full + rng.u64(0..3),
        1 => rng.u64(1..=1_000_000),
        2..=4 => any_magnitude(rng, full),
        _ => rng.u64(1..=full),
    });
    let keep = if rng.u8(0..3) == 0 { any_magnitude(rng, full) } else { 0 };
    Demand { cost, keep: Tokens::from_micros(keep) }
}
