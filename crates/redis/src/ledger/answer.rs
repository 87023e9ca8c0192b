//! What the store said, as a limiter is told.

use tollgate::ledger::{Answer, BucketState};
use tollgate::{CheckError, StoreMode, Verdict};
use tollgate_core::Span;

use crate::Checked;

/// A check that the store decided. Of buckets that several charges share, each charge is told the same.
pub(super) fn of_checked(checked: &Checked, charges: usize) -> Answer {
    let mut buckets = vec![BucketState::UNKNOWN; charges];
    for bucket in &checked.buckets {
        let state = BucketState {
            remaining: bucket.remaining,
            wait: bucket.wait.unwrap_or(Span::ZERO),
            time_to_full: bucket.time_to_full,
            instances: 1,
        };
        for member in bucket.members.iter() {
            if let Some(place) = buckets.get_mut(member) {
                *place = state;
            }
        }
    }
    Answer::Decided { verdict: checked.verdict(), buckets, mode: StoreMode::Exact }
}

/// A check that makes no sense.
pub(super) fn at_fault(error: CheckError) -> Answer {
    Answer::Decided { verdict: Verdict::Invalid(error), buckets: Vec::new(), mode: StoreMode::Exact }
}
