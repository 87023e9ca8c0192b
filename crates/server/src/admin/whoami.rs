//! `GET /admin/v1/whoami`: by which token somebody asks, and what it may do.

use serde_json::json;

use super::call::{Call, ok};
use crate::http::{Problem, Reply};

pub(super) fn show(call: &Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    ok(&json!({ "name": call.caller.name, "token": call.caller.token, "role": call.caller.role }))
}
