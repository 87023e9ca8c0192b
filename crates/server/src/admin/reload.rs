//! `POST /admin/v1/reload`: the policy and the keys that it names are read again, as on SIGHUP.

use std::sync::Arc;

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use tollgate_records::AuditNote;

use super::call::{Call, ok};
use super::on_record::refused;
use crate::engine::Reload;
use crate::http::{Problem, Reply};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawReload {
    reason: Option<String>,
}

pub(super) async fn reload(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let RawReload { reason } = call.json()?;
    let turn = call.operations.changes.turn().await?;
    if let Some(records) = &call.operations.records {
        // Before it is done: were it done first, it might never be written down.
        let note = AuditNote { action: "policy.reload", reason: reason.as_deref(), ..AuditNote::default() };
        records.note_audit(&note, &call.author()).await.map_err(|error| refused(&error))?;
    }
    let engine = Arc::clone(&call.operations.engine);
    engine.tokens.want_fresh();
    // A large policy takes a while to compile, and the turn is over when it is.
    let reloaded = tokio::task::spawn_blocking(move || (engine.reload(true), turn).0).await;
    let reloaded = reloaded.map_err(|_| Problem::unavailable("the policy could not be read; try again"))?;
    let became = match reloaded {
        Ok(Reload::Swapped) => "another policy is in force",
        Ok(Reload::OtherKeys) => "other keys for tokens are in force",
        Ok(Reload::Unchanged | Reload::StillRefused) => "unchanged",
        Err(fault) => {
            let detail = format!("the policy is refused, and the one before stays in force:\n{fault}");
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail).because("unsound_rules"));
        }
    };
    let loaded = call.operations.engine.loaded();
    let by = &call.caller.name;
    tracing::info!(by, reason, version = loaded.version, hash = loaded.hash, "reloaded as asked: {became}");
    ok(&json!({ "became": became, "version": loaded.version, "hash": loaded.hash }))
}
