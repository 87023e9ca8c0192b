//! The server suite: checks per second over loopback, Tollgate's doors beside Redis and throttlecrab-server.
//!
//! Promises one generator for all, on a core of its own; keys drawn from a million; and that what is measured limits: after a run
//! some were denied and nobody got an error. Does not judge: what was asked for is printed beside the figures.

mod cases;
mod dialect;
mod generator;
mod report;
mod servers;

use self::cases::CASES;
pub(crate) use self::dialect::Dialect;
pub(crate) use self::generator::Generator;
pub(crate) use self::servers::Server;
use crate::conditions::Conditions;
use crate::options::Options;
use crate::problem::Problem;

/// The core of the generator.
const GENERATOR_CORE: usize = 1;

/// Measures the cases asked for and prints them: JSON lines as they come, or tables at the end.
pub(crate) fn execute(options: &Options) -> Result<(), Problem> {
    let asked: Vec<_> = CASES.iter().filter(|case| options.case.matches(case.name)).collect();
    if asked.is_empty() {
        let list = CASES.map(|case| case.name).join("\n  ");
        let pattern = options.case.as_str();
        return Err(Problem::usage(format!("no case matches `{pattern}`; the cases are:\n  {list}")));
    }
    let conditions = Conditions::observe(&[]);
    if options.json {
        eprint!("{conditions}");
    } else {
        println!("{conditions}");
    }
    pin_this_thread()?;
    let mut results = Vec::new();
    for case in asked {
        eprintln!("server: {}", case.name);
        let result = (case.execute)(options)?;
        if options.json {
            report::print_json(case, &result, options);
        }
        results.push((case, result));
    }
    if !options.json {
        print!("{}", report::tables(&results));
    }
    Ok(())
}

/// Keeps the generator off the servers' core.
pub(crate) fn pin_this_thread() -> Result<(), Problem> {
    let mut cores = rustix::thread::CpuSet::new();
    cores.set(GENERATOR_CORE);
    rustix::thread::sched_setaffinity(None, &cores)
        .map_err(|error| Problem::failed(format!("the suite needs two cores, one for the servers: {error}")))
}

#[cfg(test)]
mod tests {
    use super::execute;
    use crate::glob::Glob;
    use crate::options::Options;

    #[test]
    fn a_pattern_that_matches_nothing_is_answered_with_the_cases() {
        let options = Options { json: false, quick: true, case: Glob::new("rest"), scale: 1 };
        let message = execute(&options).unwrap_err().to_string();
        assert!(message.starts_with("no case matches `rest`; the cases are:\n  resp/50x64"), "{message}");
    }
}
