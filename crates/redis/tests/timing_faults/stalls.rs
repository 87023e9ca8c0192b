//! Times at which the machine itself stood still, as a virtual machine does whose host is busy.
//!
//! One thread for each processor does nothing but sleep for a millisecond. If it wakes late, the processor did not run anything else that was
//! ready either. Work of the test does not make it late: a thread that slept goes before threads that ran.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tollgate_core::{Moment, Span};

use crate::monotonic;

/// How long a watching thread sleeps.
const SLEEP: Duration = Duration::from_millis(1);
/// A thread that wakes later than this after its time was held up by the machine.
const LATE: Span = Span::from_millis(10);

/// Threads that watch the processors.
pub(crate) struct StallWatch {
    stop: Arc<AtomicBool>,
    watching: Vec<JoinHandle<Vec<Stall>>>,
}

/// A processor stood still from `from` until `until`.
#[derive(Debug, Clone, Copy)]
struct Stall {
    from: Moment,
    until: Moment,
}

/// Times at which a processor stood still, in order and without overlap.
#[derive(Debug)]
pub(crate) struct Stalls(Vec<Stall>);

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
        StallWatch { watching: watching.collect(), stop }
    }

    /// Ends the watch.
    pub(crate) fn end(self) -> Stalls {
        self.stop.store(true, Ordering::Relaxed);
        let mut found: Vec<Stall> =
            self.watching.into_iter().flat_map(|watching| watching.join().unwrap()).collect();
        found.sort_unstable_by_key(|stall| stall.from);
        let mut stalls: Vec<Stall> = Vec::new();
        for stall in found {
            match stalls.last_mut() {
                Some(last) if stall.from <= last.until => last.until = last.until.max(stall.until),
                _ => stalls.push(stall),
            }
        }
        Stalls(stalls)
    }
}

impl Stalls {
    /// The time from `from` to `until` in which the machine ran.
    pub(crate) fn running(&self, from: Moment, until: Moment) -> Span {
        let stood = self.0.iter().map(|stall| stall.until.min(until).since(stall.from.max(from)).as_nanos());
        Span::from_nanos(until.since(from).as_nanos().saturating_sub(stood.sum()))
    }

    /// The time in which it did not.
    pub(crate) fn total(&self) -> Span {
        Span::from_nanos(self.0.iter().map(|stall| stall.until.since(stall.from).as_nanos()).sum())
    }
}

#[expect(clippy::disallowed_methods, reason = "a thread that sleeps measures the machine")]
fn watch(processor: usize, stop: &AtomicBool) -> Vec<Stall> {
    let mut only = CpuSet::new();
    only.set(processor);
    sched_setaffinity(None, &only).unwrap();
    let mut stalls = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let from = monotonic::now() + Span::from_millis(1);
        std::thread::sleep(SLEEP);
        let until = monotonic::now();
        if until.since(from) > LATE {
            stalls.push(Stall { from, until });
        }
    }
    stalls
}
