//! The tower suite: what a limiter adds to a request in a tower service, ours beside `tower_governor`'s and none; in process, and
//! over sockets with axum.
//!
//! Promises that both limit by the peer's address, deny when they should, and admit everything that is measured. Does not
//! judge: what was asked for is printed beside the figures, and a missed one changes no exit code.

mod call;
mod http_load;
mod http_rounds;
mod http_server;
mod interleaved;
mod layers;
mod report;
mod results;

use self::results::{CaseResult, Measure};
use crate::conditions::Conditions;
use crate::options::Options;
use crate::problem::Problem;

const CALL: &str = "call/100000";
const CALL_BARE: &str = "call/100000/no-headers";
const HTTP: &str = "http/axum/per-address";

/// One case, and what was asked of it.
struct Case {
    name: &'static str,
    measure: Measure,
    execute: fn(&Options) -> Result<CaseResult, Problem>,
}

const CASES: [Case; 3] = [
    Case {
        name: CALL,
        measure: Measure::Overhead { must_at_most: Some(0.7) },
        execute: |options| call::measure(CALL, true, options),
    },
    Case {
        name: CALL_BARE,
        measure: Measure::Overhead { must_at_most: None },
        execute: |options| call::measure(CALL_BARE, false, options),
    },
    Case {
        name: HTTP,
        measure: Measure::RequestsPerSecond { must_at_least: 0.95 },
        execute: |options| http_rounds::measure(HTTP, options),
    },
];

/// Measures the cases asked for and prints them: JSON lines as they come, or tables at the end.
pub(crate) fn execute(options: &Options) -> Result<(), Problem> {
    let asked: Vec<&Case> = CASES.iter().filter(|case| options.case.matches(case.name)).collect();
    if asked.is_empty() {
        let list = CASES.map(|case| case.name).join("\n  ");
        return Err(Problem::usage(format!(
            "no case matches `{}`; the cases are:\n  {list}",
            options.case.as_str()
        )));
    }
    let conditions = Conditions::observe(&["tower_governor", "governor", "axum", "hyper", "tokio"]);
    if options.json {
        eprint!("{conditions}");
    } else {
        println!("{conditions}");
    }
    let mut results = Vec::new();
    for case in asked {
        eprintln!("tower: {}", case.name);
        let result = (case.execute)(options)?;
        if options.json {
            report::print_json(&result, case.measure, options);
        }
        results.push((result, case.measure));
    }
    if !options.json {
        print!("{}", report::tables(&results));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::execute;
    use crate::glob::Glob;
    use crate::options::Options;

    #[test]
    fn a_pattern_that_matches_nothing_is_answered_with_the_cases() {
        let options = Options { json: false, quick: true, case: Glob::new("calls"), scale: 1 };
        assert_eq!(
            execute(&options).unwrap_err().to_string(),
            "no case matches `calls`; the cases are:\n  call/100000\n  call/100000/no-headers\n  http/axum/per-address"
        );
    }
}
