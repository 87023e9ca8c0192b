//! What a change would come to, without making it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tollgate::policy::{Composition, Lint, TableRoom};
use tollgate_records::{Entry, PlainRow, RuleSet, RuleSetChange};

use super::on_record_or_empty;
use super::raw::RawRules;
use crate::admin::call::{Call, ok};
use crate::http::{Problem, Reply};

/// Most lints that are told of a proposal.
const LINTS_MAX: usize = 100;

/// `POST /rules/validate`: whether the rules would be sound, with the lints for a service of this size; every mistake if not.
pub(in crate::admin) async fn validate(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let (current, proposed) = proposed(&call).await?;
    let judge = call.operations.judge(&call.stop).await?;
    let engine = &call.operations.engine;
    let room = match engine.ledger {
        None => {
            let stats = engine.limiter.limiter().stats();
            TableRoom { max_keys: stats.keys_max, log_entries_max: stats.log_entries_max }
        }
        Some(_) => TableRoom::default(),
    };
    let (notes, lints, mistakes) = match judge.compose(&proposed) {
        Ok(Composition { policy, notes, .. }) => {
            let lints = policy.lints_until(room, &call.stop).ok_or_else(too_slow)?;
            (notes, lints, Vec::new())
        }
        Err(mistakes) => (Vec::new(), Vec::new(), mistakes),
    };
    let lints: Vec<String> = lints.iter().take(LINTS_MAX).map(Lint::to_string).collect();
    let (valid, version) = (mistakes.is_empty(), current.version);
    ok(&json!({ "valid": valid, "mistakes": mistakes, "notes": notes, "lints": lints, "version": version }))
}

fn too_slow() -> Problem {
    Problem::unavailable("the lints of these rules take too long; validate fewer rules at once")
}

/// `POST /rules/diff`: what would be added, removed and changed.
pub(in crate::admin) async fn diff(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let (current, proposed) = proposed(&call).await?;
    let entry = |entry: &Entry| (entry.name.clone(), json!(entry));
    let row = |row: &PlainRow| (row.rule_id, json!(row));
    ok(&json!({
        "version": current.version,
        "entries": between(
            current.entries.iter().map(entry).collect(),
            proposed.entries.iter().map(entry).collect(),
        ),
        "rows": between(current.rows.iter().map(row).collect(), proposed.rows.iter().map(row).collect()),
    }))
}

/// What is on record, and what would be.
async fn proposed(call: &Call) -> Result<(RuleSet, RuleSet), Problem> {
    let raw: RawRules = call.json()?;
    let current = on_record_or_empty(call).await?;
    let change = raw.change(&current, &call.stop)?;
    let proposed = made_to(&current, change)?;
    Ok((current, proposed))
}

/// The rule set after a change. Rows without a number have those that follow.
fn made_to(current: &RuleSet, change: RuleSetChange) -> Result<RuleSet, Problem> {
    let mut entries: BTreeMap<String, Entry> =
        current.entries.iter().map(|entry| (entry.name.clone(), entry.clone())).collect();
    let mut rows: BTreeMap<i64, PlainRow> =
        current.rows.iter().map(|row| (row.rule_id, row.clone())).collect();
    change.delete_entries.iter().for_each(|name| drop(entries.remove(name)));
    change.delete_rows.iter().for_each(|rule_id| drop(rows.remove(rule_id)));
    entries.extend(change.put_entries.into_iter().map(|entry| (entry.name.clone(), entry)));
    let mut next = current.rows.iter().map(|row| row.rule_id).max().unwrap_or(0);
    for put in change.put_rows {
        if let Some(rule_id) = put.rule_id.filter(|rule_id| !rows.contains_key(rule_id)) {
            let detail = format!("there is no row {rule_id}; leave `rule_id` out for a new one");
            return Err(Problem::unknown("rule_id", detail).because("not_found"));
        }
        let rule_id = put.rule_id.unwrap_or_else(|| {
            next = next.saturating_add(1);
            next
        });
        rows.insert(rule_id, PlainRow { rule_id, terms: put.terms });
    }
    let (entries, rows) = (entries.into_values().collect(), rows.into_values().collect());
    Ok(RuleSet { entries, rows, ..current.clone() })
}

/// What differs, by name or number.
fn between<K: Ord>(mut before: BTreeMap<K, Value>, after: BTreeMap<K, Value>) -> Value {
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    for (key, after) in after {
        match before.remove(&key) {
            None => added.push(after),
            Some(before) if before != after => changed.push(json!({ "before": before, "after": after })),
            Some(_) => {}
        }
    }
    let removed: Vec<Value> = before.into_values().collect();
    json!({ "added": added, "removed": removed, "changed": changed })
}
