//! `cargo xtask bench SUITE`: measure in release mode.
//!
//! Which cases a suite has, and what `--case` and `--json` mean, is the business of the bench package.

use std::process::ExitCode;

use crate::problem::Problem;
use crate::workspace::Workspace;

/// Every suite that the bench package knows.
const SUITES: [&str; 2] = ["core", "policy"];

/// Runs one suite; everything after its name is passed on.
pub(crate) fn execute(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode, Problem> {
    known_suite(arguments.first().map(String::as_str))?;
    let bench = ["run", "--release", "--package", "tollgate-bench", "--"];
    workspace.cargo(bench).args(arguments).hand_over()
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
        assert_eq!(message, "there is no suite `cores`; the suites are: core, policy");
        assert!(known_suite(None).unwrap_err().to_string().contains("name a suite"));
    }
}
