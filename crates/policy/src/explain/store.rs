//! How a rule's buckets are kept, in a shared store or in memory, where that is not the default.

use tollgate_core::TableFull;

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
    let table_full = match rule.table.table_full {
        None => "",
        Some(TableFull::Inherit) => {
            "; when the table is full, a new client evicts a bucket and starts with at most the balance of the rule's fullest one"
        }
        Some(TableFull::DenyNew) => "; in a full table, new clients are denied",
        Some(TableFull::SharedOverflow) => "; in a full table, new clients share one bucket",
    };
    format!("{consistency}{failure}{table_full}")
}
