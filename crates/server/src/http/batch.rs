//! `/v1/check/batch`: many checks that have nothing to do with one another, answered in their order.

use super::answer::{Form, Told};
use super::check::decide;
use super::problem::Problem;
use super::wire::{CHECKS_MAX, Object, RawBatch};
use super::wire_fault;
use crate::engine::Engine;

/// `POST /v1/check/batch`. Each check has a result with a status of its own; one that makes no sense spoils no other.
pub(super) fn check(engine: &Engine, body: &[u8]) -> Result<Told, Problem> {
    let RawBatch { checks } = wire_fault::read(body)?;
    if checks.len() > CHECKS_MAX {
        let detail = format!("`checks` has {} entries; use at most {CHECKS_MAX}", checks.len());
        return Err(Problem::field("checks", detail));
    }
    let mut json = String::from("{\"results\":[");
    for (at, Object(raw)) in checks.iter().enumerate() {
        if at > 0 {
            json.push(',');
        }
        match decide(engine, raw, false, Form::InBatch) {
            Ok(told) => json.push_str(&told.json),
            Err(problem) => json.push_str(&problem.within(&format!("checks[{at}]")).json()),
        }
    }
    json.push_str("]}");
    Ok(Told::done(json))
}
