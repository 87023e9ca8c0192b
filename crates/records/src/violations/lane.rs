//! Lanes: what threads count often they count apart, so that no cache line goes to and fro between processors.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One lane for each of so many threads; further threads share.
pub(super) const LANES: usize = 8;

/// This thread's lane.
#[inline]
pub(super) fn lane() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static MINE: Cell<usize> = const { Cell::new(LANES) });
    MINE.with(|mine| {
        if mine.get() == LANES {
            mine.set(NEXT.fetch_add(1, Ordering::Relaxed) % LANES);
        }
        mine.get()
    })
}
