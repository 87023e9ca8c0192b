//! One place in the table of explicit buckets: whose, its balance, its stamp, and one word that is lock, version and expiry.
//!
//! Whoever reads looks at the word before and after, and takes no lock. Whoever writes has decided before; it swaps the word
//! for a held one, which fails if anything changed, stores, and lets go: three stores, no call, no way to panic. A thread
//! that is preempted in between delays the clients of this very bucket.

use tollgate_core::{Moment, Span, StampedBalance};

use crate::memory::slot::mutant;
use crate::sync::{AtomicU64, Ordering, Patience, released};

/// The tag of a slot that nobody ever had.
const FREE: u64 = 0;
/// Set in the word of a slot that one thread holds.
const HELD: u64 = 1 << 63;
/// The moment from which the bucket is full is kept in so many bits of the word, in units of 2^24 ns (17 ms), rounded up.
const FULL_BITS: u32 = 40;
const FULL_MASK: u64 = (1 << FULL_BITS) - 1;
const FULL_UNIT_SHIFT: u32 = 24;
/// One step of the version, which takes the bits between. A reader that sleeps through all 2^23 versions may see one word
/// and two states; a writer compares the state as well.
const VERSION_STEP: u64 = 1 << FULL_BITS;

/// Thirty-two bytes of the table; free if they are zero.
#[derive(Debug)]
#[cfg_attr(not(loom), derive(zerocopy::FromZeros))]
#[cfg_attr(loom, derive(Default))]
#[repr(C, align(32))]
pub(crate) struct Slot {
    tag: AtomicU64,
    balance: AtomicU64,
    stamp: AtomicU64,
    word: AtomicU64,
}

/// Whose bucket a slot holds: all 64 bits of the bucket's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag(u64);

/// From when on a bucket is full, by the limit of its last charge; rounded up to 17 ms, so never too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct FullAt(u64);

/// A slot as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) balance: StampedBalance,
    word: u64,
}

/// Why a slot could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Some thread holds it, or wrote to it meanwhile; look again.
    Busy,
    /// It is somebody else's.
    Gone,
}

impl Tag {
    pub(crate) const fn of_hash(hash: u64) -> Tag {
        Tag(if hash == FREE { 1 } else { hash })
    }

    pub(crate) const fn word(self) -> u64 {
        self.0
    }
}

impl FullAt {
    /// Full already.
    pub(crate) const NOW: FullAt = FullAt(0);

    /// Full at this moment.
    #[inline]
    pub(crate) const fn at(moment: Moment) -> FullAt {
        let units = moment.as_nanos().div_ceil(1 << FULL_UNIT_SHIFT);
        FullAt(if units > FULL_MASK { FULL_MASK } else { units })
    }

    /// The last one there is stands for the end of time.
    pub(crate) const fn moment(self) -> Moment {
        Moment::from_nanos(if self.0 == FULL_MASK { u64::MAX } else { self.0 << FULL_UNIT_SHIFT })
    }

    const fn of_word(word: u64) -> FullAt {
        FullAt(word & FULL_MASK)
    }
}

impl Seen {
    /// From when on the bucket is full.
    pub(crate) const fn full_at(self) -> FullAt {
        FullAt::of_word(self.word)
    }

    /// The word of the next version.
    const fn next(self, full_at: FullAt) -> u64 {
        let version = self.word.wrapping_add(VERSION_STEP) & !(HELD | FULL_MASK);
        version | full_at.0
    }
}

impl Slot {
    /// Whether it is this bucket's, perhaps not for long.
    #[inline]
    pub(crate) fn is_of(&self, tag: Tag) -> bool {
        self.tag.load(Ordering::Acquire) == tag.0
    }

    /// The bucket of `tag`, if it is still here and nobody is at work on it.
    #[inline]
    pub(crate) fn read(&self, tag: Tag) -> Result<Seen, Unread> {
        let (owner, seen) = self.read_both();
        if owner == tag { seen.ok_or(Unread::Busy) } else { Err(Unread::Gone) }
    }

    /// Whether nobody ever had it; and whatever is here, unless somebody is at work on it.
    pub(crate) fn look(&self) -> (bool, Option<Seen>) {
        let (owner, seen) = self.read_both();
        (owner == Tag(FREE), seen)
    }

    /// Whose it is; and its state, if both belong together.
    #[inline]
    fn read_both(&self) -> (Tag, Option<Seen>) {
        let word = self.word.load(Ordering::Acquire);
        // Whoever sees one of a writer's stores sees that it held the slot, too.
        let tag = Tag(self.tag.load(Ordering::Acquire));
        let micros = self.balance.load(Ordering::Acquire).cast_signed();
        let stamp = Moment::from_nanos(self.stamp.load(Ordering::Acquire));
        let is_whole = self.word.load(Ordering::Relaxed) == word || mutant::is("explicit: no second look");
        let seen = Seen { balance: StampedBalance { micros, stamp }, word };
        (tag, (word & HELD == 0 && is_whole).then_some(seen))
    }

    /// The bucket of `tag` once nobody is at work on it; `None` if it is somebody else's.
    pub(crate) fn wait_for(&self, tag: Tag) -> Option<Seen> {
        let patience = Patience::default();
        loop {
            match self.read(tag) {
                Ok(seen) => return Some(seen),
                Err(Unread::Busy) => patience.wait(),
                Err(Unread::Gone) => return None,
            }
        }
    }

    /// Whose bucket is here and what it holds, once nobody is at work on it; `None` if nobody ever had the slot.
    pub(crate) fn wait_for_any(&self) -> Option<(Tag, Seen)> {
        let patience = Patience::default();
        loop {
            match self.read_both() {
                (Tag(FREE), Some(_)) => return None,
                (tag, Some(seen)) => return Some((tag, seen)),
                (_, None) => patience.wait(),
            }
        }
    }

    /// Takes hold of the slot, if it is as it was seen. The holder must let go soon, by [`Slot::write`], [`Slot::retag`] or
    /// [`Slot::let_go`], and wait for nothing but other slots meanwhile.
    #[inline]
    pub(crate) fn hold(&self, seen: Seen) -> bool {
        let held = seen.word | HELD;
        if self.word.compare_exchange(seen.word, held, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        let is_same = self.balance.load(Ordering::Relaxed) == seen.balance.micros.cast_unsigned()
            && self.stamp.load(Ordering::Relaxed) == seen.balance.stamp.as_nanos();
        if !is_same {
            // As many versions later as there are. Unchanged, then, but for the version.
            self.let_go(Seen { word: seen.next(seen.full_at()), ..seen });
        }
        is_same
    }

    /// Lets go of a held slot, unchanged.
    pub(crate) fn let_go(&self, seen: Seen) {
        self.word.store(seen.word, Ordering::Release);
        released();
    }

    /// Writes to a held slot, and lets go of it.
    #[inline]
    pub(crate) fn write(&self, seen: Seen, balance: StampedBalance, full_at: FullAt) {
        self.balance.store(balance.micros.cast_unsigned(), Ordering::Release);
        self.stamp.store(balance.stamp.as_nanos(), Ordering::Release);
        self.word.store(seen.next(full_at), Ordering::Release);
        released();
    }

    /// Gives a held slot to another bucket, and lets go of it.
    pub(crate) fn retag(&self, seen: Seen, tag: Tag, balance: StampedBalance, full_at: FullAt) {
        self.tag.store(tag.0, Ordering::Release);
        self.write(seen, balance, full_at);
    }

    /// [`Slot::hold`] and [`Slot::write`]: the whole of a charge.
    #[inline]
    pub(crate) fn replace(&self, seen: Seen, balance: StampedBalance, full_at: FullAt) -> bool {
        if mutant::is("explicit: no hold") {
            self.write(seen, balance, full_at);
            return true;
        }
        let is_held = self.hold(seen);
        if is_held {
            self.write(seen, balance, full_at);
        }
        is_held
    }
}

/// When a bucket that is full so long after `now` is.
pub(crate) fn full_after(now: Moment, time_to_full: Span) -> FullAt {
    FullAt::at(now + time_to_full)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    const TAG: Tag = Tag(7);

    fn balance(micros: i64, stamp: u64) -> StampedBalance {
        StampedBalance { micros, stamp: Moment::from_nanos(stamp) }
    }

    #[test]
    fn a_slot_is_half_a_cache_line() {
        assert_eq!((size_of::<Slot>(), align_of::<Slot>()), (32, 32));
    }

    #[test]
    fn what_is_written_is_read_and_what_was_seen_before_is_stale() {
        let slot = Slot::new_zeroed();
        let seen = slot.look().1.unwrap();
        assert!(slot.hold(seen));
        assert_eq!(slot.look().1, None, "it is held");
        slot.retag(seen, TAG, balance(-5, 9), FullAt::at(Moment::from_nanos(1 << 24)));
        let written = slot.read(TAG).unwrap();
        assert_eq!((written.balance, written.full_at().moment().as_nanos()), (balance(-5, 9), 1 << 24));
        assert!(!slot.hold(seen), "somebody wrote meanwhile");
        assert_eq!(slot.read(Tag(8)), Err(Unread::Gone));
    }

    #[test]
    fn a_word_that_recurs_after_all_versions_does_not_pass_for_the_same_state() {
        let slot = Slot::new_zeroed();
        let old = slot.look().1.unwrap();
        for version in 0..1 << 23 {
            let seen = slot.look().1.unwrap();
            assert!(slot.replace(seen, balance(version, 1), FullAt::NOW));
        }
        let seen = slot.look().1.unwrap();
        assert_eq!(seen.word, old.word);
        assert!(!slot.hold(old));
        assert!(slot.look().1.unwrap().balance == seen.balance, "and it is let go");
    }

    #[test]
    fn a_bucket_never_counts_as_full_too_early() {
        for nanos in [0, 1, (1 << 24) - 1, 1 << 24, 315_360_000_000_000_123, u64::MAX] {
            let full_at = FullAt::at(Moment::from_nanos(nanos));
            assert!(full_at.moment().as_nanos() >= nanos);
            assert!(full_at.0 <= FULL_MASK);
        }
    }
}
