//! `/v1/check/batch`: many checks that have nothing to do with one another, answered in their order.

use serde_json::Value;

use super::answer::{Form, Told};
use super::check::decide;
use super::problem::Problem;
use super::wire::{CHECKS_MAX, Object, RawBatch, RawCheck, RawPieces};
use super::wire_fault;
use crate::engine::Engine;

/// `POST /v1/check/batch`. Each check has a result with a status of its own; one that makes no sense spoils no other.
pub(super) fn check(engine: &Engine, body: &[u8]) -> Result<Told, Problem> {
    match wire_fault::read(body) {
        Ok(RawBatch { checks }) => {
            answers(checks.len(), checks.iter().map(|Object(raw)| decide(engine, raw, false, Form::InBatch)))
        }
        Err(problem) => {
            let RawPieces { checks } = pieces(body, problem)?;
            answers(
                checks.len(),
                checks.iter().map(|piece| {
                    let raw: RawCheck<'_> = wire_fault::read_piece(piece.get().as_bytes(), "the check")?;
                    decide(engine, &raw, false, Form::InBatch)
                }),
            )
        }
    }
}

/// The checks one by one, as they were typed, if it is the checks alone that do not fit; what is no JSON is none in any part.
#[cold]
fn pieces(body: &[u8], problem: Problem) -> Result<RawPieces<'_>, Problem> {
    if serde_json::from_slice::<Value>(body).is_err() {
        return Err(problem);
    }
    wire_fault::read(body)
}

fn answers(checks: usize, results: impl Iterator<Item = Result<Told, Problem>>) -> Result<Told, Problem> {
    if checks > CHECKS_MAX {
        let detail = format!("`checks` has {checks} entries; use at most {CHECKS_MAX}");
        return Err(Problem::field("checks", detail));
    }
    let mut json = String::from("{\"results\":[");
    for (at, result) in results.enumerate() {
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
