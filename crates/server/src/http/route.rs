//! Which path is answered by whom.

use std::net::IpAddr;
use std::sync::Arc;

use http::uri::PathAndQuery;
use http::{Method, Request};
use hyper::body::Incoming;

use super::body::{self, BATCH_BYTES_MAX, BODY_BYTES_MAX};
use super::problem::Problem;
use super::{Reply, answer, batch, check, forward_auth, health, openapi, reserve, settle};
use crate::door::Door;
use crate::engine::Engine;
use crate::gatehouse::Gatehouse;
use crate::metrics;

/// What may be asked about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    Check,
    CheckBatch,
    Peek,
    Refund,
    Reserve,
    Commit,
    Cancel,
}

/// Answers a request to the HTTP door.
pub(super) async fn answer(
    gatehouse: &Arc<Gatehouse>,
    peer: Option<IpAddr>,
    request: Request<Incoming>,
) -> Reply {
    let path = request.uri().path();
    let Some(question) = Question::at(path) else {
        let target = request.uri().path_and_query().map_or(path, PathAndQuery::as_str);
        if let Some(rest) = target.strip_prefix("/v1/forward-auth/") {
            return forward_auth::answer(&gatehouse.engine, peer, &request, rest).await;
        }
        return answer_about_us(gatehouse, Door::Http, &request);
    };
    if request.method() != Method::POST {
        return Problem::method("POST").reply();
    }
    let always_200 = match answers_200(request.uri().query()) {
        Ok(always_200) => always_200,
        Err(problem) => return problem.reply(),
    };
    let told = match body::read(request.into_body(), question.body_bytes_max(), gatehouse, Door::Http).await {
        Ok(body) => question.answer(&gatehouse.engine, &body.bytes).await,
        Err(problem) => Err(problem),
    };
    match told {
        Ok(told) => told.reply(always_200),
        Err(problem) => problem.reply(),
    }
}

impl Question {
    /// What is asked at a path.
    pub(super) fn at(path: &str) -> Option<Question> {
        Some(match path {
            "/v1/check" => Question::Check,
            "/v1/check/batch" => Question::CheckBatch,
            "/v1/peek" => Question::Peek,
            "/v1/refund" => Question::Refund,
            "/v1/reserve" => Question::Reserve,
            "/v1/commit" => Question::Commit,
            "/v1/cancel" => Question::Cancel,
            _ => return None,
        })
    }

    /// The longest body, in bytes.
    pub(super) const fn body_bytes_max(self) -> usize {
        match self {
            Question::CheckBatch => BATCH_BYTES_MAX,
            _ => BODY_BYTES_MAX,
        }
    }

    /// The answer to a body. Where the buckets are in memory nothing is waited for.
    pub(super) async fn answer(self, engine: &Engine, body: &[u8]) -> Result<answer::Told, Problem> {
        match self {
            Question::Check => check::check(engine, body).await,
            Question::CheckBatch => batch::check(engine, body).await,
            Question::Peek => check::peek(engine, body).await,
            Question::Refund => settle::refund(engine, body).await,
            Question::Reserve => reserve::reserve(engine, body).await,
            Question::Commit => settle::commit(engine, body).await,
            Question::Cancel => settle::cancel(engine, body).await,
        }
    }
}

/// Answers what every HTTP door answers: health, and by the door metrics or the API's description.
pub(super) fn answer_about_us(gatehouse: &Gatehouse, door: Door, request: &Request<Incoming>) -> Reply {
    let engine = &gatehouse.engine;
    let is_look = [Method::GET, Method::HEAD].contains(request.method());
    match request.uri().path() {
        "/metrics" if door == Door::Http => Problem::not_found().reply(),
        "/openapi.json" if door != Door::Http => Problem::not_found().reply(),
        "/livez" | "/readyz" | "/metrics" | "/openapi.json" if !is_look => {
            Problem::method("GET, HEAD").reply()
        }
        "/livez" => health::livez(),
        "/readyz" => health::readyz(engine),
        "/openapi.json" => openapi::reply(),
        "/metrics" => match metrics::page(engine) {
            Ok(page) => answer::text("application/openmetrics-text; version=1.0.0; charset=utf-8", page),
            Err(_) => Problem::unavailable("the metrics cannot be written").reply(),
        },
        _ => Problem::not_found().reply(),
    }
}

/// Whether `?status=200` is asked for.
fn answers_200(query: Option<&str>) -> Result<bool, Problem> {
    let values = query.unwrap_or_default().split('&').filter_map(|pair| pair.strip_prefix("status="));
    let mut always = false;
    for value in values {
        if value != "200" {
            return Err(Problem::field("status", format!("`status` is '{value}'; use 200, or leave it out")));
        }
        always = true;
    }
    Ok(always)
}
