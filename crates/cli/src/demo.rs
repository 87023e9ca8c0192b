//! `tollgate demo`: a bucket at work, explained by running it.
//!
//! Promises that every figure shown comes from the real engine in virtual time: nothing sleeps, nothing is hard-coded.
//! A scene is a [`scenario`] played by [`replay`]; the other files each show one side of it.

mod arrivals;
mod flags;
mod scenario;

mod replay;

mod amounts;
mod chart;
mod denial;
mod facts;
mod grid;
mod prose;
mod table;
mod worked_example;

pub(crate) use flags::DemoFlags;

use crate::problem::Problem;
use crate::screen::Screen;

/// All that `tollgate demo` says.
pub(crate) fn page(flags: DemoFlags, screen: &Screen) -> Result<String, Problem> {
    let scenario = flags.into_scenario().map_err(Problem::Usage)?;
    worked_example::page(&scenario, screen)
}
