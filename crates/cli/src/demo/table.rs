//! The run as a table: per span of time, how many were admitted and what is left.
//!
//! Promises at most [`ROWS_MAX`] rows, each of a round number of seconds; only the last may be shorter.
//! Does not interpret what it lists.

use std::fmt::Write;

use tollgate::{BuildError, Moment, Span};

use crate::screen::Ink;

use super::amounts;
use super::replay::Replay;
use super::scenario::Scenario;

const ROWS_MAX: u64 = 10;
/// Lengths of a row that people count in, in seconds.
const ROUND_SECONDS: [u64; 14] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 10_800];
/// The titles, wide enough for what stands below them.
const TITLES: [&str; 5] = ["time", "requests", "admitted", "denied", "tokens left"];

/// Plays the scenario once, and tabulates.
pub(crate) fn draw(scenario: &Scenario, ink: Ink) -> Result<String, BuildError> {
    let length = scenario.length.as_nanos() / 1_000_000_000;
    let step = row_seconds(length);
    let mut table = ink.heading(&row(&TITLES.map(str::to_owned)).join(""));
    table.push('\n');
    let mut replay = Replay::new(scenario)?;
    for from in (0..length).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let to = (from + step).min(length);
        let end = Moment::default() + Span::from_secs(to);
        let tally = replay.play_until(end);
        let left = amounts::tokens(replay.balance(end));
        let counts = [tally.requests, tally.admitted, tally.denied()].map(|count| count.to_string());
        let [requests, admitted, denied] = counts;
        let cells = row(&[format!("{from} to {to} s"), requests, admitted, denied, left]);
        let [time, requests, admitted, denied, left] = cells;
        let (admitted, denied) = (ink.admitted(&admitted), ink.denied(&denied));
        let _ = writeln!(table, "{time}{requests}{admitted}{denied}{left}");
    }
    Ok(table)
}

/// The shortest round length that makes few enough rows.
fn row_seconds(length: u64) -> u64 {
    let fits = |seconds: &u64| length.div_ceil(*seconds) <= ROWS_MAX;
    ROUND_SECONDS.into_iter().find(fits).unwrap_or(length.div_ceil(ROWS_MAX))
}

/// Five cells, padded to the width of their columns.
fn row([time, numbers @ ..]: &[String; 5]) -> [String; 5] {
    let [requests, admitted, denied, left] = numbers.each_ref();
    [
        format!("  {time:<16}"),
        format!("{requests:>8}"),
        format!("{admitted:>11}"),
        format!("{denied:>9}"),
        format!("{left:>16}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_any_length_has_few_rows() {
        assert_eq!([1, 5, 10, 11, 60, 61, 3_600].map(row_seconds), [1, 1, 1, 2, 10, 10, 600]);
        for length in 1..=86_400_u64 {
            assert!(length.div_ceil(row_seconds(length)) <= ROWS_MAX);
        }
    }
}
