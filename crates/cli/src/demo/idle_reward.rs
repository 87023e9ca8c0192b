//! The scene of the idle reward: a client spends all it has, is quiet for a while, and then wants much at once.
//!
//! All algorithms allow 10 per second in the long run; they differ in what they save for whoever waits. How much is let
//! through is found by asking until the engine says no, for every length of the pause.

use tollgate::{Moment, Rate, Span};

use crate::problem::Problem;
use crate::screen::Screen;

use super::amounts;
use super::columns::Columns;
use super::contender::Contender;
use super::figure::{Figure, Line, Note, ONE, Point};
use super::panels;
use super::trial::let_through_after;
use crate::prose::paragraph;

pub(crate) const TITLE: &str = "The idle reward: what waiting is worth, at 10 per second";

const RATE_PER_SECOND: u64 = 10;
const MINUTE: Span = Span::from_secs(60);
/// What a minute is worth.
const QUOTA: u64 = 60 * RATE_PER_SECOND;
const BURST: u64 = 50;
const CREDIT: Span = Span::from_secs(120);
/// Everything is spent a quarter of a minute before the calendar's minute ends.
const SPENT_AT: Moment = Moment::from_nanos(45_000_000_000);
const MINUTE_ENDS_AFTER: Span = Span::from_secs(15);
/// Pauses shown in the table, in seconds.
const PAUSES: [u64; 7] = [1, 5, 14, 15, 30, 60, 120];
/// Pauses in the picture: so many, at this distance. Whatever bends or jumps does so at one of them.
const PAUSE_STEPS: u64 = 56;
const PAUSE_STEP_MILLIS: u64 = 2_500;

fn contenders() -> Result<[Contender; 6], Problem> {
    let rate = Rate::per_second(RATE_PER_SECOND);
    Ok([
        Contender::burst_credit(rate, CREDIT)?,
        Contender::token_bucket(rate, BURST)?,
        Contender::fixed_window(QUOTA, MINUTE)?,
        Contender::sliding_counter(QUOTA, MINUTE)?,
        Contender::sliding_log(QUOTA, MINUTE)?,
        Contender::leaky_bucket(rate, BURST)?,
    ])
}

/// How many leave at once after each pause.
fn rewards(contender: &Contender, pauses: impl Iterator<Item = Span>) -> Result<Vec<u64>, Problem> {
    Ok(let_through_after(contender, SPENT_AT, pauses)?)
}

/// The scene in words.
pub(crate) fn page(screen: &Screen) -> Result<String, Problem> {
    let Screen { columns, ink } = *screen;
    let mut page = paragraph(
        "Each algorithm allows 10 per second in the long run. A client spends all it has at 0:45, is quiet, and then \
         sends as many as it can at once. What leaves that very moment, by the length of the pause:",
        columns,
    );
    let mut table =
        Columns::<{ PAUSES.len() + 1 }>::new(std::array::from_fn(|column| match column.checked_sub(1) {
            None => "quiet for".to_owned(),
            Some(pause) => format!("{} s", PAUSES[pause]),
        }));
    for contender in contenders()? {
        let rewards = rewards(&contender, PAUSES.map(Span::from_secs).into_iter())?;
        let reward = |pause: usize| rewards.get(pause).map_or_else(String::new, u64::to_string);
        table.row(std::array::from_fn(|column| match column.checked_sub(1) {
            None => contender.full_name(),
            Some(pause) => reward(pause),
        }));
    }
    page += "\n";
    page += &table.draw(ink, str::to_owned);
    page += "\n";
    page += &panels::draw(&figure()?, screen);
    page += "\n";
    page += &paragraph(TAKEAWAY, columns);
    Ok(page)
}

const TAKEAWAY: &str = "A token bucket pays for patience at the rate, up to its burst; Limit::with_credit says the \
    burst as a time, here two minutes' worth. A fixed window pays at the full minute, whoever waited; a leaky bucket \
    never lets out two at once.";

/// The scene as a picture.
pub(crate) fn figure() -> Result<Figure, Problem> {
    let at = |pause: Span| Moment::default() + pause;
    // Also a nanosecond before each: what jumps, jumps at once.
    let last_before = |pause: Span| Span::from_nanos(pause.as_nanos().saturating_sub(1));
    let pauses = (0..=PAUSE_STEPS).map(|step| Span::from_millis(step * PAUSE_STEP_MILLIS));
    let pauses: Vec<Span> = pauses.flat_map(|pause| [last_before(pause), pause]).collect();
    let mut lines = Vec::new();
    for contender in contenders()? {
        let rewards = rewards(&contender, pauses.iter().copied())?;
        let most = rewards.iter().copied().max().unwrap_or(0);
        let first = pauses.iter().zip(&rewards).find(|(_, reward)| **reward == most).map(|(pause, _)| *pause);
        let point = |(pause, reward): (&Span, u64)| Point { at: at(*pause), amount: reward * ONE };
        lines.push(Line {
            name: contender.full_name(),
            remark: format!("{most} at once, after {}", amounts::span(first.unwrap_or(Span::ZERO))),
            hue: contender.hue,
            points: pauses.iter().zip(rewards).map(point).collect(),
        });
    }
    let note = Note { at: at(MINUTE_ENDS_AFTER), text: "full minute".to_owned() };
    Ok(Figure {
        title: TITLE,
        takeaway: TAKEAWAY.to_owned(),
        across: "quiet for",
        up: "requests let through at once",
        from: at(Span::ZERO),
        to: at(Span::from_millis(PAUSE_STEPS * PAUSE_STEP_MILLIS)),
        lines,
        notes: vec![note],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewards_of(full_name: &str) -> Vec<u64> {
        let contender =
            contenders().unwrap().into_iter().find(|contender| contender.full_name() == full_name);
        rewards(&contender.unwrap(), PAUSES.map(Span::from_secs).into_iter()).unwrap()
    }

    #[test]
    fn a_token_bucket_pays_for_patience_up_to_its_burst() {
        assert_eq!(rewards_of("token bucket, burst 50"), [10, 50, 50, 50, 50, 50, 50]);
        assert_eq!(rewards_of("token bucket, credit of 120 s"), [10, 50, 140, 150, 300, 600, 1_200]);
    }

    #[test]
    fn a_fixed_window_pays_at_the_full_minute() {
        assert_eq!(rewards_of("fixed window, 600 per 60 s"), [0, 0, 0, 600, 600, 600, 600]);
    }

    #[test]
    fn a_log_pays_a_window_later_and_a_counter_little_by_little() {
        assert_eq!(rewards_of("sliding log, 600 per 60 s"), [0, 0, 0, 0, 0, 600, 600]);
        assert_eq!(rewards_of("sliding counter, 600 per 60 s"), [0, 0, 0, 0, 150, 450, 600]);
    }

    #[test]
    fn a_leaky_bucket_never_lets_out_two_at_once() {
        assert_eq!(rewards_of("leaky bucket, queue 50"), [0, 1, 1, 1, 1, 1, 1]);
    }
}
