//! `/admin/v1/versions`: what the rule set was, who made it so, and the way back.

use serde_json::json;

use super::call::{Call, PAGE_MAX, PAGE_USUAL, ok};
use super::on_record::{not_applied, refused};
use super::rule_set::{RawBase, base_version};
use crate::http::{Problem, Reply, shown};

/// `GET /versions`.
pub(super) async fn list(call: Call) -> Result<Reply, Problem> {
    let query = call.query(&["cursor", "limit"])?;
    let cursor = query.parsed("cursor", "the `cursor` of the page before")?;
    let limit = query.limit(PAGE_USUAL, PAGE_MAX)? as usize;
    let records = call.operations.on_record()?;
    let versions = records.versions(cursor, limit).await.map_err(|error| refused(&error))?;
    let next = versions.last().filter(|_| versions.len() == limit).map(|version| version.version);
    ok(&json!({ "versions": versions, "cursor": next }))
}

/// `GET /versions/{n}`.
pub(super) async fn show(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let number = number(&call)?;
    ok(&call.operations.on_record()?.version(number).await.map_err(|error| refused(&error))?)
}

/// `GET /versions/{n}/diff?against=m`: what became of version m until version n; m is the one before n unless told otherwise.
pub(super) async fn diff(call: Call) -> Result<Reply, Problem> {
    let query = call.query(&["against"])?;
    let number = number(&call)?;
    let against = query.parsed("against", "the number of a version")?;
    let against = against.or_else(|| number.checked_sub(1)).ok_or_else(|| unknown(call.values.get("n")))?;
    let diff = call.operations.on_record()?.diff(against, number).await;
    let diff = diff.map_err(|error| refused(&error))?;
    ok(&json!({ "from": against, "to": number, "diff": diff }))
}

/// `POST /versions/{n}/rollback`.
pub(super) async fn rollback(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let number = number(&call)?;
    let raw: RawBase = call.json()?;
    let records = call.operations.on_record()?;
    let base = base_version(&call, raw.base_version).await?;
    let judge = call.operations.judge(&call.stop).await?;
    let version =
        records.rollback(number, base, &call.author(), &raw.comment, |rules| judge.judge(rules)).await;
    let version = version.map_err(|error| not_applied(&error))?;
    call.operations.events.tell_change(
        &json!({ "what": "rules.rollback", "version": version.version, "by": call.caller.name }),
    );
    ok(&version)
}

fn number(call: &Call) -> Result<i64, Problem> {
    let text = call.values.get("n");
    text.parse().map_err(|_| unknown(text))
}

fn unknown(text: &str) -> Problem {
    let detail = format!("`n` is '{}'; GET /admin/v1/versions lists them", shown(text));
    Problem::unknown("n", detail).because("not_found")
}
