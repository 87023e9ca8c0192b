//! Steps `fmt`, `clippy` and `docs`: cargo commands that either work or do not. Each step counts as one.

use crate::invocation::Invocation;
use crate::metadata::Metadata;
use crate::paint;
use crate::problem::Problem;
use crate::workspace::{FUZZ_MANIFEST, Workspace, is_on_path};

use super::tally::Tally;

/// Formatting of the workspace and of the fuzz targets.
pub(super) fn fmt(workspace: &Workspace) -> Result<Tally, Problem> {
    let mut commands = vec![workspace.cargo(["fmt", "--all", "--check"])];
    if workspace.has_fuzz_targets() {
        commands.push(workspace.cargo(["fmt", "--manifest-path", FUZZ_MANIFEST, "--check"]));
    }
    all_work(commands).map(Tally::of_one)
}

/// Lints with warnings as errors: everything, then `tollgate` without features, then the fuzz targets.
pub(super) fn clippy(workspace: &Workspace) -> Result<Tally, Problem> {
    let metadata = Metadata::of_members(workspace)?;
    let everything = ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    let mut commands = vec![workspace.cargo(everything)];

    // `--all-targets` passes over targets with `test = false`; naming them by a pattern does not.
    let mut tests = metadata.packages.iter().flat_map(|package| package.targets_of_kind("test"));
    if tests.any(|target| !target.tested) {
        let tests = ["clippy", "--workspace", "--test", "*", "--all-features", "--", "-D", "warnings"];
        commands.push(workspace.cargo(tests));
    }
    if metadata.has("tollgate") {
        let bare = ["clippy", "--package", "tollgate", "--no-default-features", "--", "-D", "warnings"];
        commands.push(workspace.cargo(bare));
    }
    let mut skipped = 0;
    if workspace.has_fuzz_targets() {
        if is_on_path("c++") || is_on_path("g++") {
            let target_dir = metadata.target_directory.join("fuzz");
            let check = workspace.cargo(["check", "--manifest-path", FUZZ_MANIFEST, "--target-dir"]);
            commands.push(check.args([target_dir.to_string_lossy()]));
        } else {
            println!(
                "   fuzz targets not checked: libfuzzer needs a C++ compiler, and there is no c++ or g++ on PATH"
            );
            skipped = 1;
        }
    }
    Ok(Tally { skipped, ..Tally::of_one(all_work(commands)?) })
}

/// The documentation of every crate, with its warnings as errors.
pub(super) fn docs(workspace: &Workspace) -> Result<Tally, Problem> {
    let doc = workspace.cargo(["doc", "--workspace", "--no-deps", "--all-features"]);
    all_work(vec![doc.append_env("RUSTDOCFLAGS", "-D warnings")]).map(Tally::of_one)
}

/// Runs all commands, even after a failure, and says whether all of them worked.
fn all_work(commands: Vec<Invocation>) -> Result<bool, Problem> {
    let mut all = true;
    for command in commands {
        println!("   {}", paint::faint(&format!("$ {}", command.typed())));
        all &= command.run()?.success();
    }
    Ok(all)
}
