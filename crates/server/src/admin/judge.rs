//! Whether rules would be sound together with all else that has a say: file, entries, rows, orders (P9).

use tollgate::policy::{self, Composition, Mistake, Mode, Policy, Sources, StandingOrder};
use tollgate_records::{
    Entry, NewOrder, Order, OrderMode, OrderRecord, PlainRow, Records, RuleSet, Timestamp, Who,
};

use super::Operations;
use super::on_record::{refused, unsound};
use crate::http::Problem;
use crate::policy_source::PolicyText;

/// What a rule set is put together with.
#[derive(Debug)]
pub(super) struct Judge {
    file: PolicyText,
    orders: Vec<StandingOrder>,
    now_unix_s: i64,
}

impl Operations {
    /// A judge by the file in force and the orders that stand.
    pub(super) async fn judge(&self) -> Result<Judge, Problem> {
        let orders = match &self.records {
            Some(records) => records.orders(false).await.map_err(|error| refused(&error))?,
            None => Vec::new(),
        };
        let now_unix_s = i64::try_from(self.engine.limiter.wall_time().as_secs()).unwrap_or(i64::MAX);
        // One that was broken by hand is reported when it is loaded, and nothing that a change of rules could mend.
        let orders = orders.iter().filter_map(standing).collect();
        Ok(Judge { file: self.engine.loaded().parts.text.clone(), orders, now_unix_s })
    }

    /// Refuses an order that would have mistakes: about a rule that there is not, or a key that is none of its. Where the rules on record
    /// are broken, those in force are what it will stand beside: a mistake in a rule keeps nobody from blocking a client.
    pub(super) async fn judge_order(&self, new: &NewOrder) -> Result<(), Problem> {
        let (mut judge, rules) = (self.judge().await?, rules_of(self.on_record()?).await?);
        let id = judge.orders.iter().map(|order| order.id).max().unwrap_or(0).saturating_add(1);
        let expires = new.expires_at.map(Timestamp::unix_seconds);
        let (order, reason) = (ordered(&new.order), new.reason.clone());
        judge.orders.clear();
        let is_broken = judge.judge(&rules).is_err();
        judge.orders.push(StandingOrder { id, order, reason, author: String::new(), expires });
        if is_broken {
            let in_force = &self.engine.loaded().parts.rules;
            judge.put_together(&in_force.entries, &in_force.rows)
        } else {
            judge.compose(&rules.entries, &rules.rows)
        }
        .map(drop)
        .map_err(unsound)
    }
}

/// The rule set on record.
pub(super) async fn rules_of(records: &Records) -> Result<RuleSet, Problem> {
    records.rule_set().await.map_err(|error| refused(&error))
}

impl Judge {
    /// What the rules come to; or every mistake, each in a line.
    pub(super) fn compose(&self, entries: &[Entry], rows: &[PlainRow]) -> Result<Composition, Vec<String>> {
        let entries: Vec<_> = entries.iter().map(entry).collect();
        let rows: Vec<_> = rows.iter().map(row).collect();
        self.put_together(&entries, &rows)
    }

    /// The same of rules as the rule book takes them.
    fn put_together(
        &self,
        entries: &[policy::Entry],
        plain_rows: &[policy::PlainRow],
    ) -> Result<Composition, Vec<String>> {
        let PolicyText { name, text } = &self.file;
        let (orders, now_unix_s) = (&self.orders, self.now_unix_s);
        let sources = Sources { file: Some((name, text)), entries, plain_rows, orders, now_unix_s };
        Policy::compose(&sources).map_err(|mistakes| mistakes.iter().map(line).collect())
    }

    /// As the records ask for it: every mistake in a line.
    pub(super) fn judge(&self, rules: &RuleSet) -> Result<(), String> {
        self.compose(&rules.entries, &rules.rows).map(drop).map_err(|mistakes| mistakes.join("\n"))
    }
}

/// A mistake in one line.
pub(super) fn line(mistake: &Mistake) -> String {
    let Mistake { source, line, column, field, what, cure, .. } = mistake;
    let place = if *line == 0 { String::new() } else { format!(", line {line}, column {column}") };
    let field = if field.is_empty() { String::new() } else { format!(" `{field}`:") };
    format!("{source}{place}:{field} {what}; {cure}").replace('\n', " ")
}

fn entry(entry: &Entry) -> policy::Entry {
    let Entry { name, text, is_active, .. } = entry.clone();
    policy::Entry { name, text, is_active }
}

fn row(row: &PlainRow) -> policy::PlainRow {
    let PlainRow { rule_id, terms } = row.clone();
    policy::PlainRow {
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

fn standing(record: &OrderRecord) -> Option<StandingOrder> {
    Some(StandingOrder {
        id: record.order_id,
        order: ordered(&record.order().ok()?),
        reason: record.reason.clone(),
        author: record.author.clone(),
        expires: record.expires_at.map(Timestamp::unix_seconds),
    })
}

fn ordered(order: &Order) -> policy::Order {
    match order.clone() {
        Order::Block { who } => policy::Order::Block { who: whom(who) },
        Order::Allow { who } => policy::Order::Allow { who: whom(who) },
        Order::Override { rule, who, rate, burst } => {
            policy::Order::Override { rule, who: whom(who), rate, burst }
        }
        Order::KillSwitch { rule } => policy::Order::KillSwitch { rule },
        Order::Mode { rule, mode } => policy::Order::Mode {
            rule,
            mode: match mode {
                OrderMode::Shadow => Mode::Shadow,
                OrderMode::Enforce => Mode::Enforce,
                OrderMode::Off => Mode::Off,
            },
        },
    }
}

fn whom(who: Who) -> policy::Who {
    match who {
        Who::User(name) => policy::Who::User(name),
        Who::Address(address) => policy::Who::Address(address),
        Who::Network(network) => policy::Who::Network(network),
        Who::Key { rule, key } => policy::Who::Key { rule, key },
    }
}
