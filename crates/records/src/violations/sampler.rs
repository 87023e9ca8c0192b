//! Which denials of a key are stored: the first few of each second. A table whose size follows from the rows of a second, without locks.
//!
//! A slot is one word, so that all of it changes at once or not at all. What was skipped is counted beside it, for each lane of threads in a word of
//! its own: a key that all threads deny at once is only read by them.
//!
//! ```text
//!   63              32 31                 4 3      0      63              32 31                 0
//!   ┌─────────────────┬────────────────────┬────────┐      ┌─────────────────┬────────────────────┐
//!   │ tag             │ second             │ stored │      │ tag             │ skipped since then │  × lanes
//!   └─────────────────┴────────────────────┴────────┘      └─────────────────┴────────────────────┘
//! ```
//!
//! It promises never to store more than so many of a key and second (but for threads that are whole seconds late), and never to say of a stored one that
//! it stands for more than there were.
//! It does not count: whoever asks counts what it is told.

use std::sync::atomic::{AtomicU64, Ordering};

use super::lane::{LANES, lane};

/// Most that can be stored of a key and second.
const STORED_PER_SECOND_MAX: u32 = 15;
/// Most keys that can be told apart within a second, however many rows it may have; further ones are not stored.
pub const KEYS_SAMPLED_MAX: usize = 16_384;

/// A set is a cache line.
const WAYS: usize = 8;
/// Room for each row that a second may have: so few keys meet in one set that hardly one finds it full. No more than that, since whoever denies reads the
/// table: a small one stays in the cache of the processor.
const PLACES_PER_ROW: usize = 4;
/// A slot that changes under our hands so often belongs to a key that many threads deny: this one more is in the totals alone.
const ATTEMPTS_MAX: usize = 4;
/// Clocks of threads differ by less; a slot that is further ahead is of a clock that was set back.
const AHEAD_SECONDS_MAX: u64 = 2;

const STORED_BITS: u32 = 4;
const SECONDS: u64 = 1 << (TAG_SHIFT - STORED_BITS);
const TAG_SHIFT: u32 = 32;
/// Most that one lane remembers to have skipped of a key; beyond it only the totals tell.
const SKIPPED_MAX: u64 = (1 << TAG_SHIFT) - 1;

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
    /// One less than there are sets, which is a power of two.
    mask: u64,
    /// What was skipped of each slot's key, by lane.
    skipped: Box<[Skipped; LANES]>,
    stored_per_second: u64,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Set([AtomicU64; WAYS]);

/// Whether there is room for a key that was not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// This slot, whose word this was; it may have changed since.
    At(usize, u64),
    /// Somebody has just taken a slot for it.
    Taken,
    /// All slots are of keys that were denied this second.
    Full,
}

/// A word of a lane for each slot: the tag of a key in the high half, how many of it were skipped in the low one.
#[derive(Debug)]
struct Skipped(Box<[AtomicU64]>);

/// A slot's word, taken apart. A tag is never 0, so a word of 0 is nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    tag: u64,
    second: u64,
    stored: u64,
}

impl Sampler {
    /// Stores the first so many of each key and second, [`STORED_PER_SECOND_MAX`] at most, where all keys together have so many rows a second.
    pub(crate) fn new(stored_per_second: u32, rows_per_second: u32) -> Sampler {
        let rows = usize::try_from(rows_per_second).unwrap_or(usize::MAX);
        let places = rows.saturating_mul(PLACES_PER_ROW).clamp(WAYS, KEYS_SAMPLED_MAX).next_power_of_two();
        let sets: Box<[Set]> = (0..places / WAYS).map(|_| Set::default()).collect();
        let mask = sets.len() as u64 - 1;
        let lane = |_| Skipped((0..places).map(|_| AtomicU64::new(0)).collect());
        let skipped = Box::new(std::array::from_fn(lane));
        let stored_per_second = u64::from(stored_per_second.min(STORED_PER_SECOND_MAX));
        Sampler { sets, mask, skipped, stored_per_second }
    }

    /// What becomes of a denial of the key with this hash. `may_store` is asked, once, only for one that has
    /// not had its rows of the second; it may still find no room.
    #[inline]
    pub(crate) fn sample(&self, hash: u64, second: i64, may_store: impl Fn() -> bool) -> Sample {
        let at = usize::try_from(hash & self.mask).unwrap_or(0);
        let set = &self.sets[at];
        let tag = (hash >> TAG_SHIFT).max(1);
        let second = second.unsigned_abs() % SECONDS;
        // Asked once: whoever may store takes a row of the budget.
        let mut answer = None;
        let mut may_store = || *answer.get_or_insert_with(&may_store);
        for _ in 0..ATTEMPTS_MAX {
            let Some((way, word)) = set.way_of(tag) else {
                if self.stored_per_second == 0 || !may_store() {
                    return Sample::Out;
                }
                match set.room_for(tag, second) {
                    Room::Full => return Sample::Out,
                    Room::Taken => {}
                    Room::At(way, word) => {
                        // Whoever was there is only remembered by the totals, and so is what this key left here before.
                        self.take_skipped(at * WAYS + way, tag);
                        if set.swap(way, word, Slot { tag, second, stored: 1 }) {
                            return Sample::Stored { sampled_for: 1 };
                        }
                    }
                }
                continue;
            };
            let (slot, place) = (Slot::of(word), at * WAYS + way);
            let is_next = is_later(second, slot.second);
            // A thread that is late is not stored: its second may be full, and nobody knows any more.
            let has_room = is_next || (slot.second == second && slot.stored < self.stored_per_second);
            if self.stored_per_second == 0 || !has_room || !may_store() {
                self.skipped[lane()].skip(place, tag);
                return Sample::Out;
            }
            let stored = if is_next { 1 } else { slot.stored + 1 };
            if set.swap(way, word, Slot { tag, second, stored }) {
                return Sample::Stored { sampled_for: 1 + self.take_skipped(place, tag) };
            }
        }
        Sample::Out
    }

    /// Takes out what all lanes have skipped of the key at this place.
    fn take_skipped(&self, place: usize, tag: u64) -> u64 {
        self.skipped.iter().map(|lane| lane.take(place, tag)).sum()
    }
}

impl Skipped {
    /// Counts one more of this key. Of two threads that share the lane and count at once, one is in the totals alone.
    #[inline]
    fn skip(&self, place: usize, tag: u64) {
        let place = &self.0[place];
        let word = place.load(Ordering::Relaxed);
        let skipped = if word >> TAG_SHIFT == tag { word & SKIPPED_MAX } else { 0 };
        let next = tag << TAG_SHIFT | (skipped + 1).min(SKIPPED_MAX);
        let _ = place.compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Takes out what was counted of this key; what is of another one stays.
    fn take(&self, place: usize, tag: u64) -> u64 {
        let place = &self.0[place];
        let word = place.load(Ordering::Relaxed);
        let is_taken = word >> TAG_SHIFT == tag
            && place.compare_exchange(word, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_taken { word & SKIPPED_MAX } else { 0 }
    }
}

impl Set {
    /// The slot of a key, and its word; it may have changed since.
    #[inline]
    fn way_of(&self, tag: u64) -> Option<(usize, u64)> {
        let mut words = self.0.iter().map(|slot| slot.load(Ordering::Relaxed)).enumerate();
        words.find(|(_, word)| word >> TAG_SHIFT == tag)
    }

    /// Where a key that was not found may go: to a slot of nobody, or the longest quiet.
    fn room_for(&self, tag: u64, second: u64) -> Room {
        let mut quietest: Option<(usize, u64, u64)> = None;
        for (way, slot) in self.0.iter().enumerate() {
            let word = slot.load(Ordering::Relaxed);
            let quiet = match Slot::of(word) {
                // Two threads would pick the same slot; so whoever is too late for that sees the key, and never gives it a second one.
                slot if slot.tag == tag => return Room::Taken,
                Slot { tag: 0, .. } => u64::MAX,
                slot if is_later(second, slot.second) => second.wrapping_sub(slot.second) % SECONDS,
                _ => continue,
            };
            if quietest.is_none_or(|(_, _, longest)| quiet > longest) {
                quietest = Some((way, word, quiet));
            }
        }
        quietest.map_or(Room::Full, |(way, word, _)| Room::At(way, word))
    }

    /// Writes a slot, if nobody did since.
    fn swap(&self, way: usize, word: u64, slot: Slot) -> bool {
        self.0[way].compare_exchange(word, slot.word(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
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
        let second = (word >> STORED_BITS) % SECONDS;
        Slot { tag: word >> TAG_SHIFT, second, stored: word % (1 << STORED_BITS) }
    }

    #[inline]
    fn word(self) -> u64 {
        self.tag << TAG_SHIFT | self.second << STORED_BITS | self.stored
    }
}

#[cfg(test)]
#[path = "sampler_tests.rs"]
mod tests;
