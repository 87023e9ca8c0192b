//! Bounds of a rule's buckets in the memory of one instance.

use tollgate_core::{Algorithm, TableFull};

use crate::{Action, Policy, Rule};

/// Most charges that the sliding logs of one rule may remember.
pub(crate) const LOG_ENTRIES_MAX: u64 = 100_000_000;
/// Keys that a table is taken to have where its size is not known.
pub const MAX_KEYS_ASSUMED: usize = 100_000;

/// Room for buckets in the memory of one instance, for the lints of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableRoom {
    /// Keys of each table.
    pub max_keys: usize,
    /// Charges that the sliding logs of all rules remember together.
    pub log_entries_max: usize,
}

impl TableRoom {
    /// Tables for this number of keys, with the default number of log entries.
    pub fn for_keys(max_keys: usize) -> TableRoom {
        TableRoom { max_keys, log_entries_max: log_entries_default(max_keys) }
    }
}

/// Tables for [`MAX_KEYS_ASSUMED`] keys.
impl Default for TableRoom {
    fn default() -> TableRoom {
        TableRoom::for_keys(MAX_KEYS_ASSUMED)
    }
}

/// Most entries of one client's sliding log in the memory of an instance; beyond it the two oldest charges count as one.
pub const CLIENT_LOG_ENTRIES_MAX: usize = 4_096;

/// Bounds of a rule's buckets in the memory of one instance; `None` is the default of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableSettings {
    /// Treatment of new clients of the rule when the table is full.
    pub table_full: Option<TableFull>,
    /// Charges that the logs of an exact sliding window remember together; 1 to 100,000,000.
    pub log_entries_max: Option<usize>,
}

/// Charges that the sliding logs of all rules remember together by default, beside a table for so many keys: ten for each key, from
/// 10,000 to 1,000,000.
pub fn log_entries_default(max_keys: usize) -> usize {
    max_keys.saturating_mul(10).clamp(10_000, 1_000_000)
}

impl Policy {
    /// How many charges the sliding logs of a rule may remember, if all rules together may remember `total`. Rules with
    /// `log_entries_max` have that many; the others share `total` evenly.
    pub fn log_entries_max(&self, rule: &Rule, total: usize) -> usize {
        let is_sharing =
            |rule: &&Rule| has_log(rule) && rule.table.log_entries_max.is_none() && rule.overrides.is_none();
        let sharing = self.rules.iter().filter(is_sharing).count().max(1);
        rule.table.log_entries_max.unwrap_or((total / sharing).max(1))
    }
}

/// Whether the rule limits by an exact sliding window.
pub(crate) fn has_log(rule: &Rule) -> bool {
    matches!(rule.action, Action::Limit(Algorithm::SlidingLog(_)))
}
