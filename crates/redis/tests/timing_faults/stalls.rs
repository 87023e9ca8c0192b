//! Times at which the machine itself stood still, as a virtual machine does whose host is busy.
//!
//! One thread for each processor does nothing but sleep for a millisecond. The machine stood still
//!
//! - while all of these threads were late: one busy processor leaves the others to the product;
//! - while one was late because the host ran something else on its processor, which the kernel counts as stolen time: a thread of the product
//!   that was on it could not go elsewhere.
//!
//! Work of the test is not stolen, and makes a thread late by a few milliseconds at the most, since one that slept goes before those that
//! ran ([`tests`]). A machine that stood still for long is no place to measure: the trial fails and says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tollgate_core::{Moment, Span};

use crate::monotonic;

/// How long a watching thread sleeps.
const SLEEP: Duration = Duration::from_millis(1);
/// A thread that wakes later than this after its time was held up.
const LATE: Span = Span::from_millis(10);
/// A watching thread looks at stolen time once in so many turns.
const LOOK_TURNS: u32 = 10;
/// The unit of `/proc/stat`.
const TICK: Span = Span::from_millis(10);
/// The machine may stand still for one part in so many of a run.
const STOOD_STILL_PART: u64 = 10;

/// Threads that watch the processors.
pub(crate) struct StallWatch {
    stop: Arc<AtomicBool>,
    begun: Moment,
    watching: Vec<JoinHandle<Watched>>,
}

/// A thread, or the whole machine, stood still from `from` until `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stall {
    from: Moment,
    until: Moment,
}

/// When the thread of one processor was late.
#[derive(Debug, Default)]
struct Watched {
    late: Vec<Stall>,
    /// Those of them in which at least half of the time was stolen.
    stolen: Vec<Stall>,
}

/// Times at which the machine stood still, in order and without overlap.
#[derive(Debug)]
pub(crate) struct Stalls {
    stalls: Vec<Stall>,
    watched: Span,
}

impl StallWatch {
    /// Watches every processor that this process may use.
    pub(crate) fn begin() -> StallWatch {
        let stop = Arc::new(AtomicBool::new(false));
        let usable = sched_getaffinity(None).unwrap();
        let processors = (0..CpuSet::MAX_CPU).filter(|processor| usable.is_set(*processor));
        let watching = processors.map(|processor| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || watch(processor, &stop))
        });
        StallWatch { watching: watching.collect(), stop, begun: monotonic::now() }
    }

    /// Ends the watch.
    pub(crate) fn end(self) -> Stalls {
        self.stop.store(true, Ordering::Relaxed);
        let found: Vec<Watched> =
            self.watching.into_iter().map(|watching| watching.join().unwrap()).collect();
        let late: Vec<Vec<Stall>> = found.iter().map(|watched| watched.late.clone()).collect();
        let stolen = found.into_iter().flat_map(|watched| watched.stolen);
        let stalls = merged(common(&late).into_iter().chain(stolen).collect());
        Stalls { stalls, watched: monotonic::now().since(self.begun) }
    }
}

impl Stalls {
    /// The time from `from` to `until` in which the machine ran.
    pub(crate) fn running(&self, from: Moment, until: Moment) -> Span {
        let stood =
            self.stalls.iter().map(|stall| stall.until.min(until).since(stall.from.max(from)).as_nanos());
        Span::from_nanos(until.since(from).as_nanos().saturating_sub(stood.sum()))
    }

    /// The time in which it did not.
    pub(crate) fn total(&self) -> Span {
        Span::from_nanos(self.stalls.iter().map(|stall| stall.until.since(stall.from).as_nanos()).sum())
    }

    /// Fails the test if the machine stood still for so long that times say nothing about the product.
    #[track_caller]
    pub(crate) fn assert_few(&self, name: &str) {
        let (total, watched) = (self.total(), self.watched);
        assert!(
            total.as_nanos() < watched.as_nanos() / STOOD_STILL_PART,
            "{name}: the cause is the machine: all its processors stood still for {total} of {watched}; run the test on one that is idle"
        );
    }
}

/// Returns the stalls in order and without overlap.
fn merged(mut all: Vec<Stall>) -> Vec<Stall> {
    all.sort_unstable_by_key(|stall| stall.from);
    let mut merged: Vec<Stall> = Vec::new();
    for stall in all {
        match merged.last_mut() {
            Some(last) if stall.from <= last.until => last.until = last.until.max(stall.until),
            _ => merged.push(stall),
        }
    }
    merged
}

/// The times at which every thread stood still; those of each are in order and without overlap.
fn common(threads: &[Vec<Stall>]) -> Vec<Stall> {
    let Some((first, others)) = threads.split_first() else { return Vec::new() };
    others.iter().fold(first.clone(), |all, other| {
        let both = all.iter().flat_map(|one| {
            let overlap = move |two: &Stall| {
                let (from, until) = (one.from.max(two.from), one.until.min(two.until));
                (from < until).then_some(Stall { from, until })
            };
            other.iter().filter_map(overlap)
        });
        both.collect()
    })
}

#[expect(clippy::disallowed_methods, reason = "a thread that sleeps measures the machine")]
fn watch(processor: usize, stop: &AtomicBool) -> Watched {
    let mut only = CpuSet::new();
    only.set(processor);
    sched_setaffinity(None, &only).unwrap();
    let (mut watched, mut turns, mut before) = (Watched::default(), 0, stolen(processor));
    while !stop.load(Ordering::Relaxed) {
        let from = monotonic::now() + Span::from_millis(1);
        std::thread::sleep(SLEEP);
        let until = monotonic::now();
        let (stall, took) = (Stall { from, until }, until.since(from));
        turns += 1;
        if took > LATE || turns % LOOK_TURNS == 0 {
            let now = stolen(processor);
            let by_host = now.as_nanos().saturating_sub(before.as_nanos());
            watched.stolen.extend((took > LATE && 2 * by_host >= took.as_nanos()).then_some(stall));
            before = now;
        }
        watched.late.extend((took > LATE).then_some(stall));
    }
    watched
}

/// The time that the host has taken from a processor since the start; zero where the kernel does not say.
fn stolen(processor: usize) -> Span {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("cpu{processor} ")));
    let ticks = line.and_then(|line| line.split_whitespace().nth(7)?.parse::<u64>().ok());
    Span::from_nanos(TICK.as_nanos() * ticks.unwrap_or(0))
}

mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    fn stalls(times: &[(u64, u64)]) -> Vec<Stall> {
        times.iter().map(|(from, until)| Stall { from: at(*from), until: at(*until) }).collect()
    }

    #[test]
    fn the_machine_stands_still_while_all_processors_do() {
        let one = stalls(&[(0, 20), (50, 150), (200, 220)]);
        let other = stalls(&[(30, 60), (100, 170)]);
        assert_eq!(common(&[one.clone(), other.clone()]), stalls(&[(50, 60), (100, 150)]));
        let stolen = stalls(&[(55, 60), (300, 320)]);
        let both = merged([common(&[one.clone(), other.clone()]), stolen].concat());
        assert_eq!(both, stalls(&[(50, 60), (100, 150), (300, 320)]));
        let all = Stalls { stalls: common(&[one, other]), watched: Span::from_secs(1) };
        assert_eq!(
            (all.running(at(40), at(140)), all.total()),
            (Span::from_millis(50), Span::from_millis(60))
        );
        all.assert_few("a tenth");
    }

    #[test]
    #[should_panic(expected = "the cause is the machine")]
    fn a_machine_that_stood_still_for_long_is_the_cause() {
        Stalls { stalls: stalls(&[(0, 100)]), watched: Span::from_secs(1) }.assert_few("a tenth");
    }

    /// Two threads for each processor that spin for three seconds: what a product burns must not count as time in which it could not run.
    #[test]
    fn spinning_threads_do_not_count_as_a_stall() {
        let watch = StallWatch::begin();
        let until = monotonic::now() + Span::from_secs(3);
        let spin = move || {
            while monotonic::now() < until {
                std::hint::spin_loop();
            }
        };
        let spinning: Vec<JoinHandle<()>> =
            (0..2 * watch.watching.len()).map(|_| std::thread::spawn(spin)).collect();
        for thread in spinning {
            thread.join().unwrap();
        }
        watch.end().assert_few("spinning threads");
    }
}
