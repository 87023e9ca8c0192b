//! A request that was let in, as whoever answers it sees it.

use std::net::IpAddr;
use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tollgate::policy::Stop;

use super::Operations;
use super::caller::Caller;
use super::query::Query;
use super::route::Values;
use crate::http::{Problem, Reply, Whole, reply_text};

/// Lines of a list unless something else is asked for.
pub(super) const PAGE_USUAL: u32 = 50;
/// Most lines of a list.
pub(super) const PAGE_MAX: u32 = 200;

/// A request.
pub(super) struct Call {
    pub(super) operations: Arc<Operations>,
    pub(super) caller: Caller,
    /// Unless it comes by a socket of this machine.
    pub(super) peer: Option<IpAddr>,
    /// What stands in its path.
    pub(super) values: Values,
    pub(super) head: Parts,
    /// Unless it has none.
    pub(super) body: Option<Whole>,
    /// Ends the work for it: the client has left, or the time is up.
    pub(super) stop: Stop,
}

impl Call {
    /// The body as JSON of this form; nothing at all is an object without fields.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let bytes = self.body.as_ref().map_or(&b""[..], |body| &body.bytes);
        let bytes = if bytes.is_empty() { b"{}" } else { bytes };
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Err(Problem::bad("the body is no JSON object; send one".to_owned()).because("bad_body"));
        }
        serde_json::from_slice(bytes).map_err(|error| {
            let detail =
                format!("the body is not what it should be: {error}; /admin/openapi.json describes it");
            Problem::bad(detail).because("bad_body")
        })
    }

    /// What stands behind the question mark; only these names may.
    pub(super) fn query(&self, names: &[&'static str]) -> Result<Query, Problem> {
        Query::read(self.head.uri.query().unwrap_or_default(), names)
    }

    /// The time, in seconds since 1970.
    pub(super) fn unix_s(&self) -> u64 {
        self.operations.engine.limiter.wall_time().as_secs()
    }
}

/// 200 with JSON.
pub(super) fn ok(answer: &impl Serialize) -> Result<Reply, Problem> {
    done(StatusCode::OK, answer)
}

/// A status with JSON.
pub(super) fn done(status: StatusCode, answer: &impl Serialize) -> Result<Reply, Problem> {
    let json = serde_json::to_string(answer);
    let json =
        json.map_err(|error| Problem::unavailable(format!("the answer cannot be written: {error}")))?;
    let mut reply = reply_text("application/json", json);
    *reply.status_mut() = status;
    Ok(reply)
}
