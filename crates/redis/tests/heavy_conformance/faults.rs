//! What the ledger calls things, in the suite's words.

use tollgate::{CheckError, Verdict};
use tollgate_redis::BatchError;
use tollgate_sim::conformance::{Fault, Outcome};

pub(crate) fn outcome_of(verdict: Verdict) -> Outcome {
    match verdict {
        Verdict::Admit { remaining, delay } => Outcome::Admit { remaining, delay },
        Verdict::Deny { wait, remaining, denied, .. } => Outcome::Deny { wait, remaining, denied },
        Verdict::Never { denied } => Outcome::Never { denied },
        Verdict::Invalid(error) => Outcome::Invalid(fault_of(error)),
    }
}

pub(crate) fn fault_of(error: CheckError) -> Fault {
    match error {
        CheckError::EmptyKey => Fault::EmptyKey,
        CheckError::EmptyIdempotencyKey => Fault::EmptyIdempotencyKey,
        CheckError::ZeroLifetime => Fault::ZeroLifetime,
        CheckError::KeyTooLong { .. } => Fault::KeyTooLong,
        CheckError::ZeroCost => Fault::ZeroCost,
        CheckError::NoCharges => Fault::NoCharges,
        CheckError::TooManyCharges { .. } => Fault::TooManyCharges,
        CheckError::TierConflict { .. } => Fault::TierConflict,
        CheckError::NeedsGuard { .. } => Fault::NeedsGuard,
        error => panic!("the suite does not do that: {error}"),
    }
}

pub(crate) fn fault_of_batch(error: BatchError) -> Fault {
    match error {
        BatchError::Check(error) => fault_of(error),
        BatchError::BadTimeout => Fault::ZeroTimeout,
        error => panic!("the suite does not do that: {error}"),
    }
}
