//! `/admin/v1/session`: somebody signs in with a token and goes on with a cookie, so that a page need not keep the token.
//!
//! ```text
//!  POST, token ─► 256 random bits ─► cookie: HttpOnly, SameSite=Strict
//!                    └─► SHA-256 ─► Sessions: whose it is, since when, when it last asked
//! ```
//! Promises that the server keeps no cookie but its hash, that a session is never more than its token and ends with it, and that there are at
//! most [`sessions::SESSIONS_MAX`]. They are in memory: each instance has its own, and none after a start.

mod cookie;
mod session_id;
mod sessions;

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::SET_COOKIE;
use serde_json::json;

use super::call::{Call, done};
pub(super) use cookie::{Carried, SessionCookie};
pub(super) use session_id::SessionDigest;
use session_id::SessionId;
use sessions::SESSION_TIME_MAX;
pub(super) use sessions::{Found, Sessions};

use crate::http::{Problem, Reply, ReplyBody};

/// `POST /session`.
pub(super) fn open(call: &Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    call.json::<Nothing>()?;
    let caller = &call.caller;
    let Some(token) = caller.token.as_deref().filter(|_| caller.session.is_none()) else {
        let detail = "`Authorization` is missing; send a token once more, as in `Authorization: Bearer tg_…`";
        return Err(Problem::field("Authorization", detail.to_owned()).because("token_needed"));
    };
    let sessions = &call.operations.sessions;
    let cookie = SessionCookie::of(&call.head);
    // Who signs in anew has no use for the session before.
    if let Carried::Session(before) = cookie.read(&call.head.headers) {
        sessions.end(before);
    }
    let id = SessionId::random().ok_or_else(|| Problem::unavailable("this machine has no random numbers"))?;
    let limiter = &call.operations.engine.limiter;
    sessions.open(id.digest(), caller, limiter.limiter().now());
    let expires = limiter.wall_time() + Duration::from_nanos(SESSION_TIME_MAX.as_nanos());
    let expires_ms = u64::try_from(expires.as_millis()).unwrap_or(u64::MAX);
    let answer =
        json!({ "name": caller.name, "token": token, "role": caller.role, "expires_ms": expires_ms });
    let mut reply = done(StatusCode::CREATED, &answer)?;
    reply.headers_mut().insert(SET_COOKIE, cookie.holding(&id));
    Ok(reply)
}

/// `DELETE /session`.
pub(super) fn close(call: &Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let cookie = SessionCookie::of(&call.head);
    if let Carried::Session(session) = cookie.read(&call.head.headers) {
        call.operations.sessions.end(session);
    }
    let mut reply = Reply::new(ReplyBody::from(Bytes::new()));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    reply.headers_mut().insert(SET_COOKIE, cookie.cleared());
    Ok(reply)
}

/// An object without fields.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}
