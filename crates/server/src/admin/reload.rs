//! `POST /admin/v1/reload`: the policy and the keys that it names are read again, as on SIGHUP.
//!
//! The trail has two lines of it: `policy.reload` before it is done, and `policy.reloaded` with what became of it.

use std::sync::Arc;

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use tollgate_records::{AuditNote, RecordsError};
use tracing::Instrument;

use super::call::{Call, ok};
use super::on_record::refused;
use crate::engine::{Engine, Reload};
use crate::http::{Problem, Reply};
use crate::policy_source::PolicyFault;

/// Most characters of a fault that the trail has: which one it is, and not the whole of it.
const FAULT_CHARS_MAX: usize = 200;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawReload {
    reason: Option<String>,
}

pub(super) async fn reload(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let RawReload { reason } = call.json()?;
    let turn = call.operations.changes.turn().await?;
    let before = in_force(&call.operations.engine);
    let note = AuditNote {
        action: "policy.reload",
        target: "the policy",
        before: Some(&before),
        after: None,
        reason: reason.as_deref(),
    };
    // Before it is done: were it done first, it might never be written down.
    write(&call, &note).await.map_err(|error| refused(&error))?;
    // Whoever asked may go meanwhile: what became of it is written down all the same, and the turn is over then.
    let work = async move { (read_again(&call, &before, reason.as_deref()).await, turn).0 };
    tokio::spawn(work.in_current_span()).await.unwrap_or_else(|_| Err(unread()))
}

async fn read_again(call: &Call, before: &str, reason: Option<&str>) -> Result<Reply, Problem> {
    let engine = Arc::clone(&call.operations.engine);
    engine.tokens.want_fresh();
    // A large policy takes a while to compile.
    let reloaded = tokio::task::spawn_blocking(move || engine.reload(true)).await.map_err(|_| unread())?;
    let (engine, by) = (&call.operations.engine, &call.caller.name);
    let (before, after) = (Some(before), became(&reloaded, &in_force(engine)));
    let note =
        AuditNote { action: "policy.reloaded", target: "the policy", before, after: Some(&after), reason };
    if let Err(error) = write(call, &note).await {
        tracing::warn!(by, %error, after, "what became of a reload is not in the audit trail");
    }
    let became = match reloaded {
        Ok(Reload::Swapped) => "another policy is in force",
        Ok(Reload::OtherKeys) => "other keys for tokens are in force",
        Ok(Reload::Unchanged | Reload::StillRefused) => "unchanged",
        Err(fault) => {
            let detail = format!("the policy is refused, and the one before stays in force:\n{fault}");
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail).because("unsound_rules"));
        }
    };
    let loaded = engine.loaded();
    tracing::info!(by, reason, version = loaded.version, hash = loaded.hash, "reloaded as asked: {became}");
    ok(&json!({ "became": became, "version": loaded.version, "hash": loaded.hash }))
}

/// Nothing where nothing is kept.
async fn write(call: &Call, note: &AuditNote<'_>) -> Result<(), RecordsError> {
    match &call.operations.records {
        Some(records) => records.note_audit(note, &call.author()).await.map(drop),
        None => Ok(()),
    }
}

fn in_force(engine: &Engine) -> String {
    let loaded = engine.loaded();
    format!("version {}, {}", loaded.version, loaded.hash)
}

/// What became of it, for the trail. After a refusal another version may be in force than before: as much of what was read as can be is.
fn became(reloaded: &Result<Reload, PolicyFault>, in_force: &str) -> String {
    match reloaded {
        Ok(Reload::OtherKeys) => format!("{in_force}, other keys for tokens"),
        Ok(Reload::Swapped | Reload::Unchanged | Reload::StillRefused) => in_force.to_owned(),
        Err(fault) => {
            let fault = fault.to_string();
            let first = fault.lines().next().unwrap_or_default();
            let mut short: String = first.chars().take(FAULT_CHARS_MAX).collect();
            if short.len() < first.len() {
                short.push('…');
            }
            format!("refused: {short}; {in_force} is in force")
        }
    }
}

fn unread() -> Problem {
    Problem::unavailable("the policy could not be read; try again")
}
