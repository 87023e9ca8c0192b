//! `/v1/forward-auth/{proxy}`: a proxy asks whether to let a request through (D2).
//!
//! The proxy says in header fields what it was asked. Whoever calls this is taken for a proxy of ours, as anybody who reaches the
//! door may describe requests anyway; behind it, the policy says whose word counts.

use std::net::IpAddr;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tollgate::policy::{ClientAddressSettings, Facts, Trust, client_address};

use super::Reply;
use super::fields::Fields;
use super::header_fields::HeaderFields;
use super::problem::Problem;
use crate::door::Door;
use crate::engine::Engine;

/// What a proxy makes of our answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proxy {
    /// Takes 2xx, 401 and 403; everything else is an error to it. The true status is in [`STATUS_FIELD`].
    Nginx,
    /// Relay what we answer.
    Relaying,
}

/// The status that the client should get, for proxies that cannot take it from us.
const STATUS_FIELD: &str = "tollgate-status";

/// Names of the field that holds the original method, by preference.
const METHOD_FIELDS: [&str; 2] = ["x-forwarded-method", "x-original-method"];
/// The same of the original path and query.
const TARGET_FIELDS: [&str; 3] = ["x-forwarded-uri", "x-original-uri", "x-original-url"];
/// The same of the original host.
const HOST_FIELDS: [&str; 2] = ["x-forwarded-host", "x-original-host"];

/// Answers a proxy. `rest` is the path after `/v1/forward-auth/`.
pub(super) fn answer(
    engine: &Engine,
    peer: Option<IpAddr>,
    request: &Request<Incoming>,
    rest: &str,
) -> Reply {
    let (name, suffix) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let proxy = match name {
        "nginx" => Proxy::Nginx,
        "traefik" | "caddy" | "haproxy" => Proxy::Relaying,
        _ => return Problem::not_found().reply(),
    };
    let fields = HeaderFields(request.headers());
    let said = |names: &[&str]| names.iter().find_map(|name| fields.only(name));
    let limiter = &engine.limiter;
    let policy = limiter.policy();
    let settings = settings_behind_a_proxy(&policy.client_address, peer, fields);
    let settings = settings.as_ref().unwrap_or(&policy.client_address);
    let facts = Facts {
        host: said(&HOST_FIELDS).unwrap_or_default(),
        address: client_address(settings, peer, &fields).address,
        headers: &fields,
        ..Facts::new(
            said(&METHOD_FIELDS).unwrap_or(request.method().as_str()),
            said(&TARGET_FIELDS).unwrap_or(if suffix.is_empty() { "/" } else { suffix }),
        )
    };
    let begun = limiter.limiter().now();
    let decision = policy.check(&facts);
    engine.metrics.note_duration(Door::Http, begun, limiter.limiter().now());
    engine.metrics.checks.note_decision(&decision);
    limiter.answer(&decision, |answering| {
        let mut told = Fields::default();
        answering.each_header(|name, value| told.push(name, value));
        let mut reply = match answering.body() {
            Some((media, body)) => super::answer::text(media, body),
            None => Response::new(Full::new(Bytes::new())),
        };
        let status = StatusCode::from_u16(answering.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        told.write_to(reply.headers_mut());
        *reply.status_mut() = match proxy {
            Proxy::Nginx if !status.is_success() => {
                reply.headers_mut().insert(STATUS_FIELD, HeaderValue::from(status.as_u16()));
                StatusCode::FORBIDDEN
            }
            _ => status,
        };
        reply
    })
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
