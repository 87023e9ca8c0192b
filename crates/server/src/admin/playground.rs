//! `GET /admin/v1/playground`: whether limits may be played through without signing in. Anybody may know.

use serde_json::json;

use super::call::{Call, ok};
use super::route::Strangers;
use crate::http::{Problem, Reply};

pub(super) fn show(call: &Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    ok(&json!({ "open": Strangers::InPlayground.are_welcome(call.operations.playground) }))
}
