//! Waiting, and the machine's clock against [`Instant`], in wall time. Run alone and optimised, by the gate's step `proofs`.
//!
//! Every reading is bracketed by two of `Instant`, so a thread that is preempted in between proves less, never wrongly.
#![expect(clippy::disallowed_methods, reason = "these tests are about the wall clock")]
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "timing/waiting.rs"]
mod waiting;

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tollgate::{CLOCK_ERROR_MAX, Clock};

const THREADS: usize = 2;
const LENGTH: Duration = Duration::from_secs(3);
/// Longer than the clock reads on without looking at the real one.
const IDLE: Duration = Duration::from_millis(150);
/// Readings that say how the clock and `Instant` lie to each other: those of a clock that has just been made.
const CALIBRATION: usize = 2_000;

/// The clock, and how it lies to `Instant`.
struct Compared {
    clock: Clock,
    start: Instant,
    /// What the clock shows at `start`, in nanoseconds: between these two.
    offset: (i128, i128),
}

/// One reading and the `Instant`s around it, in nanoseconds since `start`.
#[derive(Debug, Clone, Copy)]
struct Reading {
    before: i128,
    shown: i128,
    after: i128,
}

/// What many readings showed.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    readings: u64,
    /// Furthest outside its bracket, in nanoseconds.
    worst_error: i128,
    /// Largest step back within a thread, in nanoseconds.
    worst_step_back: i128,
}

impl Compared {
    fn new() -> Compared {
        let (start, clock) = (Instant::now(), Clock::system());
        let mut compared = Compared { clock, start, offset: (i128::MIN, i128::MAX) };
        for _ in 0..CALIBRATION {
            let Reading { before, shown, after } = compared.read();
            let (least, most) = compared.offset;
            compared.offset = (least.max(shown - after), most.min(shown - before));
        }
        let (least, most) = compared.offset;
        assert!(
            least <= most + nanos_max(),
            "the clock drifts by more than its error at once: {least} {most}"
        );
        compared
    }

    fn read(&self) -> Reading {
        let nanos = |instant: Instant| i128::from(nanos(instant.duration_since(self.start)));
        let before = Instant::now();
        let shown = self.clock.now();
        let after = Instant::now();
        Reading { before: nanos(before), shown: i128::from(shown.as_nanos()), after: nanos(after) }
    }

    /// How far a reading lies outside what `Instant` allows; 0 if within.
    fn error(&self, reading: Reading) -> i128 {
        let (least, most) = (self.offset.0.min(self.offset.1), self.offset.0.max(self.offset.1));
        let early = reading.before + least - reading.shown;
        let late = reading.shown - (reading.after + most);
        early.max(late).max(0)
    }

    /// Reads for a while, with `pause` between two readings.
    fn watch(&self, length: Duration, pause: impl Fn()) -> Seen {
        let (mut seen, mut last, begun) = (Seen::default(), i128::MIN, Instant::now());
        while begun.elapsed() < length {
            let reading = self.read();
            seen.readings += 1;
            seen.worst_error = seen.worst_error.max(self.error(reading));
            seen.worst_step_back = seen.worst_step_back.max(last.saturating_sub(reading.shown));
            last = reading.shown;
            pause();
        }
        seen
    }
}

impl Seen {
    #[track_caller]
    fn assert_within_bounds(&self) {
        println!("{self:?} (nanoseconds; {} allowed)", nanos_max());
        assert!(self.worst_error <= nanos_max(), "{self:?}");
        assert!(self.worst_step_back <= nanos_max(), "{self:?}");
    }

    fn and(self, other: Seen) -> Seen {
        Seen {
            readings: self.readings + other.readings,
            worst_error: self.worst_error.max(other.worst_error),
            worst_step_back: self.worst_step_back.max(other.worst_step_back),
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn nanos_max() -> i128 {
    i128::from(CLOCK_ERROR_MAX.as_nanos())
}

#[test]
fn every_reading_of_every_thread_is_within_the_clock_error() {
    let (compared, seen) = (Compared::new(), Mutex::new(Seen::default()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let of_thread = compared.watch(LENGTH, || {});
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                *seen = seen.and(of_thread);
            });
        }
    });
    let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    seen.assert_within_bounds();
    assert!(seen.readings > 1_000_000, "{seen:?}");
}

#[test]
fn the_first_reading_after_a_pause_is_right() {
    let compared = Compared::new();
    // Until there is a line to read on from, and a pause that is longer than it reaches.
    compared.watch(IDLE, || {}).assert_within_bounds();
    compared.watch(8 * IDLE, || thread::sleep(IDLE)).assert_within_bounds();
}

#[test]
fn a_clock_read_now_and_then_is_right() {
    let compared = Compared::new();
    compared.watch(Duration::from_secs(1), || thread::sleep(Duration::from_millis(7))).assert_within_bounds();
}

#[test]
fn clones_show_the_same_time() {
    let compared = Compared::new();
    let clone = Compared { clock: compared.clock.clone(), ..compared };
    clone.watch(IDLE, || {}).assert_within_bounds();
}
