//! `GET /admin/v1/history`: what was done in each of the last seconds, overall and by rule, in columns.

use super::call::{Call, ok};
use crate::http::{Problem, Reply};
use crate::pulse::SECONDS_MAX;

/// Seconds unless something else is asked for.
const SECONDS_USUAL: usize = 300;

pub(super) fn show(call: &Call) -> Result<Reply, Problem> {
    let query = call.query(&["seconds"])?;
    let what = format!("a whole number from 1 to {SECONDS_MAX}");
    let seconds = query.parsed("seconds", &what)?.unwrap_or(SECONDS_USUAL);
    if !(1..=SECONDS_MAX).contains(&seconds) {
        let detail = format!("`seconds` is {seconds}; use {what}");
        return Err(Problem::field("seconds", detail).because("bad_query"));
    }
    ok(&call.operations.pulse.past(seconds))
}
