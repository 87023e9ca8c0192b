//! `tollgate test`: a policy's unit tests, in virtual time.
//!
//! Promises that every case starts with full buckets, that no time passes but what a case says, and that a failure shows what was
//! expected beside what came. Decides nothing: the limiter that production uses does.

mod comparison;
mod report;
mod run;

use std::path::PathBuf;

use clap::Args;
use tollgate::policy::{Case, Policy};

use crate::format::{Format, FormatFlag};
use crate::page::Page;
use crate::problem::Problem;
use crate::screen::Screen;
use crate::source::{self, Content, Source};

#[derive(Debug, Args)]
#[command(after_help = HOW)]
pub(crate) struct TestFlags {
    /// The policy; - reads stdin
    #[arg(value_name = "POLICY")]
    policy: PathBuf,
    /// The file of cases; - reads stdin
    #[arg(value_name = "CASES")]
    cases: PathBuf,
    #[command(flatten)]
    format: FormatFlag,
}

const HOW: &str = "\
A file of cases is a list in YAML or JSON:
  - name: five resets, then one in 334 seconds
    request: {method: POST, path: /password-reset, ip: 192.0.2.7}
    steps:
      - {times: 6, expect: {admitted: 5}, violated: [reset], retry_after: 334s}
      - {at: 333s, expect: deny}
      - {at: 334s, expect: admit}
docs/policy.md explains every field. The exit code is 1 if a case fails.";

/// Runs every case.
pub(crate) fn page(flags: &TestFlags, screen: &Screen) -> Result<Page, Problem> {
    source::refuse_stdin_twice([&flags.policy, &flags.cases])?;
    let policy = Source::read(&flags.policy, Content::Policy)?;
    let policy = Policy::parse(&policy.name, &policy.text)?;
    let cases = Source::read(&flags.cases, Content::Cases)?;
    let parsed = Case::parse_all(&cases.name, &cases.text, &policy)?;
    let mut tried = Vec::with_capacity(parsed.len());
    for case in &parsed {
        tried.push(run::run(case, &policy)?);
    }
    let text = match flags.format.chosen() {
        Format::Table => report::table(&cases.name, &tried, screen.ink),
        Format::Json => report::json(&cases.name, &tried),
    };
    Ok(Page { text, is_good: tried.iter().all(|case| case.failures.is_empty()) })
}
