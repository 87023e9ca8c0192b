//! For which buckets somebody waits, as far as the store needs to know: whether it may be so.
//!
//! Counts queues, not those who wait, so it is written when a queue begins and ends. Several buckets share a count: it may say
//! yes of a bucket that nobody waits for, never no of one that somebody has booked.

use crate::identity::BucketId;
use crate::sync::{AtomicU64, Ordering};

/// Counts that the buckets are spread over.
const COUNTS: usize = if cfg!(loom) { 1 } else { 4_096 };

/// How many queues there are, by bucket.
#[derive(Debug)]
pub(crate) struct Awaited(Box<[AtomicU64]>);

impl Awaited {
    pub(crate) fn new() -> Awaited {
        Awaited((0..COUNTS).map(|_| AtomicU64::new(0)).collect())
    }

    /// A queue begins. To be called before anything is booked: who sees the booking then sees this, too.
    pub(crate) fn begin(&self, id: BucketId) {
        self.count(id).fetch_add(1, Ordering::Relaxed);
    }

    /// It ends: all have left.
    pub(crate) fn end(&self, id: BucketId) {
        self.count(id).fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether somebody may wait for this bucket.
    pub(crate) fn may_be(&self, id: BucketId) -> bool {
        self.count(id).load(Ordering::Relaxed) > 0
    }

    fn count(&self, id: BucketId) -> &AtomicU64 {
        // Other bits than those that choose the lock of its queue.
        &self.0[(id.fingerprint >> 16) as usize % COUNTS]
    }
}
