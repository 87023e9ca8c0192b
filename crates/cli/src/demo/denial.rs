//! What a denial looks like from the client's side: the wait is exact.
//!
//! Shown by asking three times: when denied, one nanosecond before the wait is over, and when it is over.
//! Promises nothing itself; whatever the engine answers is what is printed.

use std::fmt::Write;

use tollgate::{BuildError, Moment, Span, Verdict};

use crate::screen::Ink;

use super::amounts;
use super::replay::{Replay, Request};
use super::scenario::Scenario;

/// Plays up to the first denial, then asks on the same limiter, where nobody else spends.
pub(crate) fn draw(scenario: &Scenario, ink: Ink) -> Result<Option<String>, BuildError> {
    let mut replay = Replay::new(scenario)?;
    let denied = replay.find(|request| !request.verdict.is_admitted());
    let Some(Request { at, verdict: verdict @ Verdict::Deny { wait, .. }, .. }) = denied else {
        return Ok(None);
    };
    let over = at + wait;
    let early = over - Span::from_nanos(1);
    let mut lines = String::new();
    let mut say = |moment: Moment, verdict: Verdict, when: &str| {
        let answer = format!("{:<30}", verdict.to_string());
        let answer = if verdict.is_admitted() { ink.admitted(&answer) } else { ink.denied(&answer) };
        let _ = writeln!(lines, "  at {:>16}  {answer}  {}", amounts::exact_seconds(moment), ink.faint(when));
    };
    say(at, verdict, "the denial");
    if early > at {
        say(early, replay.check(early), "one nanosecond early");
    }
    say(over, replay.check(over), "on time");
    Ok(Some(lines))
}
