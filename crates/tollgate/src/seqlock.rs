//! A few words that are read together: many readers, who never write, and one writer at a time.

use crate::sync::{AtomicU64, Ordering, fence};

/// `N` words under a sequence lock.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SeqLock<const N: usize> {
    /// Odd while the words are being written.
    sequence: AtomicU64,
    words: [AtomicU64; N],
}

impl<const N: usize> SeqLock<N> {
    pub(crate) fn new(words: [u64; N]) -> Self {
        Self { sequence: AtomicU64::new(0), words: words.map(AtomicU64::new) }
    }

    /// The first `M` words, if no writer was at work meanwhile.
    #[inline]
    pub(crate) fn try_read<const M: usize>(&self) -> Option<[u64; M]> {
        const { assert!(M <= N) };
        let before = self.sequence.load(Ordering::Acquire);
        let words = std::array::from_fn(|i| self.words[i].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        (before & 1 == 0 && before == self.sequence.load(Ordering::Relaxed)).then_some(words)
    }

    /// Replaces the words by what `next` makes of them, which runs when no reader can read the old ones any more. Calls
    /// must not overlap (the caller holds a lock), and `next` must not panic: readers would wait for ever.
    pub(crate) fn write(&self, next: impl FnOnce([u64; N]) -> [u64; N]) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence.store(sequence + 1, Ordering::Relaxed);
        // The odd number before anything `next` does, the clock it reads included.
        fence(Ordering::SeqCst);
        let words = next(std::array::from_fn(|i| self.words[i].load(Ordering::Relaxed)));
        for (cell, word) in self.words.iter().zip(words) {
            cell.store(word, Ordering::Relaxed);
        }
        self.sequence.store(sequence + 2, Ordering::Release);
    }
}
