//! `cargo xtask bench SUITE`: measure in release mode.
//!
//! Which cases a suite has, and what `--case` and `--json` mean, is the business of the bench package.

use std::process::ExitCode;

use crate::invocation::Invocation;
use crate::problem::Problem;
use crate::workspace::Workspace;

/// Every suite that the bench package knows.
const SUITES: [&str; 6] = ["core", "policy", "tower", "server", "redis", "records"];

/// A peer of the server suite, from the registry, and where it goes.
const CRAB: &str = "throttlecrab-server@0.4.40";
const TOOLS: &str = "target/tools";

/// Runs one suite; everything after its name is passed on.
pub(crate) fn execute(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode, Problem> {
    known_suite(arguments.first().map(String::as_str))?;
    if arguments.first().is_some_and(|suite| suite == "server") {
        build_servers(workspace)?;
    }
    let bench = ["run", "--release", "--package", "tollgate-bench", "--"];
    workspace.cargo(bench).args(arguments).hand_over()
}

/// Builds the servers that the server suite starts. Redis is the system's.
fn build_servers(workspace: &Workspace) -> Result<(), Problem> {
    succeed(workspace.cargo(["build", "--release", "--package", "tollgate-cli"]))?;
    if !workspace.root().join(TOOLS).join("bin/throttlecrab-server").exists() {
        if workspace.program("protoc", ["--version"]).read().is_err() {
            let cure = "apt-get install protobuf-compiler";
            return Err(Problem::failed(format!("{CRAB} cannot be built without protoc; run: {cure}")));
        }
        eprintln!("bench: installs {CRAB} into {TOOLS}");
        succeed(workspace.cargo(["install", "--locked", "--root", TOOLS, CRAB]))?;
    }
    Ok(())
}

fn succeed(invocation: Invocation) -> Result<(), Problem> {
    let typed = invocation.typed().to_owned();
    if invocation.run()?.success() { Ok(()) } else { Err(Problem::failed(format!("`{typed}` failed"))) }
}

fn known_suite(suite: Option<&str>) -> Result<(), Problem> {
    match suite {
        Some(suite) if SUITES.contains(&suite) => Ok(()),
        Some(other) => {
            Err(Problem::usage(format!("there is no suite `{other}`; the suites are: {}", SUITES.join(", "))))
        }
        None => Err(Problem::usage(format!(
            "name a suite: `cargo xtask bench SUITE`; the suites are: {}",
            SUITES.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::known_suite;

    #[test]
    fn a_suite_that_does_not_exist_is_answered_with_the_list() {
        assert!(known_suite(Some("core")).is_ok());
        let message = known_suite(Some("cores")).unwrap_err().to_string();
        assert_eq!(
            message,
            "there is no suite `cores`; the suites are: core, policy, tower, server, redis, records"
        );
        assert!(known_suite(None).unwrap_err().to_string().contains("name a suite"));
    }
}
