//! What came of a check over several buckets, and the charges it made, so that they can be settled.

use tollgate_core::{BucketSet, Demand, Generation, Mark, Moment};

use crate::Verdict;
use crate::identity::BucketId;
use crate::memory::LimitId;
use crate::memory::resets::ResetCount;
use crate::memory::store::Ask;

/// What came of a check over several buckets.
pub(crate) struct Outcome<const N: usize> {
    pub(crate) verdict: Verdict,
    /// What was charged where, if it was admitted: one for each bucket whose state is a word.
    pub(crate) receipts: [Option<Receipt>; N],
    /// The same of logs.
    pub(crate) log_receipts: Vec<LogReceipt>,
}

/// A charge that was made, so that it can be settled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receipt {
    pub(crate) ask: Ask,
    /// Which charges of the check these are.
    pub(crate) members: BucketSet,
    /// When it was made, so that one which the word no longer tells is known to be old.
    pub(crate) at: Moment,
    /// How many resets there had been before.
    pub(crate) resets: ResetCount,
    /// Where the charge left the bucket.
    pub(crate) paid: Mark,
    /// In which generation it took its places, if it did.
    pub(crate) generation: Option<Generation>,
    /// It was the overflow bucket that stood for it.
    pub(crate) overflow: bool,
}

/// A charge that was made to a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogReceipt {
    pub(crate) id: BucketId,
    pub(crate) limit_id: LimitId,
    pub(crate) demand: Demand,
    pub(crate) members: BucketSet,
    /// When it counts as made.
    pub(crate) at: Moment,
    /// How many resets there had been before.
    pub(crate) resets: ResetCount,
}

impl Receipt {
    /// The bucket that was charged, as those who wait for it know it.
    pub(crate) fn awaited_id(&self) -> BucketId {
        if self.overflow { BucketId::overflow_of(self.ask.limit) } else { self.ask.id }
    }
}

impl<const N: usize> Outcome<N> {
    /// Nothing was charged.
    pub(crate) fn of(verdict: Verdict) -> Self {
        Outcome { verdict, receipts: [None; N], log_receipts: Vec::new() }
    }
}
