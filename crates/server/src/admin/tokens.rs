//! `/admin/v1/tokens`: who may open this door. A secret is shown once, when it is made.

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use tollgate_records::{NewToken, Role};

use super::call::{Call, done, ok};
use super::moment;
use super::on_record::refused;
use crate::http::{Problem, Reply, shown};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawToken {
    name: String,
    role: String,
    expires: Option<String>,
}

/// `GET /tokens`.
pub(super) async fn list(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let tokens = call.operations.on_record()?.tokens().await.map_err(|error| refused(&error))?;
    ok(&json!({ "tokens": tokens }))
}

/// `POST /tokens`.
pub(super) async fn create(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let RawToken { name, role, expires } = call.json()?;
    let records = call.operations.on_record()?;
    let role = Role::parse(&role).ok_or_else(|| {
        let detail = format!("`role` is '{}'; use viewer, operator or admin", shown(&role));
        Problem::field("role", detail).because("bad_body")
    })?;
    let expires_at = expires.map(|text| moment::read(&text, call.unix_s())).transpose()?;
    let new = NewToken { name, role, expires_at };
    let made = records.create_token(&new, &call.author()).await.map_err(|error| refused(&error))?;
    let (secret, token) = made;
    call.operations.events.tell_admins(&json!({ "what": "token.create", "token": token.token_id }));
    done(StatusCode::CREATED, &json!({ "secret": secret.reveal(), "token": token }))
}

/// `DELETE /tokens/{id}`; `?reason=…` says why.
pub(super) async fn revoke(call: Call) -> Result<Reply, Problem> {
    let query = call.query(&["reason"])?;
    let records = call.operations.on_record()?;
    let token = records.revoke_token(call.values.get("id"), &call.author(), query.get("reason")).await;
    let token = token.map_err(|error| refused(&error))?;
    // At once; at other instances within a second.
    call.operations.sessions.end_of(&token.token_id);
    call.operations.events.tell_admins(&json!({ "what": "token.revoke", "token": token.token_id }));
    ok(&token)
}
