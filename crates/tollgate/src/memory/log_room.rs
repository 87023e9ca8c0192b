//! The number of entries that the sliding logs of one rule may have, and the pause between two searches for room.

use tollgate_core::{Moment, Span};

use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// Longest pause after a search that found no room for a new client. A search takes about a hundred times as long as another denial.
const SEARCH_PAUSE_MAX: Span = Span::from_millis(10);

/// Counts the entries of one rule's logs, and bounds them.
#[derive(Debug)]
pub(crate) struct LogRoom {
    entries: AtomicUsize,
    entries_max: AtomicUsize,
    /// New clients are denied without a search until then, in nanoseconds; 0 if no search failed.
    paused_until: AtomicU64,
}

impl LogRoom {
    /// No entries yet, and so many at most.
    pub(crate) fn new(entries_max: usize) -> LogRoom {
        let (entries, entries_max) = (AtomicUsize::new(0), AtomicUsize::new(entries_max));
        LogRoom { entries, entries_max, paused_until: AtomicU64::new(0) }
    }

    /// Entries that are remembered now.
    pub(crate) fn entries(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    /// The counter of the entries, for those who add and remove them.
    pub(super) fn counted(&self) -> &AtomicUsize {
        &self.entries
    }

    /// How many there may be.
    pub(crate) fn entries_max(&self) -> usize {
        self.entries_max.load(Ordering::Relaxed)
    }

    /// Changes how many there may be. Entries above a smaller number stay until they no longer count.
    pub(crate) fn set_entries_max(&self, entries_max: usize) {
        self.entries_max.store(entries_max, Ordering::Relaxed);
        self.paused_until.store(0, Ordering::Relaxed);
    }

    pub(super) fn has_room_for(&self, entries: usize) -> bool {
        self.entries().saturating_add(entries) <= self.entries_max()
    }

    /// Returns how long new clients are still denied without a search for room.
    pub(super) fn search_pause(&self, now: Moment) -> Span {
        let until = Moment::from_nanos(self.paused_until.load(Ordering::Relaxed));
        let left = until.since(now);
        // A longer one was noted before the clock was set back.
        if left <= SEARCH_PAUSE_MAX { left } else { Span::ZERO }
    }

    /// A search found no room, and there may be some after `wait`.
    pub(super) fn pause_search(&self, now: Moment, wait: Span) {
        let until = now + wait.min(SEARCH_PAUSE_MAX);
        self.paused_until.store(until.as_nanos(), Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn search_is_paused_for_10_ms_or_the_wait() {
        let room = LogRoom::new(1);
        let at = |millis| Moment::from_nanos(1_000_000_000) + Span::from_millis(millis);
        assert_eq!(room.search_pause(at(0)), Span::ZERO);
        room.pause_search(at(0), Span::from_secs(60));
        assert_eq!(
            [0, 4, 10, 11].map(|millis| room.search_pause(at(millis)).as_nanos() / 1_000_000),
            [10, 6, 0, 0]
        );
        room.pause_search(at(20), Span::from_millis(3));
        assert_eq!([20, 23].map(|millis| room.search_pause(at(millis)).as_nanos() / 1_000_000), [3, 0]);
        room.pause_search(at(5_000), Span::from_secs(60));
        assert_eq!(room.search_pause(at(0)), Span::ZERO, "the clock was set back");
        room.pause_search(at(0), Span::from_secs(60));
        room.set_entries_max(2);
        assert_eq!(room.search_pause(at(0)), Span::ZERO, "there may be room now");
    }
}
