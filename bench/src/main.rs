//! `tollgate-bench SUITE`: what `cargo xtask bench SUITE` runs.
//!
//! Speed is reported, never asserted: a missed threshold is printed as MISSED and the exit code stays 0.
//! This file only finds a suite by name; flags are `options`, what is measured is the suite's.

mod conditions;
mod core_wait;
mod counting_allocator;
mod glob;
mod lockfile;
mod options;
mod problem;
mod processor_time;
mod resident;
mod splitmix;
mod stopwatch;
mod text_table;

mod core_suite;
mod policy_suite;
mod records_suite;
mod redis_suite;
mod server_suite;
mod tower_suite;

use std::process::ExitCode;

use options::Options;
use problem::Problem;

/// One thing that can be measured.
struct Suite {
    name: &'static str,
    purpose: &'static str,
    execute: fn(&Options) -> Result<(), Problem>,
}

/// Every suite; a new one is added here and in xtask's list of names.
const SUITES: [Suite; 6] = [
    Suite {
        name: "core",
        purpose: "a check in process, against governor, throttlecrab and Mutex<HashMap>",
        execute: core_suite::execute,
    },
    Suite {
        name: "policy",
        purpose: "a check through a policy, against the bare check; finding rules among many; compiling them",
        execute: policy_suite::execute,
    },
    Suite {
        name: "tower",
        purpose: "a request through a tower layer, in process and over sockets, against tower_governor",
        execute: tower_suite::execute,
    },
    Suite {
        name: "server",
        purpose: "checks over loopback, against Redis and throttlecrab-server",
        execute: server_suite::execute,
    },
    Suite {
        name: "redis",
        purpose: "checks through the shared ledger, against the script that people write",
        execute: redis_suite::execute,
    },
    Suite {
        name: "records",
        purpose: "checks of which half are denied, with the violation log and without",
        execute: records_suite::execute,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("tollgate-bench: {problem}");
            problem.exit_code()
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), Problem> {
    let Some((name, rest)) = arguments.split_first() else {
        return Err(Problem::usage(format!("name a suite\n\n{}", help().trim_end())));
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") || rest.iter().any(|flag| flag == "--help") {
        print!("{}", help());
        return Ok(());
    }
    // Not for people: the core suite starts itself anew under this name, once per subject.
    if name == core_suite::MEMORY_CHILD {
        return core_suite::measure_memory_of_one(rest);
    }
    match SUITES.iter().find(|suite| suite.name == name) {
        Some(suite) => (suite.execute)(&Options::parse(rest)?),
        None => Err(Problem::usage(format!("there is no suite `{name}`\n\n{}", help().trim_end()))),
    }
}

fn help() -> String {
    let suites = SUITES.iter().map(|suite| format!("  {:<8} {}\n", suite.name, suite.purpose));
    format!("Usage: tollgate-bench SUITE {}\n\n{}", options::USAGE, suites.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::{SUITES, dispatch, help};

    #[test]
    fn the_help_names_every_suite_and_flag() {
        for word in SUITES.iter().map(|suite| suite.name).chain(["--json", "--case", "--quick"]) {
            assert!(help().contains(word), "{word}");
        }
    }

    #[test]
    fn an_unknown_suite_is_answered_with_the_list() {
        let message = dispatch(&["cores".to_owned()]).unwrap_err().to_string();
        assert!(message.starts_with("there is no suite `cores`\n\nUsage: tollgate-bench SUITE"), "{message}");
    }
}
