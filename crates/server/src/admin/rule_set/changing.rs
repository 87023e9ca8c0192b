//! Changes to the rules on record.

use serde_json::json;
use tollgate::policy::EntryReader;
use tollgate_records::{RuleSetChange, Stored};

use super::raw::{RawBase, RawEntry, RawRules};
use super::{base_version, row_called, rules_of};
use crate::admin::call::{Call, ok};
use crate::admin::on_record::not_applied;
use crate::http::{Problem, Reply, shown};
use http::StatusCode;

/// `PUT /rules/{name}`.
pub(in crate::admin) async fn put(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let raw: RawEntry = call.json()?;
    call.operations.on_record()?;
    let (base, comment) = (base_version(&call, raw.base_version).await?, raw.comment.clone());
    let entry = raw.named(call.values.get("name"), &EntryReader::until(&call.stop))?;
    let change = RuleSetChange { put_entries: vec![entry], ..RuleSetChange::default() };
    changed(&call, base, &change, &comment).await
}

/// `DELETE /rules/{name}`: of the file's rule of that name, if there is one, nothing stands in the way any more.
pub(in crate::admin) async fn delete(call: Call) -> Result<Reply, Problem> {
    let query = call.query(&["comment"])?;
    let raw: RawBase = call.json()?;
    call.operations.on_record()?;
    let base = base_version(&call, raw.base_version).await?;
    let comment = query.get("comment").unwrap_or(&raw.comment).to_owned();
    let change = match stored(&call).await? {
        Stored::Entry(name) => RuleSetChange { delete_entries: vec![name], ..RuleSetChange::default() },
        Stored::Row(rule_id) => RuleSetChange { delete_rows: vec![rule_id], ..RuleSetChange::default() },
    };
    changed(&call, base, &change, &comment).await
}

/// `POST /rules/{name}/activate`.
pub(in crate::admin) async fn activate(call: Call) -> Result<Reply, Problem> {
    switch(call, true).await
}

/// `POST /rules/{name}/deactivate`.
pub(in crate::admin) async fn deactivate(call: Call) -> Result<Reply, Problem> {
    switch(call, false).await
}

async fn switch(call: Call, is_active: bool) -> Result<Reply, Problem> {
    call.query(&[])?;
    let raw: RawBase = call.json()?;
    call.operations.on_record()?;
    let base = base_version(&call, raw.base_version).await?;
    let set_active = vec![(stored(&call).await?, is_active)];
    changed(&call, base, &RuleSetChange { set_active, ..RuleSetChange::default() }, &raw.comment).await
}

/// `POST /rules/apply`: several at once, all or nothing.
pub(in crate::admin) async fn apply(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let raw: RawRules = call.json()?;
    let records = call.operations.on_record()?;
    let (base, comment) = (base_version(&call, raw.base_version).await?, raw.comment.clone());
    let change = raw.change(&rules_of(records).await?, &call.stop)?;
    changed(&call, base, &change, &comment).await
}

/// Which entry or row the path names: a row by the name of its rule, as in `user-1`.
async fn stored(call: &Call) -> Result<Stored, Problem> {
    let name = call.values.get("name");
    let rules = rules_of(call.operations.on_record()?).await?;
    if rules.entries.iter().any(|entry| entry.name == name) {
        return Ok(Stored::Entry(name.to_owned()));
    }
    if let Some(row) = row_called(&rules, name) {
        return Ok(Stored::Row(row.rule_id));
    }
    let is_of_file = call.operations.engine.limiter.policy().rules.iter().any(|rule| &*rule.name == name);
    if is_of_file {
        let detail = format!(
            "the rule `{}` is the file's; put one of that name in its place, or order its mode: off, shadow or enforce",
            shown(name)
        );
        return Err(Problem::new(StatusCode::CONFLICT, detail).because("rule_of_file"));
    }
    let detail = format!(
        "there is no rule `{}` on record; GET /admin/v1/rules/export lists those that are",
        shown(name)
    );
    Err(Problem::unknown("name", detail).because("unknown_rule"))
}

async fn changed(call: &Call, base: i64, change: &RuleSetChange, comment: &str) -> Result<Reply, Problem> {
    let operations = &call.operations;
    let (records, judge) = (operations.on_record()?, operations.judge(&call.stop).await?);
    let version = records.apply(base, change, &call.author(), comment, |rules| judge.judge(rules)).await;
    let version = version.map_err(|error| not_applied(&error))?;
    let (number, by) = (version.version, &call.caller.name);
    operations.events.tell_change(&json!({ "what": "rules.apply", "version": number, "by": by }));
    let mut reply = ok(&version)?;
    if let Ok(tag) = format!("\"{number}\"").parse() {
        reply.headers_mut().insert(http::header::ETAG, tag);
    }
    Ok(reply)
}
