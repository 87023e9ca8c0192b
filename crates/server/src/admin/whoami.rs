//! `GET /admin/v1/whoami`: the token of the request and its role. `open` is a Unix socket that reads without one, while there is none.

use serde_json::json;

use super::call::{Call, ok};
use super::caller::Caller;
use crate::http::{Problem, Reply};

pub(super) fn show(call: &Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let Caller { name, token, role, session } = &call.caller;
    // Only a Unix socket comes here without a token, and only while there is none.
    let (is_session, is_open) = (session.is_some(), token.is_none());
    ok(&json!({ "name": name, "token": token, "role": role, "session": is_session, "open": is_open }))
}
