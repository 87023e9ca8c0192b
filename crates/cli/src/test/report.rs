//! How the cases went: a line for each, what differed, and the sum.

use std::fmt::Write;

use serde::Serialize;
use tollgate::policy::span_text;

use super::run::{Failure, Tried};
use crate::format;
use crate::screen::Ink;
use crate::visible::visible;

/// For people.
pub(super) fn table(file: &str, tried: &[Tried<'_>], ink: Ink) -> String {
    let mut text = String::new();
    for Tried { case, failures } in tried {
        let mark = if failures.is_empty() { ink.admitted("ok  ") } else { ink.denied("FAIL") };
        let _ = writeln!(text, "{mark}  {}", visible(&case.name));
        for Failure { step, differences } in failures {
            let (method, target) = (visible(&step.request.method), visible(&step.request.target));
            let times = if step.times == 1 { String::new() } else { format!(", {} times", step.times) };
            let place = format!("{file}:{}: at {}, {method} {target}{times}", step.line, span_text(step.at));
            let _ = writeln!(text, "      {}", ink.faint(&place));
            let width = differences.iter().map(|difference| difference.what.len()).max().unwrap_or(0);
            for difference in differences {
                let expected = ink.admitted(&format!(
                    "- {:width$}  {}",
                    difference.what,
                    difference.expected.for_people()
                ));
                let came =
                    ink.denied(&format!("+ {:width$}  {}", difference.what, difference.came.for_people()));
                let _ = writeln!(text, "        {expected}\n        {came}");
            }
        }
    }
    let failed = tried.iter().filter(|case| !case.failures.is_empty()).count();
    let cases = if tried.len() == 1 { "1 case".to_owned() } else { format!("{} cases", tried.len()) };
    let sum = if failed == 0 {
        ink.admitted(&format!("{cases}, all as expected"))
    } else {
        let failed = ink.denied(&format!("{failed} failed"));
        format!("{cases}, {failed} {}", ink.faint("(- expected, + came)"))
    };
    let _ = writeln!(text, "\n{sum}");
    text
}

#[derive(Serialize)]
struct Document<'r> {
    file: &'r str,
    passed: usize,
    failed: usize,
    cases: Vec<CaseEntry<'r>>,
}

#[derive(Serialize)]
struct CaseEntry<'r> {
    name: &'r str,
    line: u32,
    passed: bool,
    failures: Vec<FailureEntry<'r>>,
}

#[derive(Serialize)]
struct FailureEntry<'r> {
    line: u32,
    at_ms: u64,
    at_ns: u64,
    differences: Vec<DifferenceEntry<'r>>,
}

#[derive(Serialize)]
struct DifferenceEntry<'r> {
    what: &'r str,
    expected: String,
    came: String,
}

/// For machines.
pub(super) fn json(file: &str, tried: &[Tried<'_>]) -> String {
    let failed = tried.iter().filter(|case| !case.failures.is_empty()).count();
    let cases = tried.iter().map(|Tried { case, failures }| CaseEntry {
        name: &case.name,
        line: case.line,
        passed: failures.is_empty(),
        failures: failures.iter().map(entry).collect(),
    });
    let document = Document { file, passed: tried.len() - failed, failed, cases: cases.collect() };
    format::json(&document)
}

fn entry<'r>(Failure { step, differences }: &'r Failure<'_>) -> FailureEntry<'r> {
    let differences = differences.iter().map(|difference| DifferenceEntry {
        what: difference.what,
        expected: difference.expected.exact(),
        came: difference.came.exact(),
    });
    FailureEntry {
        line: step.line,
        at_ms: step.at.as_nanos() / 1_000_000,
        at_ns: step.at.as_nanos(),
        differences: differences.collect(),
    }
}
