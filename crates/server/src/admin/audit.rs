//! `GET /admin/v1/audit`: who changed what, when and why; newest first.

use serde_json::json;
use tollgate_records::{AuditFilter, Role};

use super::call::{Call, PAGE_MAX, PAGE_USUAL, ok};
use super::on_record::refused;
use crate::http::{Problem, Reply};

pub(super) async fn list(call: Call) -> Result<Reply, Problem> {
    let query = call.query(&["cursor", "limit", "who", "action", "target"])?;
    let text = |name: &str| query.get(name).map(str::to_owned);
    let filter = AuditFilter {
        who: text("who"),
        action: text("action"),
        target: text("target"),
        // As with the tokens themselves.
        without_tokens: call.caller.role < Role::Admin,
    };
    let cursor = query.parsed("cursor", "the `cursor` of the page before")?;
    let limit = query.limit(PAGE_USUAL, PAGE_MAX)? as usize;
    let records = call.operations.on_record()?;
    let lines = records.audit(&filter, cursor, limit).await.map_err(|error| refused(&error))?;
    let next = lines.last().filter(|_| lines.len() == limit).map(|line| line.audit_id);
    ok(&json!({ "lines": lines, "cursor": next }))
}
