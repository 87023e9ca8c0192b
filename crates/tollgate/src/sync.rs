//! The atomics and locks of the memory store: the machine's, or loom's when the proofs run.

#[cfg(loom)]
pub(crate) use self::under_loom::{Patience, released};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};
#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Spins before giving the processor away: the other thread may have been preempted in the middle.
#[cfg(not(loom))]
const SPINS_MAX: u32 = 64;

/// Waits for another thread to finish a few stores.
#[cfg(not(loom))]
#[derive(Default)]
pub(crate) struct Patience(std::cell::Cell<u32>);

#[cfg(not(loom))]
impl Patience {
    /// One more wait.
    pub(crate) fn wait(&self) {
        let spins = self.0.get() + 1;
        self.0.set(spins);
        if spins.is_multiple_of(SPINS_MAX) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Says that a slot or gate was let go. Threads that wait look for themselves; only loom's must be told.
#[cfg(not(loom))]
#[inline]
pub(crate) const fn released() {}

/// Waiting that loom can explore: two threads that spin on a third would spin for ever there, so they park.
#[cfg(loom)]
pub(crate) mod under_loom {
    use std::cell::{Cell, RefCell};

    use loom::thread::{Thread, current, park, yield_now};

    /// Looks again so often before parking; each rules out one stale value that loom may still show.
    const LOOKS_MAX: u32 = 3;

    thread_local! {
        static WAITING: RefCell<Vec<Thread>> = const { RefCell::new(Vec::new()) };
        static RELEASES: Cell<u64> = const { Cell::new(0) };
    }

    #[derive(Default)]
    pub(crate) struct Patience {
        looks: Cell<u32>,
        releases: Cell<u64>,
    }

    impl Patience {
        pub(crate) fn wait(&self) {
            let looks = self.looks.get();
            if looks == 0 {
                self.releases.set(RELEASES.get());
            }
            if looks < LOOKS_MAX {
                self.looks.set(looks + 1);
                yield_now();
                return;
            }
            self.looks.set(0);
            if self.releases.get() == RELEASES.get() {
                WAITING.with_borrow_mut(|waiting| waiting.push(current()));
                park();
            }
        }
    }

    pub(crate) fn released() {
        RELEASES.set(RELEASES.get() + 1);
        let waiting = WAITING.with_borrow_mut(std::mem::take);
        waiting.iter().for_each(Thread::unpark);
    }

    /// Forgets the threads of an earlier exploration.
    pub(crate) fn begin() {
        WAITING.with_borrow_mut(Vec::clear);
    }
}
