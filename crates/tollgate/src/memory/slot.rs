//! One place in the table: a tag that says whose, a mark that says how far spent.
//!
//! The mark is also the slot's lock and its version. Whoever charges it and whoever takes it over both swap it from the
//! value they read, so one of them fails. A slot whose mark is [`LOCKED`] belongs to one thread for a few stores.

use tollgate_core::Mark;

use crate::memory::LimitId;
use crate::sync::{AtomicU64, Ordering, Patience, released};

/// The mark of a slot that one thread holds.
const LOCKED: u64 = Mark::RESERVED_WORD;

/// Whose bucket a slot holds: 48 bits of the bucket's hash and 16 of the limit that it was last read under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag(u64);

impl Tag {
    /// Nobody's: the slot was never taken.
    pub(crate) const FREE: Tag = Tag(0);

    pub(crate) const fn new(fingerprint: u64, limit: LimitId) -> Tag {
        Tag(fingerprint << 16 | limit.get() as u64)
    }

    /// The tag of a limit's shared overflow bucket, which never lies in the table.
    pub(crate) const fn overflow(limit: LimitId) -> Tag {
        Tag::new(0, limit)
    }

    /// Whether it is the tag of the bucket with this fingerprint, under whatever limit.
    pub(crate) const fn is_of(self, fingerprint: u64) -> bool {
        self.0 >> 16 == fingerprint && self.0 != Tag::FREE.0
    }

    /// The 48 bits that tell the bucket from its neighbours.
    pub(crate) const fn fingerprint(self) -> u64 {
        self.0 >> 16
    }

    /// The limit the bucket is under; `None` if the slot is free.
    #[expect(clippy::cast_possible_truncation, reason = "the low 16 bits are the limit")]
    pub(crate) const fn limit(self) -> Option<LimitId> {
        LimitId::new(self.0 as u16)
    }

    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    pub(crate) const fn from_word(word: u64) -> Tag {
        Tag(word)
    }
}

/// Sixteen bytes of the table; free if they are zero.
#[derive(Debug)]
#[cfg_attr(not(loom), derive(zerocopy::FromZeros))]
#[cfg_attr(loom, derive(Default))]
#[repr(C, align(16))]
pub(crate) struct Slot {
    tag: AtomicU64,
    mark: AtomicU64,
}

/// Why a slot could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Some thread holds it; look again.
    Locked,
    /// It is somebody else's now.
    Gone,
}

impl Slot {
    pub(crate) fn free() -> Slot {
        Slot { tag: AtomicU64::new(Tag::FREE.0), mark: AtomicU64::new(0) }
    }

    /// Whose it is, perhaps not for long.
    #[inline]
    pub(crate) fn tag(&self) -> Tag {
        Tag(self.tag.load(Ordering::Acquire))
    }

    /// The mark, if the slot is still `tag`'s and nobody holds it. The tag was read before; it is read again after, since a
    /// mark that belongs to another tag would be charged to the wrong client.
    #[inline]
    pub(crate) fn mark(&self, tag: Tag) -> Result<Mark, Unread> {
        let mark = self.mark.load(Ordering::Acquire);
        if self.tag() != tag && !mutant::is("no tag re-read") {
            return Err(Unread::Gone);
        }
        if mark == LOCKED { Err(Unread::Locked) } else { Ok(Mark::from_word(mark)) }
    }

    /// Tag and mark at one moment; waits while somebody holds the slot.
    pub(crate) fn read(&self) -> (Tag, Mark) {
        let patience = Patience::default();
        loop {
            let tag = self.tag();
            match self.mark(tag) {
                Ok(mark) => return (tag, mark),
                Err(Unread::Locked) => patience.wait(),
                Err(Unread::Gone) => {}
            }
        }
    }

    /// Moves the mark, if it is still `from`: the whole of a charge.
    #[inline]
    pub(crate) fn swap(&self, from: Mark, to: Mark) -> bool {
        self.mark.compare_exchange(from.word(), to.word(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Takes hold of the slot, if its mark is still `from`. The holder must [`Slot::release`] it soon, and wait for nothing
    /// but other slots meanwhile.
    #[inline]
    pub(crate) fn hold(&self, from: Mark) -> bool {
        self.mark.compare_exchange(from.word(), LOCKED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Lets go of a held slot, at `mark`.
    #[inline]
    pub(crate) fn release(&self, mark: Mark) {
        self.mark.store(mark.word(), Ordering::Release);
        released();
    }

    /// Gives a held slot a new tag; its holder releases it afterwards.
    pub(crate) fn retag(&self, tag: Tag) {
        self.tag.store(tag.0, Ordering::Release);
    }
}

/// Deliberate mistakes that the loom proofs must catch. Outside loom there are none.
pub(crate) mod mutant {
    /// Whether this mistake is switched on.
    #[cfg(not(loom))]
    #[inline]
    pub(crate) const fn is(_name: &str) -> bool {
        false
    }

    #[cfg(loom)]
    pub(crate) use crate::proof::mutant_is as is;
}
