//! The caller of a request: the holder of a token or of its session. While there is no token at all, a Unix socket may read without one.

use std::net::IpAddr;

use http::StatusCode;
use http::header::SET_COOKIE;
use http::request::Parts;

use super::bearer::{self, Said};
use super::origin::check_asked_by_page;
use crate::admin::Operations;
use crate::admin::caller::Caller;
use crate::admin::keyring::NoHolder;
use crate::admin::session::{Carried, Found, SessionCookie};
use crate::http::{Problem, Reply};

/// Fields by which a proxy says that it forwards a request.
const FORWARDING: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// Somebody who was not let in.
struct Refusal {
    problem: Problem,
    /// A token was sent, and was no good.
    is_guess: bool,
}

/// Whoever sends this request, unless nobody may know, or they ask too often.
///
/// What takes strangers takes whoever sends no token, and nobody whose token is no good.
///
/// Requests without a right token share the allowance of their address. A right token has an allowance of its own, whatever other clients
/// at its address send: once theirs is spent, a token is compared with the hashes of a list that is read once a second at most.
pub(crate) async fn sign_in(
    head: &Parts,
    peer: Option<IpAddr>,
    operations: &Operations,
    takes_strangers: bool,
) -> Result<Caller, Reply> {
    let (keyring, allowance) = (&operations.keyring, &operations.allowance);
    let said = bearer::read(&head.headers);
    // Who says who it is, is not asked for a cookie.
    let carried =
        if said == Said::Nothing { SessionCookie::of(head).read(&head.headers) } else { Carried::Nothing };
    if carried != Carried::Nothing {
        return by_cookie(carried, head, peer, operations, takes_strangers).await;
    }
    let is_stranger = !matches!(said, Said::Token(token) if keyring.is_proven(token));
    if is_stranger && let Some(denied) = allowance.ask(peer) {
        let Said::Token(token) = said else { return Err(denied) };
        if !keyring.is_right(token).await {
            return Err(denied);
        }
    }
    if takes_strangers && matches!(said, Said::Nothing) {
        return Ok(Caller::stranger());
    }
    let caller = identify(said, head, peer, operations).await.map_err(|Refusal { problem, is_guess }| {
        let denied = if is_guess { allowance.note_failed(peer) } else { None };
        denied.unwrap_or_else(|| problem.reply())
    })?;
    denial(&caller, operations).map_or(Ok(caller), Err)
}

/// Whoever a cookie belongs to: the holder of the token with which the session was opened, while that is good. Any other cookie is nobody's, and
/// whoever sends it is a stranger; the browser is told to forget it.
async fn by_cookie(
    carried: Carried,
    head: &Parts,
    peer: Option<IpAddr>,
    operations: &Operations,
    takes_strangers: bool,
) -> Result<Caller, Reply> {
    let found = find(carried, operations).await;
    if let Found::Holder(caller) = found {
        let denied = denial(&caller, operations);
        let refused = || check_asked_by_page(head).err().map(Problem::reply);
        return denied.or_else(refused).map_or(Ok(caller), Err);
    }
    if let Some(denied) = operations.allowance.ask(peer) {
        return Err(denied);
    }
    if takes_strangers {
        return Ok(Caller::stranger());
    }
    let stranger = identify(Said::Nothing, head, peer, operations).await;
    stranger.map_err(|Refusal { problem, .. }| {
        let is_over = found == Found::Over && problem.status == StatusCode::UNAUTHORIZED;
        let problem = if is_over { unauthorised("session_over", OVER) } else { problem };
        let mut reply = problem.reply();
        reply.headers_mut().insert(SET_COOKIE, SessionCookie::of(head).cleared());
        reply
    })
}

/// Whose session it is, while the token is good.
async fn find(carried: Carried, operations: &Operations) -> Found {
    let Carried::Session(digest) = carried else { return Found::Unknown };
    let found = operations.sessions.find(digest, operations.engine.limiter.limiter().now());
    if let Found::Holder(caller) = &found
        && !operations.keyring.still_knows(caller).await
    {
        operations.sessions.end(digest);
        return Found::Over;
    }
    found
}

/// The answer to the holder of a token who asks too often.
fn denial(caller: &Caller, operations: &Operations) -> Option<Reply> {
    caller.token.as_deref().and_then(|token_id| operations.allowance.ask_with(token_id))
}

/// Lets somebody have the page, unless they ask too often: the holder of a session by their token, strangers by their address.
pub(crate) async fn ask_for_page(
    head: &Parts,
    peer: Option<IpAddr>,
    operations: &Operations,
) -> Result<(), Reply> {
    let denied = match find(SessionCookie::of(head).read(&head.headers), operations).await {
        Found::Holder(caller) => denial(&caller, operations),
        Found::Over | Found::Unknown => operations.allowance.ask(peer),
    };
    denied.map_or(Ok(()), Err)
}

async fn identify(
    said: Said<'_>,
    head: &Parts,
    peer: Option<IpAddr>,
    operations: &Operations,
) -> Result<Caller, Refusal> {
    let guess = |problem| Refusal { problem, is_guess: true };
    let refusal = |problem| Refusal { problem, is_guess: false };
    match said {
        Said::Token(token) => operations.keyring.holder(token).await.map_err(|why| match why {
            NoHolder::Unknown => guess(unauthorised("unknown_token", UNKNOWN)),
            NoHolder::Expired => guess(unauthorised("expired_token", EXPIRED)),
            NoHolder::Revoked => guess(unauthorised("revoked_token", REVOKED)),
            NoHolder::Unavailable(problem) => refusal(problem),
        }),
        Said::Malformed => Err(guess(unauthorised("malformed_token", MALFORMED))),
        Said::Nothing if !operations.keyring.is_empty().await.map_err(refusal)? => {
            Err(refusal(unauthorised("token_needed", NEEDED)))
        }
        Said::Nothing if is_unix_socket(head, peer) => Ok(Caller::local()),
        Said::Nothing => Err(refusal(unauthorised("no_token_configured", NOT_CONFIGURED))),
    }
}

const MALFORMED: &str =
    "`Authorization` is no bearer token; send it once, as in `Authorization: Bearer tg_…`";
const UNKNOWN: &str = "there is no such token; check it, or create one with `tollgate token create`";
const EXPIRED: &str = "the token has expired; create another with `tollgate token create`";
const REVOKED: &str = "the token was revoked; create another with `tollgate token create`";
const OVER: &str = "the session is over, or its token is no good any more; sign in again, or send a token as `Authorization: Bearer tg_…`";
const NEEDED: &str =
    "a token is needed; send one as `Authorization: Bearer tg_…`, or create one with `tollgate token create`";
const NOT_CONFIGURED: &str = "no token is configured; create one with `tollgate token create`, or send the viewer token of this start, \
                              whose file the server names when it starts, as `Authorization: Bearer tg_…`";

fn unauthorised(reason: &'static str, detail: &str) -> Problem {
    let challenge = match reason {
        "token_needed" | "no_token_configured" => "Bearer realm=\"tollgate\"",
        _ => "Bearer realm=\"tollgate\", error=\"invalid_token\"",
    };
    let problem = Problem::new(StatusCode::UNAUTHORIZED, detail.to_owned()).because(reason);
    problem.with_header("www-authenticate", challenge)
}

/// Returns whether a request came over a Unix socket, and not through a proxy that says so.
fn is_unix_socket(head: &Parts, peer: Option<IpAddr>) -> bool {
    peer.is_none() && !FORWARDING.iter().any(|field| head.headers.contains_key(*field))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn tcp_and_forwarded_requests_are_no_unix_socket() {
        let is_unix_socket = |peer: Option<&str>, field: Option<&str>| {
            let mut request = Request::builder();
            if let Some(field) = field {
                request = request.header(field, "192.0.2.7");
            }
            let head = request.body(()).unwrap().into_parts().0;
            super::is_unix_socket(&head, peer.map(|peer| peer.parse().unwrap()))
        };
        assert!(is_unix_socket(None, None));
        for field in FORWARDING {
            assert!(!is_unix_socket(None, Some(field)), "{field}");
        }
        for peer in
            ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "192.0.2.7", "2001:db8::1", "0.0.0.0"]
        {
            assert!(!is_unix_socket(Some(peer), None), "{peer}");
        }
    }
}
