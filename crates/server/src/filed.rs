//! What the database has a say in, as it was last read: the rule set and the standing orders, as the rule book takes them.

use std::sync::Arc;

use tollgate::policy::{Entry, PlainRow, StandingOrder};
use tollgate_records::{self as records, OrderMistake, OrderRecord, RuleSet, StoredVersion};

/// What the database says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filed {
    pub(crate) rules: Arc<FiledRules>,
    /// Oldest first. Some may have expired since.
    pub(crate) orders: Arc<Vec<StandingOrder>>,
    /// What of it could not be read, and why: a line each. The rest counts, and what was read of it before.
    pub(crate) unread: Option<String>,
}

/// The rule set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FiledRules {
    /// 0 before the first change.
    pub(crate) version: i64,
    pub(crate) entries: Vec<Entry>,
    pub(crate) rows: Vec<PlainRow>,
}

impl FiledRules {
    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.rows.is_empty()
    }
}

impl From<&StoredVersion> for FiledRules {
    fn from(read: &StoredVersion) -> FiledRules {
        FiledRules {
            version: read.version.version,
            entries: read.entries.iter().map(entry).collect(),
            rows: read.rows.iter().map(row).collect(),
        }
    }
}

impl From<&RuleSet> for FiledRules {
    fn from(read: &RuleSet) -> FiledRules {
        FiledRules {
            version: read.version,
            entries: read.entries.iter().map(entry).collect(),
            rows: read.rows.iter().map(row).collect(),
        }
    }
}

fn entry(filed: &records::Entry) -> Entry {
    let records::Entry { name, text, is_active, .. } = filed.clone();
    Entry { name, text, is_active }
}

fn row(filed: &records::PlainRow) -> PlainRow {
    let records::PlainRow { rule_id, terms } = filed.clone();
    PlainRow {
        rule_id,
        key_pattern: terms.key_pattern,
        scope: terms.scope,
        rate_per_second: terms.rate_per_second,
        burst_capacity: terms.burst_capacity,
        plan: terms.plan,
        is_active: terms.is_active,
        description: terms.description,
    }
}

/// An order as the rule book takes it, or what is wrong with one that was written by hand.
pub(crate) fn standing_order(read: &OrderRecord) -> Result<StandingOrder, OrderMistake> {
    Ok(StandingOrder {
        id: read.order_id,
        order: read.order()?,
        reason: read.reason.clone(),
        author: read.author.clone(),
        expires: read.expires_at.map(records::Timestamp::unix_seconds),
    })
}
