//! Which denials of a key are stored: the first few of each second. A table of fixed size, without locks.
//!
//! A slot is one word, so that all of it changes at once or not at all:
//!
//! ```text
//!   63      44 43      30 29    26 25                 0
//!   ┌─────────┬──────────┬────────┬────────────────────┐
//!   │ tag     │ second   │ stored │ skipped since then │
//!   └─────────┴──────────┴────────┴────────────────────┘
//! ```
//!
//! It promises never to store more than so many of a key and second, and never to say of a stored one that it stands for more than there were.
//! It does not count: whoever asks counts what it is told.

use std::sync::atomic::{AtomicU64, Ordering};

/// Most that can be stored of a key and second.
const STORED_PER_SECOND_MAX: u32 = 15;
/// Keys that can be told apart within a second; further ones are not stored.
pub const KEYS_SAMPLED_MAX: usize = SETS * WAYS;
/// Most denials that one stored row stands for; beyond it only the totals tell.
pub const SAMPLED_FOR_MAX: u64 = SKIPPED_MAX + 1;

/// A set is a cache line.
const WAYS: usize = 8;
const SETS: usize = 2_048;
/// A slot that changes under our hands so often belongs to a key that many threads deny: this one more is in the totals alone.
const ATTEMPTS_MAX: usize = 4;
/// Clocks of threads differ by less; a slot that is further ahead is of a clock that was set back.
const AHEAD_SECONDS_MAX: u64 = 2;

const SKIPPED_BITS: u32 = 26;
const STORED_BITS: u32 = 4;
const SECOND_BITS: u32 = 14;
const SKIPPED_MAX: u64 = (1 << SKIPPED_BITS) - 1;
const SECONDS: u64 = 1 << SECOND_BITS;
const TAG_SHIFT: u32 = SKIPPED_BITS + STORED_BITS + SECOND_BITS;

/// What becomes of a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    /// It is stored, and stands for so many: itself, and those of its key that were not stored since the last that was.
    Stored { sampled_for: u64 },
    /// It is only counted.
    Out,
}

/// The table.
#[derive(Debug)]
pub(crate) struct Sampler {
    sets: Box<[Set]>,
    stored_per_second: u64,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Set([AtomicU64; WAYS]);

/// A slot's word, taken apart. A tag is never 0, so a word of 0 is nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    tag: u64,
    second: u64,
    stored: u64,
    skipped: u64,
}

impl Sampler {
    /// Stores the first so many of each key and second, [`STORED_PER_SECOND_MAX`] at most.
    pub(crate) fn new(stored_per_second: u32) -> Sampler {
        let sets = (0..SETS).map(|_| Set::default()).collect();
        Sampler { sets, stored_per_second: u64::from(stored_per_second.min(STORED_PER_SECOND_MAX)) }
    }

    /// What becomes of a denial of the key with this hash. `may_store` is asked only for one that would be stored.
    pub(crate) fn sample(&self, hash: u64, second: i64, may_store: impl Fn() -> bool) -> Sample {
        let set = &self.sets[usize::try_from(hash).unwrap_or(usize::MAX) % SETS];
        let tag = (hash >> TAG_SHIFT).max(1);
        let second = second.unsigned_abs() % SECONDS;
        for _ in 0..ATTEMPTS_MAX {
            let Some((place, word)) = set.place_of(tag) else {
                if self.stored_per_second == 0 || !may_store() {
                    return Sample::Out;
                }
                // Whoever was there is only remembered by the totals.
                let Some((place, word)) = set.quietest(second) else { return Sample::Out };
                if place.swap(word, Slot { tag, second, stored: 1, skipped: 0 }) {
                    return Sample::Stored { sampled_for: 1 };
                }
                continue;
            };
            let slot = Slot::of(word);
            let is_next = is_later(second, slot.second);
            if (!is_next && slot.stored >= self.stored_per_second) || self.stored_per_second == 0 {
                let skipped = (slot.skipped + 1).min(SKIPPED_MAX);
                if place.swap(word, Slot { skipped, ..slot }) {
                    return Sample::Out;
                }
                continue;
            }
            if !may_store() {
                let skipped = (slot.skipped + 1).min(SKIPPED_MAX);
                place.swap(word, Slot { skipped, ..slot });
                return Sample::Out;
            }
            let (window, stored) = if is_next { (second, 1) } else { (slot.second, slot.stored + 1) };
            if place.swap(word, Slot { tag, second: window, stored, skipped: 0 }) {
                return Sample::Stored { sampled_for: 1 + slot.skipped };
            }
        }
        Sample::Out
    }
}

/// A slot that was found, and may have changed since.
struct Place<'s>(&'s AtomicU64);

impl Place<'_> {
    /// Writes the slot, if nobody did since.
    fn swap(&self, word: u64, slot: Slot) -> bool {
        self.0.compare_exchange(word, slot.word(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl Set {
    /// The slot of a key.
    #[inline]
    fn place_of(&self, tag: u64) -> Option<(Place<'_>, u64)> {
        let words = self.0.iter().map(|slot| (slot, slot.load(Ordering::Relaxed)));
        let found = words.into_iter().find(|(_, word)| word >> TAG_SHIFT == tag);
        found.map(|(slot, word)| (Place(slot), word))
    }

    /// A slot that a key may take: of nobody, or the longest quiet. `None` if all are of keys that were denied this second.
    fn quietest(&self, second: u64) -> Option<(Place<'_>, u64)> {
        let mut quietest: Option<(usize, u64, u64)> = None;
        for (at, slot) in self.0.iter().enumerate() {
            let word = slot.load(Ordering::Relaxed);
            let quiet = match Slot::of(word) {
                Slot { tag: 0, .. } => u64::MAX,
                slot if is_later(second, slot.second) => second.wrapping_sub(slot.second) % SECONDS,
                _ => continue,
            };
            if quietest.is_none_or(|(_, _, longest)| quiet > longest) {
                quietest = Some((at, word, quiet));
            }
        }
        quietest.map(|(at, word, _)| (Place(&self.0[at]), word))
    }
}

/// Whether a second comes after another, counted in a circle. One far ahead is of a clock that was set back since.
fn is_later(second: u64, than: u64) -> bool {
    let behind = than.wrapping_sub(second) % SECONDS;
    behind > AHEAD_SECONDS_MAX
}

impl Slot {
    #[inline]
    fn of(word: u64) -> Slot {
        Slot {
            tag: word >> TAG_SHIFT,
            second: (word >> (SKIPPED_BITS + STORED_BITS)) % SECONDS,
            stored: (word >> SKIPPED_BITS) % (1 << STORED_BITS),
            skipped: word & SKIPPED_MAX,
        }
    }

    #[inline]
    fn word(self) -> u64 {
        self.tag << TAG_SHIFT
            | self.second << (SKIPPED_BITS + STORED_BITS)
            | self.stored << SKIPPED_BITS
            | self.skipped
    }
}

#[cfg(test)]
#[path = "sampler_tests.rs"]
mod tests;
