//! `/v1/check` and `/v1/peek`: one check.

use tollgate::Span;

use super::answer::{Form, Told};
use super::problem::Problem;
use super::wire::RawCheck;
use super::{explicit, facts, wire_fault};
use crate::engine::Engine;

/// For how long a retry with the same idempotency key costs nothing.
pub(super) const IDEMPOTENCY_LIFETIME: Span = Span::from_secs(600);

/// `POST /v1/check`.
pub(super) async fn check(engine: &Engine, body: &[u8]) -> Result<Told, Problem> {
    let raw: RawCheck<'_> = wire_fault::read(body)?;
    decide(engine, &raw, false, Form::Alone).await
}

/// `POST /v1/peek`: what a check would be told.
pub(super) async fn peek(engine: &Engine, body: &[u8]) -> Result<Told, Problem> {
    let raw: RawCheck<'_> = wire_fault::read(body)?;
    decide(engine, &raw, true, Form::Alone).await
}

/// Decides a check, unless it is only a peek.
pub(super) async fn decide(
    engine: &Engine,
    raw: &RawCheck<'_>,
    is_peek: bool,
    form: Form,
) -> Result<Told, Problem> {
    if raw.timeout_ms.is_some() {
        let detail = "`timeout_ms` is for /v1/reserve; drop it".to_owned();
        return Err(Problem::field("timeout_ms", detail));
    }
    let is_peek = is_peek || raw.peek == Some(true);
    if raw.explicit_field().is_some() {
        explicit::decide(engine, raw, is_peek, form).await
    } else {
        facts::decide(engine, raw, is_peek, form).await
    }
}
