//! `cargo xtask test`: everything that must hold before a change lands, in steps.
//!
//! A failing step does not keep the others from running, unless nothing after it could work.
//! The last line of stdout is always `N passed, N failed, N skipped`.

mod build_checks;
mod components;
mod debian;
mod examples;
mod packages;
mod page_budget;
mod requirements;
mod selection;
mod setup;
mod step;
mod summary;
mod tally;
mod test_log;
mod test_runs;
mod vitest_report;
mod web_checks;

use std::process::ExitCode;

use crate::paint;
use crate::problem::Problem;
use crate::stopwatch::{Stopwatch, spoken};
use crate::workspace::Workspace;

use selection::Selection;
use step::Step;
use summary::{Line, Summary};
use tally::Tally;

/// What a step found.
struct Report {
    tally: Tally,
    stop: Option<Stop>,
}

/// Why no later step can say anything useful.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// A tool is missing; the caller has to install it. Exit code 2.
    Unequipped,
    /// The workspace does not compile.
    BuildBroken,
}

impl From<Tally> for Report {
    fn from(tally: Tally) -> Self {
        Self { tally, stop: None }
    }
}

/// Runs the gate, or the steps named in `arguments`.
pub(crate) fn execute(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode, Problem> {
    let skip = std::env::var(selection::SKIP_VARIABLE).unwrap_or_default();
    let selection = Selection::parse(arguments, &skip)?;

    let mut summary = Summary::default();
    let mut stopped: Option<Stop> = None;
    for step in selection.steps() {
        println!("\n{}", paint::header(step.name()));
        if let Some(why) = reason_not_to_run(step, &selection, stopped) {
            println!("{}", paint::faint(&format!("   not run: {why}")));
            summary.add(Line::not_run(step, why));
            continue;
        }
        let (line, stop) = run_step(step, workspace, &selection);
        println!("{}", line.ending());
        summary.add(line);
        stopped = stopped.or(stop);
    }

    print!("{summary}");
    Ok(match (stopped, summary.total().failed) {
        (Some(Stop::Unequipped), _) => ExitCode::from(2),
        (_, 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn reason_not_to_run(step: Step, selection: &Selection, stopped: Option<Stop>) -> Option<&'static str> {
    match stopped {
        Some(Stop::Unequipped) => Some("a tool is missing"),
        Some(Stop::BuildBroken) => Some("the build is broken"),
        None if selection.skips(step) => Some("named in TOLLGATE_SKIP"),
        None => None,
    }
}

fn run_step(step: Step, workspace: &Workspace, selection: &Selection) -> (Line, Option<Stop>) {
    let stopwatch = Stopwatch::start();
    let report = step.run(workspace, selection).unwrap_or_else(|problem| {
        println!("{}", paint::bad(&problem.to_string()));
        Tally::FAILURE.into()
    });
    (Line::ran(step, spoken(stopwatch.read()), report.tally), report.stop)
}
