//! The redis suite: what the shared ledger costs one Redis, beside the script that people write, and beside itself without leases and
//! without its memory of denials.
//!
//! Promises one Redis for all subjects of a case, on a core of its own; callers on another; rounds in turn; that every check was decided
//! by the store or a lease, and none by a fallback; except in the case `delayed`, which is about late replies. Does not judge: what was
//! asked for is printed beside the figures.

mod callers;
mod cases;
mod delayed;
mod delaying_relay;
mod plain_script;
mod report;
mod store;
mod traffic;

use self::cases::CASES;
use crate::conditions::Conditions;
use crate::options::Options;
use crate::problem::Problem;

/// Measures the cases asked for and prints them: JSON lines as they come, or tables at the end.
pub(crate) fn execute(options: &Options) -> Result<(), Problem> {
    let asked: Vec<_> = CASES.iter().filter(|case| options.case.matches(case.name)).collect();
    if asked.is_empty() {
        let list = CASES.map(|case| case.name).join("\n  ");
        let pattern = options.case.as_str();
        return Err(Problem::usage(format!("no case matches `{pattern}`; the cases are:\n  {list}")));
    }
    let conditions = Conditions::observe(&["redis"]);
    if options.json {
        eprint!("{conditions}");
    } else {
        println!("{conditions}");
    }
    crate::server_suite::pin_this_thread()?;
    let mut results = Vec::new();
    for case in asked {
        eprintln!("redis: {}", case.name);
        let outcome = (case.execute)(options)?;
        if options.json {
            report::print_json(case, &outcome, options);
        }
        results.push((case, outcome));
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
        let options = Options { json: false, quick: true, case: Glob::new("two"), scale: 1 };
        let message = execute(&options).unwrap_err().to_string();
        assert!(message.starts_with("no case matches `two`; the cases are:\n  one\n  four"), "{message}");
    }
}
