//! `GET /admin/v1/whoami`: by which token somebody asks, and what it may do; `open` is a door without tokens, at which this machine may look.

use serde_json::json;

use super::call::{Call, ok};
use super::caller::Caller;
use crate::http::{Problem, Reply};

pub(super) fn show(call: &Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let Caller { name, token, role, session } = &call.caller;
    // Who is let in without a token is let in because there is none.
    let (is_session, is_open) = (session.is_some(), token.is_none());
    ok(&json!({ "name": name, "token": token, "role": role, "session": is_session, "open": is_open }))
}
