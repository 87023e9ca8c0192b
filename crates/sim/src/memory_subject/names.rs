//! What the limiter calls things, in the suite's words.

use tollgate::{Cause, CheckError, Verdict};
use tollgate_core::{Burst, Limit, Rate};

use crate::conformance::{self, Breadth, Fault, Given, Left, Outcome, SettleFault, Settled};

pub(super) fn breadth_of(breadth: Breadth) -> tollgate::Breadth {
    match breadth {
        Breadth::Client => tollgate::Breadth::Client,
        Breadth::Group => tollgate::Breadth::Group,
        Breadth::Everyone => tollgate::Breadth::Everyone,
    }
}

/// A verdict, as the suite calls it.
pub fn outcome_of(verdict: Verdict) -> Outcome {
    match verdict {
        Verdict::Admit { remaining, delay } => Outcome::Admit { remaining, delay },
        Verdict::Deny { cause: Cause::TableFull(_), .. } => Outcome::TableFull,
        Verdict::Deny { wait, remaining, denied, .. } => Outcome::Deny { wait, remaining, denied },
        Verdict::Never { denied } => Outcome::Never { denied },
        Verdict::Invalid(error) => Outcome::Invalid(fault_of(error)),
    }
}

/// What is wrong with a check, as the suite calls it. Only for errors that the suite provokes.
///
/// # Panics
/// For any other.
pub fn fault_of(error: CheckError) -> Fault {
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
        error => unreachable!("the suite does not do that: {error}"),
    }
}

pub(super) fn given_of(given: tollgate::Given) -> Given {
    Given { given: given.given, balance: given.balance }
}

pub(super) fn left_of(left: tollgate::Left) -> Left {
    match left {
        tollgate::Left::InTime => Left::InTime,
        tollgate::Left::TooLate => Left::TooLate,
    }
}

pub(super) fn settled_of(settled: tollgate::Settled) -> Settled {
    Settled { returned: settled.returned, charged: settled.charged, forgiven: settled.forgiven }
}

pub(super) fn settle_fault_of(error: tollgate::SettleError) -> SettleFault {
    match error {
        tollgate::SettleError::Unknown => SettleFault::Unknown,
        tollgate::SettleError::Expired => SettleFault::Expired,
        tollgate::SettleError::CostsDiffer { .. } => SettleFault::CostsDiffer,
        tollgate::SettleError::WrongCount { .. } => SettleFault::WrongCount,
        error => unreachable!("the suite does not do that: {error}"),
    }
}

/// For the default rule, which the suite does not use.
pub(super) fn unused_limit() -> Limit {
    match Limit::new(Rate::per_second(1), Burst::tokens(1)) {
        Ok(limit) => limit,
        Err(error) => unreachable!("{error}"),
    }
}

/// The suite and the store agree on how long a key may be.
const _: () = assert!(conformance::KEY_BYTES_MAX == tollgate::KEY_BYTES_MAX);
