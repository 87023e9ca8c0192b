//! Lanes: what threads count often they count apart, so that no cache line goes to and fro between processors.
//!
//! It promises that no two threads have the same lane of their own at the same time, and that whoever gets one sees all that its last owner wrote.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A lane of its own for each of so many threads but one; further threads share the last.
pub(super) const LANES: usize = 8;

const SHARED: usize = LANES - 1;
/// What a thread has that was not given a lane yet.
const NONE: usize = usize::MAX;

/// Which lanes have an owner: a bit for each.
static OWNED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static MINE: Cell<usize> = const { Cell::new(NONE) };
    static OWNER: Owner = const { Owner };
}

/// The lane of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lane(usize);

/// Gives the lane back when its thread ends.
struct Owner;

impl Lane {
    /// This thread's.
    #[inline]
    pub(super) fn of_this_thread() -> Lane {
        match MINE.get() {
            NONE => claim(),
            lane => Lane(lane),
        }
    }

    /// Its place among all: less than [`LANES`].
    #[inline]
    pub(super) fn index(self) -> usize {
        self.0
    }

    /// Adds one to a count of this lane, which nobody ever takes from: whoever gathers remembers how far it was.
    #[inline]
    pub(super) fn count(self, count: &AtomicU64) {
        if self.0 == SHARED {
            count.fetch_add(1, Ordering::Release);
        } else {
            // Nobody else writes here, so nobody has to be kept out.
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Release);
        }
    }
}

/// Takes the first lane that nobody owns. A thread that is about to end, and can give none back, shares.
#[cold]
fn claim() -> Lane {
    let free = |owned: usize| (0..SHARED).find(|lane| owned & 1 << lane == 0);
    let lane = OWNER.try_with(|_| {
        let take = |owned: usize| free(owned).map(|lane| owned | 1 << lane);
        OWNED.fetch_update(Ordering::Acquire, Ordering::Relaxed, take).ok().and_then(free)
    });
    let lane = lane.ok().flatten().unwrap_or(SHARED);
    MINE.set(lane);
    Lane(lane)
}

impl Drop for Owner {
    fn drop(&mut self) {
        let lane = MINE.replace(SHARED);
        if lane < SHARED {
            OWNED.fetch_and(!(1 << lane), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::{AtomicU64, LANES, Lane, Ordering, SHARED};

    #[test]
    fn threads_have_lanes_of_their_own_and_give_them_back() {
        for _ in 0..50 {
            let together = Barrier::new(LANES + 2);
            let lanes: Vec<usize> = thread::scope(|scope| {
                let claim = || {
                    let lane = Lane::of_this_thread();
                    together.wait();
                    assert_eq!(lane, Lane::of_this_thread());
                    lane.index()
                };
                let threads: Vec<_> = (0..LANES + 2).map(|_| scope.spawn(claim)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            for lane in 0..SHARED {
                assert!(lanes.iter().filter(|mine| **mine == lane).count() <= 1, "{lanes:?}");
            }
            assert!(lanes.iter().filter(|lane| **lane == SHARED).count() >= 3, "{lanes:?}");
        }
    }

    #[test]
    fn whoever_gets_a_lane_goes_on_where_its_last_owner_ended() {
        let counts: [AtomicU64; LANES] = Default::default();
        for _ in 0..40 {
            thread::scope(|scope| {
                for _ in 0..LANES + 4 {
                    scope.spawn(|| {
                        let lane = Lane::of_this_thread();
                        (0..100).for_each(|_| lane.count(&counts[lane.index()]));
                    });
                }
            });
        }
        let all: u64 = counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
        assert_eq!(all, 40 * (LANES as u64 + 4) * 100);
    }
}
