//! What a limiter over a shared store, and each of its rules, may be told besides the URL and the limit.

use tollgate::Breadth;
use tollgate::policy::{OnStoreFailure, StoreSettings};

use crate::LedgerOptions;

/// What a [`crate::SharedLimiter`] may be told besides its URL.
#[derive(Debug, Clone)]
pub struct SharedOptions {
    /// What keeps the rules of this limiter apart from those of others in the same store; `limiter` unless told otherwise. Programs that give
    /// the same name here and the same names to rules share buckets.
    pub name: Box<str>,
    /// The deadline of a check, how many instances there are at most, and the like.
    pub store: StoreSettings,
    /// Connections, and the names of keys.
    pub ledger: LedgerOptions,
}

/// What a rule says besides its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleTerms {
    /// How many clients share a bucket; one unless told otherwise.
    pub breadth: Breadth,
    /// What becomes of its checks while the store does not answer; unless told otherwise this instance's share of the limit decides.
    pub on_store_failure: OnStoreFailure,
}

impl Default for SharedOptions {
    fn default() -> Self {
        let (store, ledger) = (StoreSettings::default(), LedgerOptions::default());
        SharedOptions { name: "limiter".into(), store, ledger }
    }
}

impl Default for RuleTerms {
    fn default() -> Self {
        RuleTerms { breadth: Breadth::Client, on_store_failure: OnStoreFailure::Local }
    }
}
