//! Step `setup`: what the gate needs is here, or is installed, or the caller is told the one line to run.

use crate::paint;
use crate::workspace::Workspace;

use super::requirements::{Install, REQUIREMENTS, Requirement};
use super::tally::Tally;
use super::{Report, Stop};

/// Looks for every requirement, even after one that cannot be had, and installs what it can.
pub(super) fn run(workspace: &Workspace) -> Report {
    let missing = REQUIREMENTS.iter().filter(|requirement| !provide(requirement, workspace)).count();
    if missing == 0 {
        Tally::default().into()
    } else {
        Report { tally: Tally::FAILURE, stop: Some(Stop::Unequipped) }
    }
}

/// Whether the requirement is met in the end.
fn provide(requirement: &Requirement, workspace: &Workspace) -> bool {
    let missing = match requirement.find(workspace) {
        Ok(version) => {
            println!("   {:<8} {}", requirement.name, paint::faint(&version));
            return true;
        }
        Err(missing) => missing,
    };
    println!("   {:<8} {missing}", requirement.name);
    if let Install::RustupComponent(component) = requirement.install {
        println!("   {:<8} installing: {}", requirement.name, requirement.install.line());
        let installed = workspace.program("rustup", ["component", "add", component]).run();
        if installed.is_ok_and(|status| status.success()) && requirement.find(workspace).is_ok() {
            return true;
        }
    }
    println!("   {:<8} {} {}", requirement.name, paint::bad("missing; run:"), requirement.install.line());
    false
}
