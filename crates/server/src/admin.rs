//! The admin API: what operators ask and change while the doors are open (O2, O3).
//!
//! ```text
//!  request ─► guard: host, origin ─► caller by token or session, within an allowance ─► route ─► role ─► body ─► handler ─► JSON
//! ```
//! Promises that no handler runs for a caller whose role is below its route's, that every route is in the one table
//! ([`routes`]) and in the description (`openapi.json`), and that no token is ever written to a log, a trace or an answer. Checks never wait
//! for any of it. The page that browsers show of it is [`page`].

mod call;
mod caller;
mod guard;
mod keyring;
mod known_tokens;
mod on_record;
mod openapi;
mod operations;
mod page;
mod playroom;
mod query;
mod route;
mod routes;
mod start_token;
mod workshop;

mod audit;
mod buckets;
mod events;
mod follower;
mod history;
mod judge;
mod moment;
mod neighbours;
mod orders;
mod playground;
mod reload;
mod rule_set;
mod rules;
mod schema;
mod session;
mod simulate;
mod status;
mod tokens;
mod top;
mod versions;
mod violations;
mod whoami;

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderValue, Method, Request};
use hyper::body::Incoming;
use tollgate::policy::Stop;

use self::call::Call;
pub(crate) use self::guard::Hosts;
pub(crate) use self::operations::Operations;
pub(crate) use self::page::{answer as answer_page, is_for as is_for_page};
pub(crate) use self::start_token::Offer;
use crate::door::Door;
use crate::gatehouse::Gatehouse;
use crate::http::{Problem, Reply, read_body};

/// Longest body, in bytes.
const BODY_BYTES_MAX: usize = 1_024 * 1_024;

/// Whether a path is the admin API's.
pub(crate) fn is_for(path: &str) -> bool {
    path.starts_with("/admin/")
}

/// Answers a request to the admin API.
pub(crate) async fn answer(
    gatehouse: &Arc<Gatehouse>,
    peer: Option<IpAddr>,
    request: Request<Incoming>,
) -> Reply {
    let mut reply = match admitted(gatehouse, peer, request).await {
        Ok(reply) => reply,
        Err(problem) => problem.reply(),
    };
    let fields = reply.headers_mut();
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    reply
}

/// The answer, once nothing is left to object to.
async fn admitted(
    gatehouse: &Arc<Gatehouse>,
    peer: Option<IpAddr>,
    request: Request<Incoming>,
) -> Result<Reply, Problem> {
    let operations = &gatehouse.operations;
    let (head, body) = request.into_parts();
    guard::check_host(&head, &operations.hosts)?;
    guard::check_origin(&head)?;
    // Who is not let in does not learn which paths there are.
    let found = routes::find(&head.method, head.uri.path());
    let takes_strangers =
        found.as_ref().is_ok_and(|(route, _)| route.strangers.are_welcome(operations.playground));
    let caller = match guard::sign_in(&head, peer, operations, takes_strangers).await {
        Ok(caller) => caller,
        Err(refused) => return Ok(refused),
    };
    let (route, values) = found?;
    caller.check_role(route.role)?;
    let body = if has_body(&head, &body) {
        guard::check_media(&head)?;
        Some(read_body(body, BODY_BYTES_MAX, gatehouse, Door::Admin).await?)
    } else {
        None
    };
    let call =
        Call { operations: Arc::clone(operations), caller, peer, values, head, body, stop: Stop::default() };
    (route.handler)(call).await
}

/// Whether there is a body to be read: who changes something by POST or PUT always says in which form, even if it says nothing.
fn has_body(head: &Parts, body: &impl hyper::body::Body) -> bool {
    match head.method {
        Method::GET | Method::HEAD => false,
        Method::POST | Method::PUT => true,
        _ => !body.is_end_stream(),
    }
}

#[cfg(test)]
mod tests;
