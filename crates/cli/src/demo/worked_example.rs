//! The first scene: one client empties a bucket, then lives off the refill.
//!
//! Introduction, table, facts, chart, the first denial, and what to do next; each part drawn by its own file.
//! With other flags the same words must stay true: a sentence that needs a denial appears only if there is one.

use std::fmt::Write;

use tollgate::{BuildError, Moment, Span};
use tollgate_sim::playground::CLIENT;

use crate::decimal::Decimal;
use crate::problem::Problem;
use crate::screen::{Ink, Screen};

use super::amounts::{self, ordinal};
use super::chart::{self, Chart, Column, MARGIN};
use super::facts::{Facts, FirstDenial, Steady};
use super::figure::{Figure, Hue, Line, Note, ONE, sampled};
use super::grid::Grid;
use super::replay::Replay;
use super::scenario::Scenario;
use super::{denial, table};
use crate::prose::paragraph;

pub(crate) const TITLE: &str = "The worked example: one client empties a bucket, then lives off the refill";

/// The whole scene as text.
pub(crate) fn page(scenario: &Scenario, screen: &Screen) -> Result<String, Problem> {
    let Screen { columns, ink } = *screen;
    let facts = Facts::of(scenario)?;
    let mut page = introduction(scenario, columns);
    let _ = writeln!(page, "\n{}", table::draw(scenario, ink)?);
    page += &findings(scenario, &facts, screen);
    let _ = writeln!(page, "\n{}", chart(scenario, &facts, screen)?);
    if let Some(answers) = denial::draw(scenario, ink)? {
        let _ = writeln!(
            page,
            "{}",
            ink.heading("The first denial says how long to wait, and the wait is exact")
        );
        let _ = writeln!(page, "{answers}");
    }
    page += &in_a_program(scenario, ink);
    Ok(page)
}

fn introduction(scenario: &Scenario, columns: usize) -> String {
    let Scenario { rate, burst, arrivals, length, .. } = scenario;
    let text = format!(
        "A bucket holds at most {burst} {}, starts full and refills at {rate} per second. One client sends \
         {arrivals} for {} s; each takes a token, or is denied if there is none. Every verdict below comes \
         from the real limiter, in virtual time.",
        if burst.is_one() { "token" } else { "tokens" },
        length.as_nanos() / 1_000_000_000,
    );
    paragraph(&text, columns)
}

/// The three facts, and the mistake that others make about them.
fn findings(scenario: &Scenario, facts: &Facts, screen: &Screen) -> String {
    let ink = screen.ink;
    let mut lines = String::new();
    let mut fact = |name: &str, text: &str| {
        let _ = writeln!(lines, "  {} {text}", ink.heading(&format!("{name:<15}")));
    };
    let first = facts.first_second;
    fact("first second", &format!("{} of {} requests admitted", first.admitted, first.requests));
    let Some(FirstDenial { request, refilled }) = facts.first_denial else {
        fact("first denial", "none in this run");
        return lines;
    };
    let number = ordinal(request.number);
    fact("first denial", &format!("the {number} request, at {}", amounts::seconds(request.at)));
    fact(
        "steady state",
        &match facts.steady {
            Some(Steady::OneIn(requests)) => format!("1 request in {requests} admitted"),
            Some(Steady::Uneven(tail)) => {
                let share = amounts::percent(tail.admitted, tail.requests);
                format!("{share} admitted ({} of {} after the first denial)", tail.admitted, tail.requests)
            }
            None => "too short a run to tell; try more --seconds".to_owned(),
        },
    );
    let forgetful = scenario.limit.burst().whole();
    if request.number > forgetful + 1 {
        let text = format!(
            "Tables that say {forgetful} and the {} forget the refill: {} more tokens had flowed in by the {number} \
             request.",
            ordinal(forgetful + 1),
            amounts::tokens(refilled),
        );
        lines.push('\n');
        lines += &paragraph(&text, screen.columns);
    }
    lines
}

/// Plays the scenario once more, and looks at the bucket when each column begins.
fn chart(scenario: &Scenario, facts: &Facts, screen: &Screen) -> Result<String, BuildError> {
    let first_denial = facts.first_denial.map(|denial| denial.request);
    let room = screen.columns.saturating_sub(MARGIN) as u64;
    let grid = Grid::fit(scenario.requests(), first_denial.map(|request| request.number), room);
    let begin =
        |column: u64| scenario.arrivals.moment(column * grid.requests_per_column, grid.columns_per_request);
    let mut replay = Replay::new(scenario)?;
    let columns = (0..grid.columns)
        .map(|column| Column {
            balance: replay.balance(begin(column)),
            tally: replay.play_until(begin(column + 1)),
        })
        .collect();
    let note = first_denial.and_then(|request| {
        let column = usize::try_from(grid.column_of(request.number)).ok()?;
        Some(chart::Note { column, text: "first denial" })
    });
    let end = begin(grid.columns);
    let chart = Chart { ceiling: scenario.limit.burst(), columns, end, note };
    let title = screen
        .ink
        .heading(&format!("What the bucket holds, from 0 to {}", amounts::seconds(end.min(scenario.end()))));
    let scale = match grid {
        Grid { requests_per_column: 1, columns_per_request: 1, .. } => "one column per request".to_owned(),
        Grid { requests_per_column: 1, columns_per_request: columns, .. } => {
            format!("{columns} columns per request")
        }
        Grid { requests_per_column: requests, .. } => format!("{requests} requests per column"),
    };
    Ok(format!("{title} {}\n{}", screen.ink.faint(&format!("({scale})")), chart.draw(screen.ink)))
}

/// The promise as a line, and what was admitted beneath it.
pub(crate) fn figure(scenario: &Scenario) -> Result<Figure, Problem> {
    let Scenario { limit, rate, burst, arrivals, .. } = scenario;
    let (from, to) = (Moment::default(), scenario.end());
    let (mut spent, mut held) = (Replay::new(scenario)?, Replay::new(scenario)?);
    let mut admitted = 0;
    let line = |name: &str, remark: String, hue: Hue, amount_at: &mut dyn FnMut(Moment) -> u64| Line {
        name: name.to_owned(),
        remark,
        hue,
        points: sampled(from, to, amount_at),
    };
    let lines = vec![
        line("the promise", format!("{burst} at once, {rate} per second"), Hue::Promise, &mut |at| {
            limit.burst().as_micros().saturating_add(limit.minted_in(at.since(from)).as_micros())
        }),
        line("admitted", "never above the promise".to_owned(), Hue::Blue, &mut |at| {
            admitted += spent.play_until(at + Span::from_nanos(1)).admitted;
            admitted * ONE
        }),
        line("tokens left", "in the bucket".to_owned(), Hue::Teal, &mut |at| held.balance(at).as_micros()),
    ];
    let first_denial = Facts::of(scenario)?.first_denial;
    let notes = first_denial.map(|denial| Note { at: denial.request.at, text: "first denial".to_owned() });
    let takeaway = format!(
        "A token bucket of {burst}, refilled at {rate} per second, and a client that sends {arrivals}. It takes the burst, \
         and from then on what is refilled: at most burst + rate × d in every interval."
    );
    let (across, up) = ("time", "requests, tokens");
    Ok(Figure { title: TITLE, takeaway, across, up, from, to, lines, notes: notes.into_iter().collect() })
}

fn in_a_program(scenario: &Scenario, ink: Ink) -> String {
    let amount = |number: Decimal, whole: &str, kind: &str| match number {
        Decimal { digits, places: 0 } => format!("{kind}::{whole}({digits})"),
        _ => format!("{kind}::try_from({number})?"),
    };
    let rate = amount(scenario.rate, "per_second", "Rate");
    let burst = amount(scenario.burst, "tokens", "Burst");
    let heading = ink.heading("The same in a Rust program");
    format!(
        "{heading}\n  \
           let limit = Limit::new({rate}, {burst})?;\n  \
           let limiter = Limiter::new(limit); // one bucket for each key\n  \
           let verdict = limiter.check(\"{CLIENT}\"); // or a denial with its exact wait\n"
    )
}
