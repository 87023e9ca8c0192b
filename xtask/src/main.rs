//! `cargo xtask <verb>`: every command of this repository.
//!
//! A verb parses its own arguments and prints its own output; this file only finds it by name.

mod invocation;
mod metadata;
mod paint;
mod problem;
mod stopwatch;
mod version;
mod workspace;

mod bench;
mod fuzz;
mod gate;
mod run;
mod soak;
mod tidy;
mod web;

use std::process::ExitCode;

use problem::Problem;
use workspace::Workspace;

/// One command: how it is typed, what it is for, and the function that does it.
struct Verb {
    name: &'static str,
    arguments: &'static str,
    purpose: &'static str,
    execute: fn(&Workspace, &[String]) -> Result<ExitCode, Problem>,
}

/// Every verb, in the order in which a newcomer meets them.
const VERBS: [Verb; 7] = [
    Verb {
        name: "run",
        arguments: "[ARGS…]",
        purpose: "build Tollgate and watch it live; ARGS go to `tollgate serve`, or begin with another verb",
        execute: run::execute,
    },
    Verb {
        name: "test",
        arguments: "[STEP…]",
        purpose: "the whole gate, or only the named steps; TOLLGATE_SKIP=loom,nginx leaves some out",
        execute: gate::execute,
    },
    Verb {
        name: "bench",
        arguments: "SUITE [--json] [--case GLOB] [--quick]",
        purpose: "measure; with --json stdout holds JSON lines only",
        execute: bench::execute,
    },
    Verb {
        name: "fuzz",
        arguments: "[TARGET] [--seconds N]",
        purpose: "list the fuzz targets, or fuzz one (60 seconds unless told otherwise)",
        execute: fuzz::execute,
    },
    Verb {
        name: "soak",
        arguments: "SUBJECT [--minutes N | --seconds N]",
        purpose: "run the proofs of a fleet for longer than the gate can (a minute each unless told otherwise)",
        execute: soak::execute,
    },
    Verb {
        name: "web",
        arguments: "[build | check | test]",
        purpose: "build the dashboard's page if a source changed, or check or test its sources (needs Node)",
        execute: web::execute,
    },
    Verb {
        name: "tidy",
        arguments: "",
        purpose: "check arrows between crates, file sizes, stray files and banned names",
        execute: tidy::execute,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            problem.exit_code()
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<ExitCode, Problem> {
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", help());
        return Ok(ExitCode::SUCCESS);
    };
    // `run --help` is for the command; every other verb is explained here.
    let asks = |argument: &String| matches!(argument.as_str(), "--help" | "-h");
    if name == "help" || asks(name) || (name != "run" && rest.first().is_some_and(asks)) {
        print!("{}", help());
        return Ok(ExitCode::SUCCESS);
    }
    match VERBS.iter().find(|verb| verb.name == name) {
        Some(verb) => (verb.execute)(&Workspace::find()?, rest),
        None => Err(Problem::usage(format!("there is no verb `{name}`\n\n{}", help().trim_end()))),
    }
}

fn help() -> String {
    let lines = VERBS.iter().map(|verb| {
        let typed = format!("{} {}", verb.name, verb.arguments);
        format!("  {typed:<44} {}\n", verb.purpose)
    });
    format!("Usage: cargo xtask <verb>\n\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::{dispatch, help};

    #[test]
    fn the_help_names_every_verb() {
        for verb in ["run", "test", "bench", "fuzz", "soak", "web", "tidy"] {
            assert!(help().lines().any(|line| line.trim_start().starts_with(verb)), "{verb}");
        }
    }

    #[test]
    fn an_unknown_verb_is_answered_with_the_list() {
        let problem = dispatch(&["tets".to_owned()]).unwrap_err();
        assert!(problem.to_string().contains("no verb `tets`"));
        assert!(problem.to_string().contains("cargo xtask <verb>"));
    }
}
