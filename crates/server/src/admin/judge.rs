//! Whether rules would be sound together with all else that has a say: file, entries, rows, orders (P9).

use std::sync::Arc;

use tollgate::policy::{Composition, Mistake, StandingOrder, Stop};
use tollgate_records::{NewOrder, Records, RuleSet, Timestamp};

use super::Operations;
use super::on_record::{refused, unsound};
use crate::filed::{FiledRules, standing_order};
use crate::http::Problem;
use crate::parts::Parts;
use crate::policy_source::{PolicyFault, PolicyText};

/// What a rule set is put together with.
#[derive(Debug)]
pub(super) struct Judge {
    file: PolicyText,
    /// Those that stand, and that nothing is wrong with as things are.
    orders: Arc<Vec<StandingOrder>>,
    now_unix_s: i64,
    /// Ends the work when the client leaves or the time is up.
    stop: Stop,
}

impl Operations {
    /// A judge by the file in force and the orders that stand. One that is broken already is reported when it is loaded, and no change
    /// of rules is refused for it.
    pub(super) async fn judge(&self, stop: &Stop) -> Result<Judge, Problem> {
        let file = self.engine.loaded().parts.text.clone();
        let now_unix_s = i64::try_from(self.engine.limiter.wall_time().as_secs()).unwrap_or(i64::MAX);
        let Some(records) = &self.records else {
            return Ok(Judge { file, orders: Arc::default(), now_unix_s, stop: stop.clone() });
        };
        let orders = records.orders(false).await.map_err(|error| refused(&error))?;
        let orders = orders.iter().filter_map(|order| standing_order(order).ok()).collect();
        let rules = FiledRules::from(&rules_of(records).await?);
        let parts = Parts { text: file, rules: Arc::new(rules), orders: Arc::new(orders) };
        let Parts { text: file, orders, .. } = parts.with_sound_orders_until(now_unix_s, stop);
        Ok(Judge { file, orders, now_unix_s, stop: stop.clone() })
    }

    /// Refuses an order that would have mistakes: about a rule that there is not, or a key that is none of its. Where the rules on record
    /// are broken, those in force are what it will stand beside: a mistake in a rule keeps nobody from blocking a client.
    pub(super) async fn judge_order(&self, new: &NewOrder, stop: &Stop) -> Result<(), Problem> {
        let (mut judge, rules) = (self.judge(stop).await?, rules_of(self.on_record()?).await?);
        let in_force = self.engine.loaded();
        let others = judge.orders.iter().chain(&*in_force.parts.orders);
        let id = others.map(|order| order.id).max().unwrap_or(0).saturating_add(1);
        let expires = new.expires_at.map(Timestamp::unix_seconds);
        let (order, reason) = (new.order.clone(), new.reason.clone());
        let beside = std::mem::take(&mut judge.orders);
        let rules = Arc::new(FiledRules::from(&rules));
        let is_broken = judge.put_together(Arc::clone(&rules)).is_err();
        let (beside, rules) = if is_broken {
            (Arc::clone(&in_force.parts.orders), Arc::clone(&in_force.parts.rules))
        } else {
            (beside, rules)
        };
        // Together with the others: of some kinds there can be only so many.
        let new = StandingOrder { id, order, reason, author: String::new(), expires };
        judge.orders = Arc::new(beside.iter().cloned().chain([new]).collect());
        judge.put_together(rules).map(drop).map_err(unsound)
    }
}

/// The rule set on record.
pub(super) async fn rules_of(records: &Records) -> Result<RuleSet, Problem> {
    records.rule_set().await.map_err(|error| refused(&error))
}

impl Judge {
    /// What the rules come to; or every mistake, each in a line.
    pub(super) fn compose(&self, rules: &RuleSet) -> Result<Composition, Vec<String>> {
        self.put_together(Arc::new(rules.into()))
    }

    fn put_together(&self, rules: Arc<FiledRules>) -> Result<Composition, Vec<String>> {
        let parts = Parts { text: self.file.clone(), rules, orders: Arc::clone(&self.orders) };
        parts.compose_until(self.now_unix_s, &self.stop).map_err(|fault| match fault {
            PolicyFault::Mistakes(mistakes) => mistakes.iter().map(line).collect(),
            other => vec![other.to_string()],
        })
    }

    /// As the records ask for it: every mistake in a line.
    pub(super) fn judge(&self, rules: &RuleSet) -> Result<(), String> {
        self.compose(rules).map(drop).map_err(|mistakes| mistakes.join("\n"))
    }
}

/// A mistake in one line.
pub(super) fn line(mistake: &Mistake) -> String {
    let Mistake { source, line, column, field, what, cure, .. } = mistake;
    let place = if *line == 0 { String::new() } else { format!(", line {line}, column {column}") };
    let field = if field.is_empty() { String::new() } else { format!(" `{field}`:") };
    format!("{source}{place}:{field} {what}; {cure}").replace('\n', " ")
}
