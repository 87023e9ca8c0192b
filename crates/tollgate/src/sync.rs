//! The atomics of the memory store: the machine's, or loom's when the proofs run.

use core::cell::Cell;

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};

/// Waits a little for another thread to finish a few stores, longer each time.
#[derive(Default)]
pub(crate) struct Patience(Cell<u32>);

/// Spins before giving the processor away: the other thread may have been preempted in the middle.
const SPINS_MAX: u32 = 64;

impl Patience {
    /// One more wait.
    pub(crate) fn wait(&self) {
        let spins = self.0.get() + 1;
        self.0.set(spins);
        #[cfg(loom)]
        loom::thread::yield_now();
        #[cfg(not(loom))]
        if spins.is_multiple_of(SPINS_MAX) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}
