//! What the database has a say in, as it was last read: the rule set and the standing orders, as the rule book takes them.

use std::sync::Arc;

use tollgate::policy::{Entry, Mode, Order, PlainRow, StandingOrder, Who};
use tollgate_records::{self as records, OrderMistake, OrderMode, OrderRecord, RuleSet};

/// What the database says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filed {
    pub(crate) rules: Arc<FiledRules>,
    /// Oldest first. Some may have expired since.
    pub(crate) orders: Arc<Vec<StandingOrder>>,
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

impl From<RuleSet> for FiledRules {
    fn from(read: RuleSet) -> FiledRules {
        let entry =
            |entry: records::Entry| Entry { name: entry.name, text: entry.text, is_active: entry.is_active };
        let row = |row: records::PlainRow| PlainRow {
            rule_id: row.rule_id,
            key_pattern: row.terms.key_pattern,
            scope: row.terms.scope,
            rate_per_second: row.terms.rate_per_second,
            burst_capacity: row.terms.burst_capacity,
            plan: row.terms.plan,
            is_active: row.terms.is_active,
            description: row.terms.description,
        };
        FiledRules {
            version: read.version,
            entries: read.entries.into_iter().map(entry).collect(),
            rows: read.rows.into_iter().map(row).collect(),
        }
    }
}

/// An order as the rule book takes it, or what is wrong with one that was written by hand.
pub(crate) fn standing_order(read: &OrderRecord) -> Result<StandingOrder, OrderMistake> {
    Ok(StandingOrder {
        id: read.order_id,
        order: order(read.order()?),
        reason: read.reason.clone(),
        author: read.author.clone(),
        expires: read.expires_at.map(records::Timestamp::unix_seconds),
    })
}

/// What is ordered, as the rule book takes it.
pub(crate) fn order(filed: records::Order) -> Order {
    match filed {
        records::Order::Block { who } => Order::Block { who: client(who) },
        records::Order::Allow { who } => Order::Allow { who: client(who) },
        records::Order::Override { rule, who, rate, burst } => {
            Order::Override { rule, who: client(who), rate, burst }
        }
        records::Order::KillSwitch { rule } => Order::KillSwitch { rule },
        records::Order::Mode { rule, mode } => Order::Mode {
            rule,
            mode: match mode {
                OrderMode::Shadow => Mode::Shadow,
                OrderMode::Enforce => Mode::Enforce,
                OrderMode::Off => Mode::Off,
            },
        },
    }
}

fn client(who: records::Who) -> Who {
    match who {
        records::Who::User(name) => Who::User(name),
        records::Who::Address(address) => Who::Address(address),
        records::Who::Network(network) => Who::Network(network),
        records::Who::Key { rule, key } => Who::Key { rule, key },
    }
}
