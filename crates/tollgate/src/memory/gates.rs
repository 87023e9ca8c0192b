//! One byte for each window: which thread may insert, and what the window has been through.
//!
//! A thread that adds a bucket holds the gates of both its windows, taken in ascending order. A gate is never waited for
//! while a slot is held, so the two kinds of lock cannot wait for each other in a circle.

use crate::memory::LimitId;
use crate::memory::room::Room;
use crate::sync::{AtomicU8, Ordering, Patience, released};
use std::io;

/// Some thread is adding to this window.
const CLOSED: u8 = 1;
/// Some thread has held this gate. All slots of other windows are free.
const USED: u8 = 8;
/// Mark of older snapshots: buckets of any rule were evicted.
const EVICTED_ANY: u8 = 2;
/// The marks of all [`WindowMark::EVICTED`].
const EVICTED_ALL: u8 = 0xf0;
/// Bits of a gate that outlive its holder.
const MARKS: u8 = EVICTED_ALL | WindowMark::TURNED_AWAY.0;

/// Mark of a window: clients were evicted from it, or turned away from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WindowMark(u8);

impl WindowMark {
    /// A client was turned away from the window to the overflow bucket of its limit. Stays: it binds newcomers only while that
    /// bucket is not full.
    pub(crate) const TURNED_AWAY: WindowMark = WindowMark(4);
    /// A bucket that was not full was evicted from the window, and its limit has not been seen full there since: one mark for every
    /// fourth rule, so that newcomers of most other rules are not bound.
    pub(crate) const EVICTED: [WindowMark; 4] =
        [WindowMark(16), WindowMark(32), WindowMark(64), WindowMark(128)];

    /// The one of [`WindowMark::EVICTED`] for buckets of a rule, given by the limit of its own tier.
    pub(crate) fn evicted(rule: LimitId) -> WindowMark {
        WindowMark::EVICTED[usize::from(rule.get()) % WindowMark::EVICTED.len()]
    }
}

/// Bytes of one window's gate.
pub(crate) const GATE_BYTES: usize = size_of::<AtomicU8>();

/// The gates of all windows.
#[derive(Debug)]
pub(crate) struct Gates(Room<AtomicU8>);

/// The gates of one bucket's two windows, held until dropped.
pub(crate) struct Held<'g> {
    gates: &'g Gates,
    windows: [u32; 2],
    marks: [u8; 2],
}

impl Gates {
    /// Gates of so many windows, or an error if there is no memory for them. Untouched gates take up none.
    pub(crate) fn try_for(windows: usize) -> io::Result<Gates> {
        Room::try_for(windows).map(Gates)
    }

    /// Takes the gates of two windows, which may be one and the same.
    pub(crate) fn hold(&self, windows: [u32; 2]) -> Held<'_> {
        let [one, other] = windows;
        let (first, second) = (one.min(other), one.max(other));
        let first_marks = self.close(first);
        let second_marks = if first == second { first_marks } else { self.close(second) };
        let marks = if one == first { [first_marks, second_marks] } else { [second_marks, first_marks] };
        Held { gates: self, windows, marks }
    }

    /// The windows that bear marks, with all their marks.
    #[expect(clippy::cast_possible_truncation, reason = "windows are numbered in 32 bits")]
    pub(crate) fn marked(&self) -> impl Iterator<Item = (u32, u8)> {
        let marks = |gate: &AtomicU8| gate.load(Ordering::Relaxed) & MARKS;
        self.0
            .iter()
            .enumerate()
            .map(move |(window, gate)| (window as u32, marks(gate)))
            .filter(|(_, marks)| *marks != 0)
    }

    /// Restores the marks of windows before any check uses them; `None` if there is no such window.
    pub(crate) fn restore(&self, windows: &[(u32, u8)]) -> Option<()> {
        for (window, marks) in windows {
            let evicted = if marks & EVICTED_ANY == 0 { 0 } else { EVICTED_ALL };
            self.0.get(*window as usize)?.store((marks | evicted) & MARKS | USED, Ordering::Relaxed);
        }
        Some(())
    }

    /// Notes that a window was given buckets by other means than a check.
    pub(crate) fn note_used(&self, window: usize) {
        self.0[window].fetch_or(USED, Ordering::Relaxed);
    }

    /// The windows that may hold buckets. To look at others would only touch their memory.
    #[expect(clippy::cast_possible_truncation, reason = "windows are numbered in 32 bits")]
    pub(crate) fn used(&self) -> impl Iterator<Item = u32> {
        let is_used = |gate: &AtomicU8| gate.load(Ordering::Relaxed) & (USED | CLOSED) != 0;
        self.0.iter().enumerate().filter(move |(_, gate)| is_used(gate)).map(|(window, _)| window as u32)
    }

    /// Closes one gate and returns the marks of its window.
    fn close(&self, window: u32) -> u8 {
        let (gate, patience) = (&self.0[window as usize], Patience::default());
        if super::slot::mutant::is("no gate") {
            return gate.load(Ordering::Acquire) & MARKS;
        }
        loop {
            let seen = gate.load(Ordering::Relaxed);
            let is_open = seen & CLOSED == 0;
            if is_open
                && gate.compare_exchange(seen, seen | CLOSED, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return seen & MARKS;
            }
            patience.wait();
        }
    }
}

impl Held<'_> {
    /// Whether the bucket's first (0) or second (1) window bears a mark.
    pub(crate) fn has(&self, which: usize, mark: WindowMark) -> bool {
        self.marks[which] & mark.0 != 0
    }

    /// Sets a mark of a window.
    pub(crate) fn set(&mut self, which: usize, mark: WindowMark) {
        self.replace(which, self.marks[which] | mark.0);
    }

    /// Removes a mark of a window.
    pub(crate) fn clear(&mut self, which: usize, mark: WindowMark) {
        self.replace(which, self.marks[which] & !mark.0);
    }

    fn replace(&mut self, which: usize, marks: u8) {
        self.marks[which] = marks;
        if self.windows[0] == self.windows[1] {
            self.marks = [marks; 2];
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Where both windows are one, it must be opened once: by the second time another thread may hold it.
        let gates = if self.windows[0] == self.windows[1] { 1 } else { 2 };
        for (window, marks) in self.windows.into_iter().zip(self.marks).take(gates) {
            self.gates.0[window as usize].store(marks | USED, Ordering::Release);
        }
        released();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn mark_of_an_older_snapshot_counts_for_every_rule() {
        let gates = Gates::try_for(3).unwrap();
        let flooded = LimitId::new(7).unwrap();
        gates.restore(&[(0, EVICTED_ANY), (1, WindowMark::evicted(flooded).0)]).unwrap();
        let held = gates.hold([0, 1]);
        let bound = |which| WindowMark::EVICTED.map(|mark| held.has(which, mark));
        assert_eq!((bound(0), bound(1)), ([true; 4], [false, false, false, true]));
        assert!((0..2).all(|which| !held.has(which, WindowMark::TURNED_AWAY)));
    }
}
