//! The time-stamp counter as a clock: a line through two points, drawn anew ten times a second.
//!
//! Promises readings within [`super::CLOCK_ERROR_MAX`] of the real clock. It never reads further than [`SPAN`] past the
//! last anchor; beyond, and whenever something looks wrong, the real clock answers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tollgate_core::{Moment, Span};

use super::{Monotonic, tsc};
use crate::seqlock::SeqLock;

/// How far a line is trusted past its anchor.
const SPAN: Span = Span::from_millis(100);
/// Least distance of two measurements that give a slope: 50 ns of jitter on 5 ms are 1 µs on [`SPAN`].
const BASELINE_MIN: Span = Span::from_millis(5);
/// A sighting that took longer was interrupted, and says little.
const WIDTH_MAX: Span = Span::from_micros(20);
/// A slope that differs from the last by more than 1 in 2,000 is no slope: the machine was suspended or moved.
const SLOPE_CHANGE_MAX: u64 = 2_000;

/// A line from counter ticks to nanoseconds: `nanos + (tick − tick0) · slope / 2^32`.
#[derive(Debug, Clone, Copy)]
struct Line {
    tick: u64,
    nanos: u64,
    /// Nanoseconds per tick, times 2^32. 0 until there is a line.
    slope: u64,
    /// How many ticks the line is good for.
    ticks: u64,
}

/// The counter and the real clock, read together.
#[derive(Debug, Clone, Copy)]
struct Sighting {
    tick: u64,
    real: Moment,
    /// How many ticks passed between the two readings around the real one: the error of `tick`.
    width: u64,
}

/// The counter read as a clock.
#[derive(Debug)]
pub(super) struct AnchoredTsc {
    real: Monotonic,
    shared: Shared,
}

/// The line in force, in a cache line of its own: all threads read it at every check.
#[derive(Debug)]
#[repr(align(128))]
struct Shared {
    line: SeqLock<4>,
    /// Held by the one thread that draws the next line; guards the two below.
    drawing: AtomicBool,
    last_tick: AtomicU64,
    last_real: AtomicU64,
}

impl AnchoredTsc {
    /// A clock that answers with the real one until a first line can be drawn, a few milliseconds from now.
    pub(super) fn new(real: Monotonic) -> Self {
        let seen = sight(real);
        let shared = Shared {
            line: SeqLock::new([0; 4]),
            drawing: AtomicBool::new(false),
            last_tick: AtomicU64::new(seen.tick),
            last_real: AtomicU64::new(seen.real.as_nanos()),
        };
        Self { real, shared }
    }

    #[inline]
    pub(super) fn now(&self) -> Moment {
        let tick = tsc::read();
        if let Some(line) = self.shared.line.try_read().map(Line::from_words) {
            // A counter that ran back makes a huge distance, too.
            let distance = tick.wrapping_sub(line.tick);
            if distance < line.ticks {
                return line.near(distance);
            }
        }
        self.now_slowly()
    }

    /// The real clock; and, if no other thread is at it, a new line.
    #[cold]
    fn now_slowly(&self) -> Moment {
        if self.shared.drawing.swap(true, Ordering::Acquire) {
            return self.real.now();
        }
        let seen = sight(self.real);
        let last = Sighting {
            tick: self.shared.last_tick.load(Ordering::Relaxed),
            real: Moment::from_nanos(self.shared.last_real.load(Ordering::Relaxed)),
            width: 0,
        };
        if seen.real.since(last.real) >= BASELINE_MIN {
            self.shared.last_tick.store(seen.tick, Ordering::Relaxed);
            self.shared.last_real.store(seen.real.as_nanos(), Ordering::Relaxed);
            self.shared.line.write(|old| next_line(&Line::from_words(old), last, seen).words());
        }
        self.shared.drawing.store(false, Ordering::Release);
        seen.real
    }
}

/// Reads both clocks: the closest of three brackets.
fn sight(clock: Monotonic) -> Sighting {
    let mut best = Sighting { tick: 0, real: Moment::default(), width: u64::MAX };
    for _ in 0..3 {
        let before = tsc::read();
        let real = clock.now();
        let width = tsc::read().wrapping_sub(before);
        if width <= best.width {
            best = Sighting { tick: before.wrapping_add(width / 2), real, width };
        }
    }
    best
}

/// The line that starts where the old one is, or at the true time if that is later, and meets the true line one [`SPAN`]
/// ahead. No line (slope 0) if the two sightings do not give a credible slope.
fn next_line(old: &Line, last: Sighting, seen: Sighting) -> Line {
    let none = Line { tick: seen.tick, nanos: seen.real.as_nanos(), slope: 0, ticks: 0 };
    let ran = seen.tick.wrapping_sub(last.tick);
    let Some(true_slope) = slope(seen.real.since(last.real).as_nanos(), ran) else { return none };
    if old.slope != 0 && old.slope.abs_diff(true_slope) > old.slope / SLOPE_CHANGE_MAX {
        return none;
    }
    if seen.width > ticks_in(WIDTH_MAX, true_slope).unwrap_or(0) {
        return none;
    }
    let Some(ticks) = ticks_in(SPAN, true_slope) else { return none };
    let on_old = if old.slope == 0 { seen.real } else { old.at(seen.tick.wrapping_sub(old.tick)) };
    let start = on_old.max(seen.real);
    let target = seen.real + SPAN;
    match slope(target.since(start).as_nanos(), ticks) {
        Some(slope) if slope.abs_diff(true_slope) <= true_slope / SLOPE_CHANGE_MAX => {
            Line { tick: seen.tick, nanos: start.as_nanos(), slope, ticks }
        }
        _ => none,
    }
}

/// `nanos / ticks` times 2^32; `None` if it does not fit or is 0.
fn slope(nanos: u64, ticks: u64) -> Option<u64> {
    let slope = (u128::from(nanos) << 32).checked_div(u128::from(ticks))?;
    u64::try_from(slope).ok().filter(|slope| *slope > 0)
}

/// How many ticks a span lasts.
fn ticks_in(span: Span, slope: u64) -> Option<u64> {
    u64::try_from((u128::from(span.as_nanos()) << 32).checked_div(u128::from(slope))?).ok()
}

impl Line {
    fn from_words([tick, nanos, slope, ticks]: [u64; 4]) -> Line {
        Line { tick, nanos, slope, ticks }
    }

    fn words(&self) -> [u64; 4] {
        [self.tick, self.nanos, self.slope, self.ticks]
    }

    /// The moment `distance` ticks past the anchor, of the few that the line is good for: then the product is at most
    /// [`SPAN`] · 2^32 and fits in a word.
    #[inline]
    fn near(&self, distance: u64) -> Moment {
        Moment::from_nanos(self.nanos.wrapping_add(distance.wrapping_mul(self.slope) >> 32))
    }

    /// The moment `distance` ticks past the anchor, however far.
    fn at(&self, distance: u64) -> Moment {
        let nanos = (u128::from(distance) * u128::from(self.slope)) >> 32;
        Moment::from_nanos(self.nanos) + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sighting(tick: u64, nanos: u64) -> Sighting {
        Sighting { tick, real: Moment::from_nanos(nanos), width: 50 }
    }

    const NO_LINE: Line = Line { tick: 0, nanos: 0, slope: 0, ticks: 0 };

    /// Two ticks a nanosecond, as on a 2 GHz counter.
    fn first_line() -> Line {
        next_line(&NO_LINE, sighting(0, 1_000), sighting(20_000_000, 10_001_000))
    }

    #[test]
    fn a_line_follows_the_true_clock() {
        let line = first_line();
        assert_eq!(line.at(0), Moment::from_nanos(10_001_000));
        assert_eq!(line.at(20_000_000), Moment::from_nanos(20_001_000));
        for distance in [0, 1, 77_777_777, line.ticks - 1] {
            assert_eq!(line.near(distance), line.at(distance));
        }
        assert_eq!(line.ticks, 200_000_000);
    }

    #[test]
    fn a_line_that_ran_ahead_is_bent_back_without_ever_stepping_back() {
        let line = first_line();
        // The true clock is 20 µs behind the line when the next one is drawn.
        let seen = sighting(220_000_000, 110_001_000 - 20_000);
        let next = next_line(&line, sighting(20_000_000, 10_001_000), seen);
        assert_eq!(next.at(0), line.at(200_000_000), "starts where the old one is");
        let met = next.at(next.ticks).as_nanos();
        assert!(met.abs_diff(210_001_000 - 20_000) < 100, "meets the true line a span ahead: {met}");
    }

    #[test]
    fn an_interrupted_sighting_gives_no_line() {
        let seen = Sighting { width: 50_000, ..sighting(220_000_000, 110_001_000) };
        assert_eq!(next_line(&first_line(), sighting(20_000_000, 10_001_000), seen).ticks, 0);
    }

    #[test]
    fn a_suspended_or_moved_machine_gives_no_line() {
        // The counter ran on for an hour while the real clock stood still.
        let slept = sighting(20_000_000 + 7_200_000_000_000, 20_001_000);
        assert_eq!(next_line(&first_line(), sighting(20_000_000, 10_001_000), slept).ticks, 0);
        let ran_back = sighting(5, 120_001_000);
        assert_eq!(next_line(&first_line(), sighting(20_000_000, 10_001_000), ran_back).ticks, 0);
    }
}
