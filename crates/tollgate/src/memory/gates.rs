//! Who may add buckets to a window: one byte for each, held for a few dozen instructions.
//!
//! A thread that adds a bucket holds the gates of both its windows, taken in ascending order. A gate is never waited for
//! while a slot is held, so the two kinds of lock cannot wait for each other in a circle.

use crate::sync::{AtomicU8, Ordering, Patience, released};

/// Some thread is adding to this window.
const CLOSED: u8 = 1;
/// A bucket that was not full has been evicted from this window and none of its kind has been seen full since, or a newcomer
/// has been turned away from it to the shared bucket.
const CROWDED: u8 = 2;

/// The gates of all windows.
#[derive(Debug)]
pub(crate) struct Gates(Box<[AtomicU8]>);

/// The gates of one bucket's two windows, held until dropped.
pub(crate) struct Held<'g> {
    gates: &'g Gates,
    windows: [u32; 2],
    crowded: [bool; 2],
}

impl Gates {
    pub(crate) fn new(windows: usize) -> Gates {
        Gates((0..windows).map(|_| AtomicU8::new(0)).collect())
    }

    /// Takes the gates of two windows, which may be one and the same.
    pub(crate) fn hold(&self, windows: [u32; 2]) -> Held<'_> {
        let [one, other] = windows;
        let (first, second) = (one.min(other), one.max(other));
        let first_crowded = self.close(first);
        let second_crowded = if first == second { first_crowded } else { self.close(second) };
        let crowded =
            if one == first { [first_crowded, second_crowded] } else { [second_crowded, first_crowded] };
        Held { gates: self, windows, crowded }
    }

    /// The crowded windows.
    #[expect(clippy::cast_possible_truncation, reason = "windows are numbered in 32 bits")]
    pub(crate) fn crowded(&self) -> impl Iterator<Item = u32> {
        let is_crowded = |gate: &AtomicU8| gate.load(Ordering::Relaxed) & CROWDED != 0;
        self.0.iter().enumerate().filter(move |(_, gate)| is_crowded(gate)).map(|(window, _)| window as u32)
    }

    /// Marks windows as crowded, before anyone uses them; `None` if there is no such window.
    pub(crate) fn set_crowded(&self, windows: &[u32]) -> Option<()> {
        for window in windows {
            self.0.get(*window as usize)?.store(CROWDED, Ordering::Relaxed);
        }
        Some(())
    }

    /// Closes one gate; whether its window is crowded.
    fn close(&self, window: u32) -> bool {
        let (gate, patience) = (&self.0[window as usize], Patience::default());
        if super::slot::mutant::is("no gate") {
            return gate.load(Ordering::Acquire) & CROWDED != 0;
        }
        loop {
            let seen = gate.load(Ordering::Relaxed);
            let is_open = seen & CLOSED == 0;
            if is_open
                && gate.compare_exchange(seen, seen | CLOSED, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return seen & CROWDED != 0;
            }
            patience.wait();
        }
    }
}

impl Held<'_> {
    /// Whether the bucket's first (0) or second (1) window is crowded.
    pub(crate) fn is_crowded(&self, which: usize) -> bool {
        self.crowded[which]
    }

    /// Says so, or that it is no more.
    pub(crate) fn set_crowded(&mut self, which: usize, crowded: bool) {
        self.crowded[which] = crowded;
        if self.windows[0] == self.windows[1] {
            self.crowded = [crowded; 2];
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Where both windows are one, it must be opened once: by the second time it may be somebody else's.
        let gates = if self.windows[0] == self.windows[1] { 1 } else { 2 };
        for (window, crowded) in self.windows.into_iter().zip(self.crowded).take(gates) {
            self.gates.0[window as usize].store(if crowded { CROWDED } else { 0 }, Ordering::Release);
        }
        released();
    }
}
