//! `cargo xtask fuzz`: list the fuzz targets, or fuzz one for a while on nightly.
//!
//! The corpus is replayed by ordinary tests; this verb is for finding new inputs.

use std::process::ExitCode;

use crate::metadata::Metadata;
use crate::problem::Problem;
use crate::workspace::{FUZZ_MANIFEST, Workspace};

const SECONDS_DEFAULT: u32 = 60;

/// Lists the targets when none is named, else fuzzes the named one.
pub(crate) fn execute(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode, Problem> {
    let request = Request::parse(arguments)?;
    let targets = targets(workspace)?;
    let Some(target) = request.target else {
        println!("fuzz targets (cargo xtask fuzz TARGET [--seconds N]):");
        for target in targets {
            println!("  {target}");
        }
        return Ok(ExitCode::SUCCESS);
    };
    if !targets.contains(&target) {
        return Err(Problem::usage(format!(
            "there is no fuzz target `{target}`; the targets are: {}",
            targets.join(", ")
        )));
    }
    require_nightly_and_cargo_fuzz(workspace)?;
    // `+nightly` is understood by rustup's cargo on PATH, not by the toolchain's own.
    let fuzz = workspace.program("cargo", ["+nightly", "fuzz", "run", "--fuzz-dir", "fuzz"]);
    fuzz.args([&target, "--", &format!("-max_total_time={}", request.seconds)]).hand_over()
}

/// What was asked for on the command line.
#[derive(PartialEq, Eq, Debug)]
struct Request {
    target: Option<String>,
    seconds: u32,
}

impl Request {
    fn parse(arguments: &[String]) -> Result<Self, Problem> {
        let mut request = Self { target: None, seconds: SECONDS_DEFAULT };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == "--seconds" {
                let value = rest.next().map_or("", String::as_str);
                request.seconds = value.parse().map_err(|_| {
                    Problem::usage(format!("`--seconds` takes a whole number of seconds, not `{value}`"))
                })?;
            } else if argument.starts_with('-') || request.target.is_some() {
                return Err(Problem::usage(format!(
                    "unexpected `{argument}`; usage: cargo xtask fuzz [TARGET] [--seconds N]"
                )));
            } else {
                request.target = Some(argument.clone());
            }
        }
        Ok(request)
    }
}

fn targets(workspace: &Workspace) -> Result<Vec<String>, Problem> {
    if !workspace.has_fuzz_targets() {
        return Err(Problem::usage(format!("there are no fuzz targets: {FUZZ_MANIFEST} does not exist")));
    }
    let metadata = Metadata::of_manifest(workspace, FUZZ_MANIFEST)?;
    let bins = metadata.packages.iter().flat_map(|package| package.targets_of_kind("bin"));
    Ok(bins.map(|target| target.name.clone()).collect())
}

fn require_nightly_and_cargo_fuzz(workspace: &Workspace) -> Result<(), Problem> {
    let toolchains = workspace.program("rustup", ["toolchain", "list"]).read().unwrap_or_default();
    if !toolchains.lines().any(|line| line.starts_with("nightly")) {
        return Err(Problem::usage(
            "fuzzing needs nightly Rust; run: rustup toolchain install nightly --profile minimal",
        ));
    }
    match workspace.program("cargo", ["fuzz", "--version"]).read() {
        Ok(_) => Ok(()),
        Err(_) => Err(Problem::usage("fuzzing needs cargo-fuzz; run: cargo install cargo-fuzz --locked")),
    }
}

#[cfg(test)]
mod tests {
    use super::Request;

    fn parse(arguments: &[&str]) -> Result<Request, String> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Request::parse(&arguments).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_target_and_a_time_may_be_given() {
        assert_eq!(parse(&[]), Ok(Request { target: None, seconds: 60 }));
        let five = Request { target: Some("operations".to_owned()), seconds: 5 };
        assert_eq!(parse(&["operations", "--seconds", "5"]), Ok(five));
    }

    #[test]
    fn a_time_that_is_no_number_is_refused() {
        assert_eq!(
            parse(&["operations", "--seconds", "soon"]),
            Err("`--seconds` takes a whole number of seconds, not `soon`".to_owned())
        );
    }
}
