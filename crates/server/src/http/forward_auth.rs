//! `/v1/forward-auth/{proxy}`: a proxy asks whether to let a request through (D2).
//!
//! The proxy says in header fields what it was asked. Whoever calls this is taken for a proxy of ours, as anybody who reaches the
//! door may describe requests anyway; behind it, the policy says whose word counts. The recipes are in docs/proxies.

use std::net::IpAddr;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use tollgate::Asking;
use tollgate::policy::{ClientAddressSettings, Facts, HeaderFields, Trust, client_address};

use super::fields::Fields;
use super::original::Original;
use super::problem::Problem;
use super::{Reply, ReplyBody};
use crate::denials::Asker;
use crate::door::Door;
use crate::engine::Engine;

/// What a proxy makes of our answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proxy {
    /// Takes 2xx, 401 and 403; everything else is an error to it, and bodies are lost. Status and body are in fields.
    Nginx,
    /// Relay what we answer.
    Relaying,
}

/// The body that the client should get, for proxies that take none from us.
const BODY_FIELD: &str = "tollgate-body";
/// Upon what the verdict rests, where instances share a store.
const MODE_FIELD: &str = "tollgate-mode";
/// Longest body in a field, in bytes; a longer one is left out. Head and body have to fit into the 8 KiB that the recipe allows.
const BODY_FIELD_BYTES_MAX: usize = 4 * 1_024;

/// Answers a proxy. `rest` is the target after `/v1/forward-auth/`.
pub(super) async fn answer<B>(
    engine: &Engine,
    peer: Option<IpAddr>,
    request: &Request<B>,
    rest: &str,
) -> Reply {
    let (name, suffix) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let proxy = match name {
        "nginx" => Proxy::Nginx,
        "haproxy" | "traefik" | "caddy" => Proxy::Relaying,
        _ => return Problem::not_found().reply(),
    };
    let (status, body, mut reply) = match Original::of(request, suffix) {
        Ok(original) => decide(engine, peer, HeaderFields(request.headers()), &original).await,
        Err(problem) => {
            let body = Bytes::from(problem.json());
            (StatusCode::BAD_REQUEST, body, problem.reply())
        }
    };
    *reply.status_mut() = status;
    super::mark_status(&mut reply);
    if !status.is_success() && proxy == Proxy::Nginx {
        *reply.status_mut() = StatusCode::FORBIDDEN;
        if body.len() <= BODY_FIELD_BYTES_MAX
            && let Ok(body) = HeaderValue::from_maybe_shared(body)
        {
            reply.headers_mut().insert(BODY_FIELD, body);
        }
    }
    reply
}

/// What the policy says of the request: status and body, and a response with fields and the same body.
async fn decide(
    engine: &Engine,
    peer: Option<IpAddr>,
    fields: HeaderFields<'_>,
    original: &Original<'_>,
) -> (StatusCode, Bytes, Reply) {
    let limiter = &engine.limiter;
    let begun = limiter.limiter().now();
    let ask = |facts: &Facts<'_>| limiter.policy().decide(facts, Asking::Check);
    let decision = with(engine, peer, fields, original, ask).await;
    let now = limiter.limiter().now();
    engine.metrics.note_duration(Door::Http, begun, now);
    engine.note_decision(Door::Http, &decision, now);
    engine.note_denial(Door::Http, &decision, now, || with(engine, peer, fields, original, Asker::of));
    limiter.answer(&decision, |answering| {
        engine.note_standing(&decision, answering.standing());
        let mut told = Fields::default();
        answering.each_header(|name, value| told.push(name, value));
        let mut body = Bytes::new();
        let mut reply = match answering.body() {
            Some((media, text)) => {
                body = text.into();
                super::answer::text(media, body.clone())
            }
            None => Response::new(ReplyBody::from(Bytes::new())),
        };
        reply.headers_mut().extend(told.header());
        if engine.ledger.is_some() {
            reply.headers_mut().insert(MODE_FIELD, HeaderValue::from_static(answering.mode().name()));
        }
        let status = StatusCode::from_u16(answering.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        (status, body, reply)
    })
}

/// Shows the facts of the request to `ask`.
fn with<T>(
    engine: &Engine,
    peer: Option<IpAddr>,
    fields: HeaderFields<'_>,
    original: &Original<'_>,
    ask: impl FnOnce(&Facts<'_>) -> T,
) -> T {
    let limiter = &engine.limiter;
    let policy = limiter.policy();
    let settings = settings_behind_a_proxy(&policy.client_address, peer, fields);
    let settings = settings.as_ref().unwrap_or(&policy.client_address);
    let bearer = engine.tokens.read(&policy, &fields, || limiter.wall_time().as_secs());
    let facts = Facts {
        host: original.host,
        address: client_address(settings, peer, &fields).address,
        headers: &fields,
        user: bearer.user.as_deref(),
        plan: bearer.plan.as_deref(),
        claims: bearer.claims(),
        ..Facts::new(original.method, original.target)
    };
    ask(&facts)
}

/// Whose word counts, if it is another's than the policy says: the policy may not know that a proxy stands before us.
fn settings_behind_a_proxy(
    settings: &ClientAddressSettings,
    peer: Option<IpAddr>,
    fields: HeaderFields<'_>,
) -> Option<ClientAddressSettings> {
    let is_known = match settings.trust {
        Trust::Nobody => false,
        Trust::Hops(_) => true,
        Trust::Networks(_) => client_address(settings, peer, &fields).told_by.is_some(),
    };
    (!is_known).then(|| ClientAddressSettings { trust: Trust::Hops(1), header: settings.header.clone() })
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::super::STATUS_FIELD;
    use super::*;
    use crate::policy_source::PolicySource;

    /// What the door says to a proxy about the same request, again and again.
    fn answers(name: &str, target: &str, times: usize) -> Vec<Reply> {
        let engine =
            Engine::new(PolicySource::Embedded, tollgate::Limiter::builder().keys_max(1_000), None).unwrap();
        let mut request = Request::builder().header("x-forwarded-method", "GET");
        if !target.is_empty() {
            request = request.header("x-forwarded-uri", target);
        }
        let request = request.header("x-forwarded-for", "192.0.2.7").body(()).unwrap();
        let answer =
            || pin!(answer(&engine, None, &request, name)).poll(&mut Context::from_waker(Waker::noop()));
        let replies = (0..times).map(|_| match answer() {
            Poll::Ready(reply) => reply,
            Poll::Pending => panic!("in memory nothing is waited for"),
        });
        replies.collect()
    }

    fn field<'r>(reply: &'r Reply, name: &str) -> Option<&'r str> {
        reply.headers().get(name).map(|value| value.to_str().unwrap())
    }

    #[test]
    fn every_proxy_is_told_of_a_denial_in_its_own_way() {
        for (name, status, status_field) in [
            ("nginx", StatusCode::FORBIDDEN, Some("429")),
            ("haproxy", StatusCode::TOO_MANY_REQUESTS, Some("429")),
            ("caddy", StatusCode::TOO_MANY_REQUESTS, Some("429")),
            ("traefik", StatusCode::TOO_MANY_REQUESTS, Some("429")),
        ] {
            let replies = answers(name, "/", 12);
            let admitted = replies.iter().filter(|reply| reply.status() == StatusCode::OK).count();
            assert_eq!(admitted, 10, "{name}");
            let denied = replies.last().unwrap();
            assert_eq!((denied.status(), field(denied, STATUS_FIELD)), (status, status_field), "{name}");
            assert_eq!(field(denied, "retry-after").map(str::len), Some(1), "{name}");
            assert_eq!(field(denied, BODY_FIELD).is_some(), name == "nginx", "{name}");
        }
    }

    #[test]
    fn nginx_is_told_status_and_body_of_a_recipe_at_fault_too() {
        let fault = answers("nginx", "", 1).remove(0);
        assert_eq!((fault.status(), field(&fault, STATUS_FIELD)), (StatusCode::FORBIDDEN, Some("400")));
        assert!(field(&fault, BODY_FIELD).unwrap().contains("`X-Forwarded-Uri` is missing"));
    }

    #[test]
    fn a_proxy_that_we_do_not_know_is_not_found() {
        for name in ["", "apache", "nginxx", "nginx2/a"] {
            assert_eq!(answers(name, "/", 1)[0].status(), StatusCode::NOT_FOUND, "{name}");
        }
    }
}
