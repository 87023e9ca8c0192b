//! How a rule is kept in a store that several instances share, where that is not as usual.

use crate::{Consistency, OnStoreFailure, Policy, Rule};

/// The end of a sentence about a rule that limits; empty if all is as usual.
pub(super) fn of_rule(policy: &Policy, rule: &Rule) -> String {
    let consistency = match rule.consistency {
        Consistency::Exact => "",
        Consistency::Leased if policy.can_lease(rule).is_ok() => "; instances lease its tokens",
        Consistency::Leased => "; it is to be leased but stays exact, as `tollgate check` tells",
    };
    let failure = match rule.on_store_failure {
        OnStoreFailure::Local => "",
        OnStoreFailure::Open => "; while the store is down, it limits nothing",
        OnStoreFailure::Closed => "; while the store is down, it refuses",
    };
    format!("{consistency}{failure}")
}
