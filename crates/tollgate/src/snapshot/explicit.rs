//! The part of a snapshot for buckets whose limits come with the call.
//!
//! Pure, as all of the format. It does not know whether a bucket may be where it says it is (see `memory/explicit/revival.rs`).

use tollgate_core::{Moment, StampedBalance};

use super::{Reader, Writer};
use crate::memory::explicit::slot::Tag;

/// A table of explicit buckets that somebody has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SavedExplicit {
    pub(crate) keys_max: u64,
    /// How many windows that is: a slot is found again only in a table of the same shape.
    pub(crate) windows: u64,
    pub(crate) buckets: Vec<SavedBucket>,
    pub(crate) crowds: Vec<SavedCrowd>,
}

/// One bucket that was not full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SavedBucket {
    /// Of its slot.
    pub(crate) index: u64,
    pub(crate) tag: Tag,
    pub(crate) balance: StampedBalance,
    /// From when on it is full, by the limit of its last charge.
    pub(crate) full_at: Moment,
}

/// What one window remembers of whom it evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SavedCrowd {
    pub(crate) window: u32,
    pub(crate) full_at: Moment,
    pub(crate) evicted_at: Moment,
}

impl Writer {
    /// None of it, or one.
    pub(super) fn explicit(&mut self, explicit: Option<&SavedExplicit>) {
        self.count(explicit.iter().len());
        if let Some(saved) = explicit {
            self.words(&[saved.keys_max, saved.windows]);
            self.count(saved.buckets.len());
            for SavedBucket { index, tag, balance, full_at } in &saved.buckets {
                let (micros, stamp) = (balance.micros.cast_unsigned(), balance.stamp.as_nanos());
                self.words(&[*index, tag.word(), micros, stamp, full_at.as_nanos()]);
            }
            self.count(saved.crowds.len());
            for crowd in &saved.crowds {
                self.words(&[u64::from(crowd.window), crowd.full_at.as_nanos(), crowd.evicted_at.as_nanos()]);
            }
        }
    }
}

impl Reader<'_> {
    pub(super) fn saved_explicit(&mut self) -> Option<SavedExplicit> {
        let [keys_max, windows] = self.words()?;
        Some(SavedExplicit {
            keys_max,
            windows,
            buckets: self.list(Self::saved_bucket)?,
            crowds: self.list(Self::saved_crowd)?,
        })
    }

    fn saved_bucket(&mut self) -> Option<SavedBucket> {
        let [index, tag, micros, stamp, full_at] = self.words()?;
        let balance = StampedBalance { micros: micros.cast_signed(), stamp: Moment::from_nanos(stamp) };
        // No bucket has the tag of a free slot, and none holds or owes more than the largest burst.
        let is_sound = Tag::of_hash(tag).word() == tag && balance.plus(0) == balance;
        let (tag, full_at) = (Tag::of_hash(tag), Moment::from_nanos(full_at));
        is_sound.then_some(SavedBucket { index, tag, balance, full_at })
    }

    fn saved_crowd(&mut self) -> Option<SavedCrowd> {
        let [window, full_at, evicted_at] = self.words()?;
        let [full_at, evicted_at] = [full_at, evicted_at].map(Moment::from_nanos);
        Some(SavedCrowd { window: u32::try_from(window).ok()?, full_at, evicted_at })
    }
}
