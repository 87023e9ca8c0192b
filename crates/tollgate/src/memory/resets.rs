//! Which buckets were reset lately: a charge that a reset has forgiven must not be given back as well.
//!
//! A word has no room for that, so every reset has a number, and a charge remembers the last one before it. Bounded: when the
//! oldest resets are forgotten, charges from before them count as forgiven, too.

use std::collections::HashMap;
use std::sync::PoisonError;

use crate::identity::BucketId;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, SHARDS};

/// Resets of one shard in one of its two maps; so at least the last 32,768 of a limiter are remembered if they spread evenly.
const SHARD_RESETS_MAX: usize = 512;

/// The resets of one limiter.
#[derive(Debug)]
pub(crate) struct Resets {
    /// How many there were.
    count: AtomicU64,
    shards: Box<[Mutex<Shard>]>,
}

/// How many resets there had been at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct ResetCount(u64);

#[derive(Debug, Default)]
struct Shard {
    /// The number of each bucket's last reset.
    recent: HashMap<BucketId, ResetCount>,
    older: HashMap<BucketId, ResetCount>,
    /// Resets up to this one may have been forgotten.
    forgotten: ResetCount,
}

impl Resets {
    pub(crate) fn new() -> Resets {
        let shards = (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect();
        Resets { count: AtomicU64::new(0), shards }
    }

    /// How many there have been. To be read before a charge is made.
    pub(crate) fn count(&self) -> ResetCount {
        ResetCount(self.count.load(Ordering::Acquire))
    }

    /// Resets a bucket by `fill`; nobody gives back a charge to it meanwhile.
    pub(crate) fn reset<T>(&self, id: BucketId, fill: impl FnOnce() -> T) -> T {
        let mut shard = self.shard(id);
        let filled = fill();
        // Counted afterwards: whoever read the count before may have been charged before, too.
        let number = self.count.fetch_add(1, Ordering::AcqRel) + 1;
        shard.note(id, ResetCount(number));
        filled
    }

    /// Gives back to a bucket by `give`, unless it was reset after there had been `before` resets; it is not reset meanwhile.
    pub(crate) fn unless_reset<T>(
        &self,
        id: BucketId,
        before: ResetCount,
        give: impl FnOnce() -> T,
    ) -> Option<T> {
        let shard = self.shard(id);
        (!shard.is_reset_since(id, before)).then(give)
    }

    fn shard(&self, id: BucketId) -> MutexGuard<'_, Shard> {
        let number = usize::try_from(id.fingerprint >> 24).unwrap_or(0) % SHARDS;
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    fn note(&mut self, id: BucketId, number: ResetCount) {
        if self.recent.len() >= SHARD_RESETS_MAX {
            let forgotten = std::mem::replace(&mut self.older, std::mem::take(&mut self.recent));
            self.forgotten = forgotten.into_values().max().unwrap_or_default().max(self.forgotten);
        }
        self.recent.insert(id, number);
    }

    fn is_reset_since(&self, id: BucketId, before: ResetCount) -> bool {
        let last = self.recent.get(&id).or_else(|| self.older.get(&id)).copied();
        before < last.unwrap_or_default().max(self.forgotten)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn id(number: u64) -> BucketId {
        BucketId { fingerprint: number << 24, windows: [0, 1] }
    }

    #[test]
    fn only_what_was_charged_before_a_reset_of_its_bucket_is_forgiven() {
        let resets = Resets::new();
        let before = resets.count();
        resets.reset(id(1), || ());
        let after = resets.count();
        assert_eq!(resets.unless_reset(id(1), before, || "given"), None);
        assert_eq!(resets.unless_reset(id(1), after, || "given"), Some("given"));
        assert_eq!(resets.unless_reset(id(2), before, || "given"), Some("given"));
    }

    #[test]
    fn a_forgotten_reset_still_forgives_and_no_more_are_remembered_than_may_be() {
        let resets = Resets::new();
        let before = resets.count();
        let most = 2 * SHARD_RESETS_MAX as u64;
        for number in 0..=3 * most {
            // All in one shard.
            resets.reset(id(number * SHARDS as u64), || ());
        }
        let shard = resets.shard(id(0));
        assert!(shard.recent.len() + shard.older.len() <= 2 * SHARD_RESETS_MAX);
        drop(shard);
        assert_eq!(resets.unless_reset(id(0), before, || ()), None);
        assert_eq!(resets.unless_reset(id(0), resets.count(), || ()), Some(()));
        assert_eq!(
            resets.unless_reset(id(1), before, || ()),
            Some(()),
            "another shard has forgotten nothing"
        );
    }
}
