//! What happened in the table, counted without making threads wait for one another.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// One lane for each of so many threads; further threads share.
const LANES: usize = 16;

/// Things worth counting. All are off the path of a check that finds its bucket.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// A bucket took a slot that nobody had.
    TookFree,
    /// A bucket took the slot of a full one.
    TookFull,
    /// A bucket took the slot of one that was not full, and inherits its mark.
    Evicted,
    /// A new client was denied for want of room.
    DeniedNew,
    /// A new client was charged to the shared overflow bucket.
    Overflowed,
    /// A bucket was carried over to another limit.
    Relabelled,
    /// An idempotency key was not remembered for want of room.
    RetryUnguarded,
}

const EVENTS: usize = 7;

/// Counters striped over cache lines.
#[derive(Debug, Default)]
pub(crate) struct Counters([Lane; LANES]);

#[derive(Debug, Default)]
#[repr(align(128))]
struct Lane([AtomicU64; EVENTS]);

impl Counters {
    pub(crate) fn count(&self, event: Event) {
        self.add(event, 1);
    }

    pub(crate) fn add(&self, event: Event, times: u64) {
        self.0[lane()].0[event as usize].fetch_add(times, Ordering::Relaxed);
    }

    pub(crate) fn sum(&self, event: Event) -> u64 {
        self.0.iter().map(|lane| lane.0[event as usize].load(Ordering::Relaxed)).sum()
    }
}

/// This thread's lane.
fn lane() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static MINE: Cell<Option<usize>> = const { Cell::new(None) });
    MINE.with(|mine| {
        mine.get().unwrap_or_else(|| {
            let lane = NEXT.fetch_add(1, Ordering::Relaxed) % LANES;
            mine.set(Some(lane));
            lane
        })
    })
}
