//! What denials are called, for machines (H3). Clients compare these words: none is ever renamed.

use tollgate_core::Algorithm;

use super::RefusalKind;

pub(super) const TABLE_FULL: &str = "table_full";
pub(super) const COST_EXCEEDS_BURST: &str = "cost_exceeds_burst";
pub(super) const STORE_UNAVAILABLE: &str = "store_unavailable";
/// By a rule that the caller did not name, or of an algorithm that is not known here.
pub(super) const EXCEEDED: &str = "exceeded";

/// Of a rule's denial.
pub(super) const fn of_algorithm(algorithm: &Algorithm) -> &'static str {
    match algorithm {
        Algorithm::TokenBucket(_) => "token_bucket_exceeded",
        Algorithm::LeakyBucket(_) => "leaky_bucket_full",
        Algorithm::FixedWindow(_) => "fixed_window_exceeded",
        Algorithm::SlidingCounter(_) | Algorithm::SlidingLog(_) => "sliding_window_exceeded",
        Algorithm::Concurrency(_) => "concurrency_exceeded",
        _ => EXCEEDED,
    }
}

/// Of a refusal.
pub(super) const fn of_refusal(kind: RefusalKind) -> &'static str {
    match kind {
        RefusalKind::Blocked => "blocked",
        RefusalKind::KeyMissing => "key_missing",
        RefusalKind::PathEncoded => "path_encoded",
        RefusalKind::KillSwitch => "kill_switch",
        RefusalKind::TooManyRules => "too_many_rules",
    }
}
