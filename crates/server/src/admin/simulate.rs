//! `POST /admin/v1/simulate`: the same requests through several limits, by the real engine in virtual time (V2).
//!
//! ```text
//!  JSON ─► given: fields and their places ─► Simulation: what is true ─► traces of the engine ─► JSON
//! ```
//! Nothing of the running service is touched. What is asked for is bounded before anything is played, and no figure is worked out here.

mod answer;
mod given;
mod lane;
mod pattern;
mod simulation;

use serde_json::Value;

use self::answer::Answer;
use self::simulation::Simulation;
use super::call::Call;
use crate::http::{Problem, Reply};

pub(super) async fn simulate(call: Call) -> Result<Reply, Problem> {
    call.query(&[])?;
    let operations = std::sync::Arc::clone(&call.operations);
    let is_stranger = call.caller.is_stranger();
    let room = if is_stranger { &operations.strangers_playroom } else { &operations.playroom };
    room.answer(move || played(&call.json()?)).await
}

/// The answer to what was sent.
fn played(body: &Value) -> Result<String, Problem> {
    let simulation = Simulation::read(body)?;
    let answer = Answer::of(&simulation);
    let answer = answer.map_err(|error| Problem::unavailable(format!("no limiter can be made: {error}")))?;
    let json = serde_json::to_string(&answer);
    json.map_err(|error| Problem::unavailable(format!("the answer cannot be written: {error}")))
}
