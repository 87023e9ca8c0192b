//! `/livez` and `/readyz`.

use http::StatusCode;
use serde::Serialize;

use super::{Reply, answer};
use crate::engine::Engine;
use crate::filing;
use crate::shared_store;
use crate::tokens::Standing;

#[derive(Serialize)]
struct Readiness<'e> {
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    store: &'static str,
    /// A reason why the limits may not hold over all instances.
    #[serde(skip_serializing_if = "Option::is_none")]
    store_note: Option<&'static str>,
    /// How the database is, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<&'static str>,
    /// How the keys for tokens are, if the policy names any.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<&'static str>,
    policy: InForce<'e>,
}

#[derive(Serialize)]
struct InForce<'e> {
    name: &'e str,
    version: u64,
    hash: &'e str,
    /// Something later was refused: a text, or what the database says.
    outdated: bool,
}

/// The program runs.
pub(super) fn livez() -> Reply {
    answer::text("text/plain; charset=utf-8", "ok\n")
}

/// Whether the program should be sent anything, and by which policy it decides.
pub(super) fn readyz(engine: &Engine) -> Reply {
    let loaded = engine.loaded();
    let policy = engine.limiter.policy();
    let is_stopping = engine.is_stopping();
    let readiness = Readiness {
        ready: !is_stopping,
        why: is_stopping.then_some("stopping"),
        store: shared_store::standing(engine.ledger.as_ref()),
        store_note: shared_store::note(engine.ledger.as_ref(), &policy),
        records: engine.records.as_ref().map(|records| filing::standing(&records.status())),
        tokens: engine.tokens.standing().map(|standing| match standing {
            Standing::Ready => "ready",
            Standing::Stale => "stale keys",
            Standing::Waiting => "waiting for keys",
        }),
        policy: InForce {
            name: &policy.name,
            version: loaded.version,
            hash: &loaded.hash,
            outdated: loaded.refused.is_some(),
        },
    };
    // Texts and numbers: nothing in it can fail to be written.
    let mut reply = answer::text("application/json", serde_json::to_string(&readiness).unwrap_or_default());
    if is_stopping {
        *reply.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    reply
}
