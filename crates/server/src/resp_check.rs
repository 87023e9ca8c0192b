//! `TOLLGATE.CHECK` behind the door: a described request becomes the facts of `POST /v1/check`, and is decided by the same code.

use std::borrow::Cow;

use tollgate::{Decision, Refused};

use crate::door::Door;
use crate::engine::Engine;
use crate::http::{RawCheck, RawHeaders, Text, accept_facts, answer_facts, decide_facts, millis_up};
use crate::resp::{Described, Told};

/// What the policy in force decides; or what is wrong with the request, naming the field and the cure.
pub(crate) async fn decide(engine: &Engine, request: &Described<'_>) -> Result<Told, String> {
    let decision = decide_facts(engine, &raw(request), request.is_peek, Door::Resp).await;
    let decision = decision.map_err(|problem| problem.detail().to_owned())?;
    Ok(tell(engine, &decision, request.is_peek))
}

/// Returns what is wrong with a described request, without deciding it.
pub(crate) fn accept(engine: &Engine, request: &Described<'_>) -> Result<(), String> {
    accept_facts(engine, &raw(request)).map_err(|problem| problem.detail().to_owned())
}

/// The same request as JSON would have it.
fn raw<'a>(request: &Described<'a>) -> RawCheck<'a> {
    let text = |text: Option<&'a str>| text.map(|text| Text(Cow::Borrowed(text)));
    let headers = request.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    RawCheck {
        method: text(request.method),
        path: text(request.path),
        host: text(request.host),
        ip: text(request.ip),
        user: text(request.user),
        plan: text(request.plan),
        cost: request.cost,
        headers: (!request.headers.is_empty()).then(|| RawHeaders(headers.collect())),
        idempotency_key: text(request.idempotency_key),
        ..RawCheck::default()
    }
}

fn tell(engine: &Engine, decision: &Decision, is_peek: bool) -> Told {
    answer_facts(engine, decision, is_peek, |answering, standing, delay| Told {
        is_admitted: answering.status() == 200,
        status: answering.status(),
        limit: standing.map(|standing| standing.quota()),
        remaining: standing.map(|standing| standing.remaining()),
        retry_after_ms: answering.retry_after_ms(),
        reset_after_ms: standing.and_then(|standing| standing.full_in()).map(millis_up),
        delay_ms: millis_up(delay),
        reason: answering.reason().map(str::to_owned),
        rule: standing.map(|standing| standing.rule()).or_else(|| refusing_rule(decision)).map(str::to_owned),
        mode: Some(answering.mode().name()),
    })
}

/// The rule that refused without asking a bucket.
fn refusing_rule(decision: &Decision) -> Option<&str> {
    let (Refused::Blocked { rule } | Refused::KeyMissing { rule }) = decision.refused()? else { return None };
    decision.policy().rules.get(rule).map(|rule| &*rule.name)
}
