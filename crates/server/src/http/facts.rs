//! A request's facts as JSON describes them, and what the policy decides of it.

use std::borrow::Cow;
use std::net::IpAddr;

use tollgate::policy::{CostSource, DescribedRequest, Facts, Headers, NoHeaders, Policy, Rule};
use tollgate::{Answering, Asking, Cost, Decision, Span, Standing, Verdict};

use super::answer::{Form, Told};
use super::check::IDEMPOTENCY_LIFETIME;
use super::explicit::at_fault;
use super::number;
use super::problem::{Problem, shown};
use super::wire::{RawCheck, Text};
use crate::denials::Asker;
use crate::door::Door;
use crate::engine::Engine;

/// Longest path with its query, in bytes.
pub(super) const TARGET_BYTES_MAX: usize = 16 * 1_024;
/// Longest host, user or plan, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 4 * 1_024;

/// Decides a described request, and says what is to be told of it over HTTP.
pub(super) async fn decide(
    engine: &Engine,
    raw: &RawCheck<'_>,
    is_peek: bool,
    form: Form,
) -> Result<Told, Problem> {
    let decision = decided(engine, raw, is_peek, Door::Http).await?;
    Ok(tell(engine, &decision, is_peek, form))
}

/// Decides a request that was described at whatever door, and counts the check there.
pub(crate) async fn decided(
    engine: &Engine,
    raw: &RawCheck<'_>,
    is_peek: bool,
    door: Door,
) -> Result<Decision, Problem> {
    let limiter = &engine.limiter;
    let begun = limiter.limiter().now();
    let asking = match &raw.idempotency_key {
        _ if is_peek => Asking::Peek,
        Some(once) => Asking::Once { idempotency_key: once.as_str(), lifetime: IDEMPOTENCY_LIFETIME },
        None => Asking::Check,
    };
    let decision = with(engine, raw, |facts| limiter.policy().decide(facts, asking))?.await;
    if let Some(Verdict::Invalid(error)) = decision.verdict() {
        return Err(at_fault(error));
    }
    if !is_peek {
        let now = limiter.limiter().now();
        engine.metrics.note_duration(door, begun, now);
        engine.note_decision(door, &decision, now);
        engine.note_denial(door, &decision, now, || asker(engine, raw));
    }
    Ok(decision)
}

/// Returns what is wrong with a described request, without deciding it.
pub(crate) fn accept(engine: &Engine, raw: &RawCheck<'_>) -> Result<(), Problem> {
    with(engine, raw, |_| ())
}

/// Who asks, for the record.
pub(super) fn asker(engine: &Engine, raw: &RawCheck<'_>) -> Asker {
    with(engine, raw, Asker::of).unwrap_or_default()
}

/// What is to be told of a decision over HTTP.
pub(super) fn tell(engine: &Engine, decision: &Decision, is_peek: bool, form: Form) -> Told {
    answer(engine, decision, is_peek, |answering, standing, delay| Told::of(answering, standing, delay, form))
}

/// Shows `tell` what is to be told of a decision, at whatever door: with the bucket that the figures are of, and how long an
/// admitted request is to be held back.
pub(crate) fn answer<T>(
    engine: &Engine,
    decision: &Decision,
    is_peek: bool,
    tell: impl FnOnce(&Answering<'_>, Option<Standing<'_>>, Span) -> T,
) -> T {
    let delay = match decision.verdict() {
        Some(Verdict::Admit { delay, .. }) => delay,
        _ => Span::ZERO,
    };
    let limiter = &engine.limiter;
    limiter.answer(decision, |answering| {
        // An answer without header fields does not know where the client stands.
        let standing = answering.standing().or_else(|| Standing::tightest(limiter.standings(decision)));
        if !is_peek {
            engine.note_standing(decision, standing);
        }
        tell(&answering, standing, delay)
    })
}

/// Shows the facts to `ask`, if they make sense.
pub(super) fn with<T>(
    engine: &Engine,
    raw: &RawCheck<'_>,
    ask: impl FnOnce(&Facts<'_>) -> T,
) -> Result<T, Problem> {
    let method = method(raw.method.as_ref())?;
    let target = text("path", raw.path.as_ref(), TARGET_BYTES_MAX)?.unwrap_or("/");
    if !target.starts_with('/') && target != "*" {
        let detail = format!("`path` is '{}'; begin it with a slash, as in /api/search", shown(target));
        return Err(Problem::field("path", detail));
    }
    let headers = raw.headers.as_ref().map(|headers| &headers.0);
    let headers = headers.map_or(&NoHeaders as &dyn Headers, |headers| headers);
    let (mut user, mut plan) =
        (text("user", raw.user.as_ref(), NAME_BYTES_MAX)?, text("plan", raw.plan.as_ref(), NAME_BYTES_MAX)?);
    let limiter = &engine.limiter;
    let bearer = engine.tokens.read(&limiter.policy(), headers, || limiter.wall_time().as_secs());
    if user.is_none() && plan.is_none() {
        // The plan of somebody's token is not that of whom the caller knows.
        (user, plan) = (bearer.user.as_deref(), bearer.plan.as_deref());
    }
    let facts = Facts {
        host: text("host", raw.host.as_ref(), NAME_BYTES_MAX)?.unwrap_or_default(),
        address: address(raw.ip.as_ref())?,
        headers,
        user,
        plan,
        claims: bearer.claims(),
        cost: raw.cost.map(|cost| said_cost(&limiter.policy(), cost)).transpose()?,
        ..Facts::new(&method, target)
    };
    Ok(ask(&facts))
}

fn text<'b>(field: &str, text: Option<&'b Text<'_>>, bytes_max: usize) -> Result<Option<&'b str>, Problem> {
    match text.map(Text::as_str) {
        Some(text) if text.len() > bytes_max => {
            let detail = format!("`{field}` has {} bytes; use at most {bytes_max}", text.len());
            Err(Problem::field(field, detail))
        }
        text => Ok(text),
    }
}

fn method<'b>(typed: Option<&'b Text<'_>>) -> Result<Cow<'b, str>, Problem> {
    match typed.map(Text::as_str) {
        None => Ok(Cow::Borrowed("GET")),
        Some(usual @ ("GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS")) => {
            Ok(Cow::Borrowed(usual))
        }
        Some(typed) => DescribedRequest::method_named(typed)
            .map(Cow::Owned)
            .map_err(|error| Problem::field("method", format!("`method` is '{}'; {error}", shown(typed)))),
    }
}

fn address(typed: Option<&Text<'_>>) -> Result<Option<IpAddr>, Problem> {
    let Some(typed) = typed.map(Text::as_str) else { return Ok(None) };
    typed.parse().map(Some).map_err(|_| {
        let detail = format!("`ip` is '{}'; use an address, as in 192.0.2.7 or 2001:db8::7", shown(typed));
        Problem::field("ip", detail)
    })
}

/// The cost that the caller says. Where no rule looks for one, it would change nothing, which nobody means.
fn said_cost(policy: &Policy, said: f64) -> Result<Cost, Problem> {
    let cost = number::cost(Some(said))?;
    let is_asked_for = |rule: &Rule| matches!(rule.cost.source, CostSource::Header(_) | CostSource::Query(_));
    if cost != Cost::ONE && !policy.rules.iter().any(is_asked_for) {
        let detail = format!(
            "`cost` is {said}, but no rule of the policy has a `cost_source` in the request, so it would change nothing; drop it"
        );
        return Err(Problem::field("cost", detail));
    }
    Ok(cost)
}
