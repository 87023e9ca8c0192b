//! From the table of explicit buckets to its part of a snapshot, and back.
//!
//! A bucket is found again by its hash, so the seed must be the one it was saved with. Its stamp moves to the new clock's time line:
//! it held what it held as long ago as the wall clock says. It does not know files.

use tollgate_core::Moment;

use crate::clock::CLOCK_ERROR_MAX;
use crate::memory::counters::Event;
use crate::memory::explicit::slot::{FullAt, Seen, Tag};
use crate::memory::explicit::store::ExplicitStore;
use crate::memory::explicit::table::{WINDOW_SLOTS, bucket_id};
use crate::revival::Passage;
use crate::snapshot::{SavedBucket, SavedCrowd, SavedExplicit};
use crate::sync::Ordering;

impl ExplicitStore {
    /// What must be remembered at `now`; `None` if that is nothing. Checks may go on meanwhile: a bucket that moves about may
    /// be saved twice, and what its window remembers is read later, so that none is missed without a trace.
    pub(crate) fn saved(&self, keys_max: usize, now: Moment) -> Option<SavedExplicit> {
        // As a newcomer judges it: what is full may be forgotten, at no loss.
        let earlier = now - CLOCK_ERROR_MAX;
        let live = |(index, (tag, seen)): (usize, (Tag, Seen))| {
            let full_at = seen.full_at().moment();
            let bucket = SavedBucket { index: index as u64, tag, balance: seen.balance, full_at };
            (full_at > earlier).then_some(bucket)
        };
        let taken = self.table.slots().filter_map(|(index, slot)| Some((index, slot.wait_for_any()?)));
        let buckets: Vec<SavedBucket> = taken.filter_map(live).collect();
        let crowds = self.table.gates.used().filter_map(|window| {
            let (full_at, evicted_at) = self.table.crowds[window as usize].noted();
            (full_at > earlier).then_some(SavedCrowd { window, full_at, evicted_at })
        });
        let crowds: Vec<SavedCrowd> = crowds.collect();
        let is_empty = buckets.is_empty() && crowds.is_empty();
        let windows = u64::from(self.windows);
        (!is_empty).then_some(SavedExplicit { keys_max: keys_max as u64, windows, buckets, crowds })
    }

    /// Puts saved buckets into an empty store, before anyone uses it. `None` if they cannot be from a table like this one.
    pub(crate) fn revive(&self, saved: &SavedExplicit, passage: &Passage) -> Option<()> {
        if saved.windows != u64::from(self.windows) {
            return None;
        }
        for bucket in &saved.buckets {
            self.revive_bucket(bucket, passage)?;
        }
        for crowd in &saved.crowds {
            let (full_at, evicted_at) = (passage.of(crowd.full_at), passage.of_past(crowd.evicted_at));
            self.table.crowds.get(crowd.window as usize)?.note(FullAt::at(full_at), evicted_at);
            self.table.gates.note_used(crowd.window as usize);
        }
        // Buckets that were full were left out, which is to forget them.
        self.reclaimed_at.store(passage.now().as_nanos(), Ordering::Relaxed);
        Some(())
    }

    fn revive_bucket(&self, bucket: &SavedBucket, passage: &Passage) -> Option<()> {
        let index = usize::try_from(bucket.index).ok()?;
        let (id, mut balance) = (bucket_id(bucket.tag.word(), self.windows), bucket.balance);
        if !id.windows.iter().any(|window| *window as usize == index / WINDOW_SLOTS) {
            return None;
        }
        balance.stamp = passage.of_past(balance.stamp);
        let full_at = FullAt::at(passage.of(bucket.full_at));
        if let Some((slot, seen)) = self.look(id) {
            // It moved while it was saved. Where it is emptier is the later of the two, or as good.
            if full_at > seen.full_at() && slot.hold(seen) {
                slot.write(seen, balance, full_at);
            }
            return Some(());
        }
        let slot = self.table.slot(index)?;
        let (is_free, seen) = slot.look();
        let seen = seen.filter(|seen| is_free && slot.hold(*seen))?;
        slot.retag(seen, bucket.tag, balance, full_at);
        self.table.gates.note_used(index / WINDOW_SLOTS);
        self.counters.count(Event::TookFree);
        Some(())
    }
}
