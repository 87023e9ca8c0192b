//! What the ledger calls things, in the suite's words.

use tollgate_redis::BatchError;
use tollgate_sim::conformance::Fault;
pub(crate) use tollgate_sim::memory_subject::{fault_of, outcome_of};

pub(crate) fn fault_of_batch(error: BatchError) -> Fault {
    match error {
        BatchError::Check(error) => fault_of(error),
        BatchError::BadTimeout => Fault::ZeroTimeout,
        error => panic!("the suite does not do that: {error}"),
    }
}
