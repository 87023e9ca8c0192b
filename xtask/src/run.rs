//! `cargo xtask run`: see Tollgate at work.

use std::process::ExitCode;

use crate::problem::Problem;
use crate::workspace::Workspace;

/// Builds the release binary and runs `tollgate demo` with the given arguments.
pub(crate) fn execute(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode, Problem> {
    let demo = ["run", "--release", "--package", "tollgate-cli", "--bin", "tollgate", "--", "demo"];
    workspace.cargo(demo).args(arguments).hand_over()
}
