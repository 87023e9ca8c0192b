//! `GET /admin/v1/status`: how the program is, in one answer.

use serde_json::{Value, json};
use tollgate_records::{Records, RecordsStatus};

use super::call::{Call, ok};
use crate::http::{Problem, Reply};
use crate::shared_store;

pub(super) fn show(call: &Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let engine = &call.operations.engine;
    let (loaded, policy) = (engine.loaded(), engine.limiter.policy());
    let stats = engine.limiter.limiter().stats();
    ok(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "stopping": engine.is_stopping(),
        "unix_s": call.unix_s(),
        "policy": {
            "name": policy.name,
            "version": loaded.version,
            "hash": loaded.hash,
            "outdated": loaded.refused.is_some(),
            "refused": loaded.refused,
            "notes": loaded.notes,
            "orders": loaded.parts.orders.len(),
            "rules_version": loaded.parts.rules.version,
            "rules": policy.rules.len(),
        },
        "store": shared_store::standing(engine.ledger.as_ref()),
        "keys": stats.slots_taken,
        "records": records(call.operations.records.as_ref()),
    }))
}

fn records(records: Option<&Records>) -> Value {
    match records.map(Records::status) {
        None => json!({ "state": "off" }),
        Some(RecordsStatus::Connecting) => json!({ "state": "connecting" }),
        Some(RecordsStatus::Ready { .. }) => json!({ "state": "ready" }),
        Some(RecordsStatus::Failing { why, since }) => {
            json!({ "state": "failing", "why": why, "since": since.to_string() })
        }
    }
}
