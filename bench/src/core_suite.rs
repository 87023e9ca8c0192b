//! The core suite: one check in process, Tollgate against three peers, interleaved on the same key streams; and waiting for
//! tokens, against two that can be awaited.
//!
//! Promises that what is compared did the same work: same keys, one clock read per check, verdicts as expected.
//! Does not judge: thresholds are printed beside the figures, and a missed one changes no exit code.

mod acquire;
pub(crate) mod case;
mod deeds;
pub(crate) mod fill;
pub(crate) mod four_buckets;
mod json_lines;
mod memory;
pub(crate) mod quota;
pub(crate) mod results;
pub(crate) mod rounds;
mod speed;
pub(crate) mod stream;
pub(crate) mod subject;
mod subjects;
mod tables;
mod thresholds;
mod zipf;

use acquire::AcquireCase;
use case::{Case, MEMORY_KEYS, cases, memory_case_name};
use results::CaseResult;

use crate::conditions::Conditions;
use crate::options::Options;
use crate::problem::Problem;

pub(crate) use memory::{MEMORY_CHILD, measure_memory_of_one};

/// Measures the cases asked for and prints them: JSON lines as they come, or tables at the end.
pub(crate) fn execute(options: &Options) -> Result<(), Problem> {
    let conditions = Conditions::observe(&["governor", "throttlecrab", "leaky-bucket", "tokio"]);
    let cases: Vec<Case> =
        cases().into_iter().filter(|case| options.case.matches(&case.to_string())).collect();
    let with_memory = options.case.matches(&memory_case_name());
    let acquires: Vec<_> =
        AcquireCase::ALL.into_iter().filter(|case| options.case.matches(case.name())).collect();
    if cases.is_empty() && acquires.is_empty() && !with_memory {
        return Err(no_such_case(options));
    }

    if options.json {
        eprint!("{conditions}");
    } else {
        println!("{conditions}{}", tables::explanation(options));
    }
    let mut results = Vec::new();
    let mut report = |result: CaseResult| {
        if options.json {
            json_lines::print(&result, options);
        }
        results.push(result);
    };
    // Cases on the same table stand side by side, so that it is filled once and dropped before the next.
    for group in cases.chunk_by(|one, next| one.table() == next.table()) {
        speed::measure(group, options, &mut report)?;
    }
    for case in acquires {
        report(acquire::measure(case, options));
    }
    if with_memory {
        report(memory::measure(options.scaled(MEMORY_KEYS))?);
    }
    if !options.json {
        print!("{}", tables::render(&results));
    }
    Ok(())
}

fn no_such_case(options: &Options) -> Problem {
    let names = cases().iter().map(Case::to_string).collect::<Vec<_>>().into_iter();
    let names = names.chain(AcquireCase::ALL.map(|case| case.name().to_owned())).chain([memory_case_name()]);
    let list = names.collect::<Vec<_>>().join("\n  ");
    Problem::usage(format!("no case matches `{}`; the cases are:\n  {list}", options.case.as_str()))
}

#[cfg(test)]
mod tests {
    use super::execute;
    use crate::glob::Glob;
    use crate::options::Options;

    #[test]
    fn a_pattern_that_matches_nothing_is_answered_with_the_cases() {
        let options = Options { json: false, quick: true, case: Glob::new("strr/*"), scale: 1 };
        let message = execute(&options).unwrap_err().to_string();
        assert!(message.starts_with("no case matches `strr/*`; the cases are:\n  str/1/hot/1t/single\n"));
        assert!(message.ends_with("\n  bytes_per_key/1000000"));
    }
}
