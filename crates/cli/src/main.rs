//! The tool bench: the command `tollgate`.
//!
//! Promises: data on stdout, everything else on stderr; exit 0 good, 1 failure, 2 usage; a closed pipe is no failure.
//! Knows no arithmetic: whatever is shown was decided by the library.

mod invocation;
mod problem;
mod screen;

mod decimal;
mod demo;

use std::process::ExitCode;

use clap::Parser;

use self::invocation::{Invocation, Verb};
use self::screen::Screen;

fn main() -> ExitCode {
    let Invocation { verb } = Invocation::parse();
    let screen = Screen::of_stdout();
    let page = match verb {
        Verb::Demo(flags) => demo::page(flags, &screen),
    };
    match page.and_then(|page| screen::show(&page)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => problem.report(),
    }
}
