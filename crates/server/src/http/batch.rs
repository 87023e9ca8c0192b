//! `/v1/check/batch`: many checks that have nothing to do with one another, answered in their order.

use futures_util::future::join_all;
use serde_json::Value;
use serde_json::value::RawValue;

use super::answer::{Form, Told};
use super::check::decide;
use super::problem::Problem;
use super::wire::{CHECKS_MAX, Object, RawBatch, RawCheck, RawPieces};
use super::wire_fault;
use crate::engine::Engine;

/// Checks after which others have their turn.
const TURN_CHECKS: usize = 16;

/// `POST /v1/check/batch`. Each check has a result with a status of its own; one that makes no sense spoils no other.
pub(super) async fn check(engine: &Engine, body: &[u8]) -> Result<Told, Problem> {
    match wire_fault::read(body) {
        Ok(RawBatch { checks }) => {
            let decide = |Object(raw)| async move { decide(engine, &raw, false, Form::InBatch).await };
            answers(engine, checks, decide).await
        }
        Err(problem) => {
            let RawPieces { checks } = pieces(body, problem)?;
            answers(engine, checks, |piece| decide_piece(engine, piece)).await
        }
    }
}

async fn decide_piece(engine: &Engine, piece: &RawValue) -> Result<Told, Problem> {
    let raw: RawCheck<'_> = wire_fault::read_piece(piece.get().as_bytes(), "the check")?;
    decide(engine, &raw, false, Form::InBatch).await
}

/// The checks one by one, as they were typed, if it is the checks alone that do not fit; what is no JSON is none in any part.
#[cold]
fn pieces(body: &[u8], problem: Problem) -> Result<RawPieces<'_>, Problem> {
    if serde_json::from_slice::<Value>(body).is_err() {
        return Err(problem);
    }
    wire_fault::read(body)
}

async fn answers<C, F>(engine: &Engine, checks: Vec<C>, decide: impl Fn(C) -> F) -> Result<Told, Problem>
where
    F: Future<Output = Result<Told, Problem>>,
{
    if checks.len() > CHECKS_MAX {
        let detail = format!("`checks` has {} entries; use at most {CHECKS_MAX}", checks.len());
        return Err(Problem::field("checks", detail));
    }
    let mut results = Vec::with_capacity(checks.len());
    if engine.limiter.ledger().is_some() {
        // All of them are asked before the first answer is waited for.
        results = join_all(checks.into_iter().map(decide)).await;
    } else {
        for check in checks {
            results.push(decide(check).await);
            if results.len() % TURN_CHECKS == 0 {
                // Others have their turn.
                tokio::task::yield_now().await;
            }
        }
    }
    let mut json = String::from("{\"results\":[");
    for (at, result) in results.into_iter().enumerate() {
        if at > 0 {
            json.push(',');
        }
        match result {
            Ok(told) => json.push_str(&told.json),
            Err(problem) => json.push_str(&problem.within(&format!("checks[{at}]")).json()),
        }
    }
    json.push_str("]}");
    Ok(Told::done(json))
}
