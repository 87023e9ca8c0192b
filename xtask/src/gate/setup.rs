//! Step `setup`: what the gate needs is here, or is installed, or the caller is told the one line to run.

use std::path::Path;

use crate::metadata::Metadata;
use crate::paint;
use crate::problem::Problem;
use crate::web::Page;
use crate::workspace::Workspace;

use super::components::{COMPONENTS, Component};
use super::requirements::{Install, REQUIREMENTS, Requirement};
use super::selection::{SKIP_VARIABLE, Selection};
use super::step::Step;
use super::tally::Tally;
use super::{Report, Stop};

/// Looks for every requirement and component, even after one that cannot be had, and installs what it can. Each component that
/// is left out counts as skipped.
pub(super) fn run(workspace: &Workspace, selection: &Selection) -> Result<Report, Problem> {
    let mut missing = REQUIREMENTS.iter().filter(|requirement| !provide(requirement, workspace)).count();
    missing += usize::from(!provide_node(workspace, selection));
    let mut tally = Tally::default();
    // Without cargo there is nobody to ask for the target folder, and nothing to test.
    if missing == 0 {
        let tools = Metadata::of_members(workspace)?.target_directory.join("tools");
        for component in &COMPONENTS {
            if selection.skips_component(component) {
                let what = format!("named in {SKIP_VARIABLE}; the tests with it do nothing");
                println!("   {:<11} {}", component.name, paint::faint(&what));
                tally += Tally::SKIP;
            } else if !provide_component(component, &tools) {
                missing += 1;
            }
        }
    }
    if missing == 0 {
        return Ok(tally.into());
    }
    tally += Tally::FAILURE;
    Ok(Report { tally, stop: Some(Stop::Unequipped) })
}

/// Whether Node is there for the steps that need it. It is the machine's: setup does not change the machine that far.
fn provide_node(workspace: &Workspace, selection: &Selection) -> bool {
    if [Step::Web, Step::Browser].into_iter().all(|step| selection.skips(step)) {
        println!("   {:<11} {}", "node", paint::faint("not looked for: both steps with it are skipped"));
        return true;
    }
    match Page::find(workspace) {
        Ok(page) => {
            println!("   {:<11} {}", "node", paint::faint(&page.node));
            true
        }
        Err(problem) => {
            let cure = format!("{problem}; or leave it out: {SKIP_VARIABLE}=web,browser,express,ioredis");
            println!("   {:<11} {}", "node", paint::bad(&cure));
            false
        }
    }
}

/// Whether the component is there in the end.
fn provide_component(component: &Component, tools: &Path) -> bool {
    let name = component.name;
    if component.find(tools).is_none() {
        println!("   {name:<11} to target/tools: {}", component.origin());
        if let Err(problem) = component.unpack(tools) {
            println!("   {name:<11} {}", paint::bad(&problem.to_string()));
        }
    }
    if let Some(version) = component.find(tools) {
        println!("   {name:<11} {}", paint::faint(&version));
        return true;
    }
    let cure = format!("missing; mend that, or leave it out: {SKIP_VARIABLE}={name}");
    println!("   {name:<11} {}", paint::bad(&cure));
    false
}

/// Whether the requirement is met in the end.
fn provide(requirement: &Requirement, workspace: &Workspace) -> bool {
    let missing = match requirement.find(workspace) {
        Ok(version) => {
            println!("   {:<11} {}", requirement.name, paint::faint(&version));
            return true;
        }
        Err(missing) => missing,
    };
    println!("   {:<11} {missing}", requirement.name);
    if let Install::RustupComponent(component) = requirement.install {
        println!("   {:<11} installing: {}", requirement.name, requirement.install.line());
        let installed = workspace.program("rustup", ["component", "add", component]).run();
        if installed.is_ok_and(|status| status.success()) && requirement.find(workspace).is_ok() {
            return true;
        }
    }
    println!("   {:<11} {} {}", requirement.name, paint::bad("missing; run:"), requirement.install.line());
    false
}
