//! Steps `test`, `proofs`, `loom` and `doc-tests`: runs of `cargo test`, counted from what they print.
//!
//! A test target that is not for every `cargo test` has `test = false` in its manifest and a name that says which step
//! runs it: `proof…`, `heavy…` and `timing…` (proofs), `loom…` (loom). The tidy rule `test-targets` keeps it so.

use crate::invocation::Invocation;
use crate::metadata::Metadata;
use crate::paint;
use crate::problem::Problem;
use crate::workspace::Workspace;

use super::tally::Tally;
use super::test_log::TestLog;
use super::{Report, Stop};

/// Prefixes of the targets that are proofs, and how many tests of each run at a time.
const PROOFS: [(&str, &str); 3] = [("proof", "2"), ("heavy", "1"), ("timing", "1")];

/// Unit and integration tests of every crate. The build comes first, so that a broken one ends the gate.
pub(super) fn test(workspace: &Workspace) -> Result<Report, Problem> {
    if !build(workspace)? {
        return Ok(Report { tally: Tally::FAILURE, stop: Some(Stop::BuildBroken) });
    }
    let tests = workspace.cargo(["test", "--workspace", "--all-features", "--tests", "--no-fail-fast"]);
    count_tests(tests).map(Report::from)
}

/// Whether the tests of every crate build, and with them the program that some of them start: `debug/tollgate`.
pub(super) fn build(workspace: &Workspace) -> Result<bool, Problem> {
    let build = workspace.cargo(["test", "--workspace", "--all-features", "--tests", "--no-run"]);
    announce(&build);
    Ok(build.run()?.success())
}

/// The tests that need optimisation, built together: first `proof`, two at a time; then those that need the machine for themselves,
/// `heavy` and `timing`.
pub(super) fn proofs(workspace: &Workspace) -> Result<Report, Problem> {
    let metadata = Metadata::of_members(workspace)?;
    let groups = PROOFS.into_iter().filter(|(prefix, _)| !targets(&metadata, prefix).is_empty());
    let groups: Vec<(String, &str)> =
        groups.map(|(prefix, threads)| (format!("{prefix}*"), threads)).collect();
    let optimised = ["test", "--profile", "proof", "--workspace", "--all-features"];
    let named = groups.iter().flat_map(|(names, _)| ["--test", names]);
    let build = workspace.cargo(optimised).args(named).args(["--no-run"]);
    announce(&build);
    if !groups.is_empty() && !build.run()?.success() {
        return Ok(Report { tally: Tally::FAILURE, stop: Some(Stop::BuildBroken) });
    }
    let mut tally = Tally::default();
    for (names, at_a_time) in &groups {
        let run = workspace.cargo(optimised).args(["--no-fail-fast", "--test", names]);
        tally += count_tests(run.args(["--", "--test-threads", at_a_time]))?;
    }
    Ok(or_nothing_to_run(tally, "proof`, `heavy` or `timing").into())
}

/// The concurrent protocols, built against loom's own atomics in a target folder of their own.
pub(super) fn loom(workspace: &Workspace) -> Result<Tally, Problem> {
    let metadata = Metadata::of_members(workspace)?;
    let target_dir = metadata.target_directory.join("loom");
    let mut tally = Tally::default();
    for (package, target) in targets(&metadata, "loom") {
        let loom = ["test", "--profile", "proof", "--package", package, "--test", target];
        let loom = workspace.cargo(loom).args(["--target-dir", &target_dir.to_string_lossy()]);
        let loom = loom.args(["--", "--test-threads=2"]).append_env("RUSTFLAGS", "--cfg loom");
        tally += count_tests(loom)?;
    }
    Ok(or_nothing_to_run(tally, "loom"))
}

/// The examples in documentation comments.
pub(super) fn doc_tests(workspace: &Workspace) -> Result<Tally, Problem> {
    count_tests(workspace.cargo(["test", "--workspace", "--all-features", "--doc", "--no-fail-fast"]))
}

/// Package and target of every test target whose name starts with `prefix`.
fn targets<'a>(metadata: &'a Metadata, prefix: &str) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    for package in &metadata.packages {
        let tests = package.targets_of_kind("test").filter(|target| target.name.starts_with(prefix));
        found.extend(tests.map(|target| (package.name.as_str(), target.name.as_str())));
    }
    found
}

/// Runs tests and counts them. A run without a single test is a failure: it proves nothing.
fn count_tests(invocation: Invocation) -> Result<Tally, Problem> {
    announce(&invocation);
    let typed = invocation.typed().to_owned();
    let mut log = TestLog::default();
    let status = invocation.watch(|line| log.see(line))?;
    let mut tally = log.finish(status.success());
    if !tally.ran_any() {
        println!("{}", paint::bad(&format!("   no test was run by `{typed}`; has it lost its tests?")));
        tally += Tally::FAILURE;
    }
    Ok(tally)
}

/// A step without targets says so and counts as skipped.
fn or_nothing_to_run(tally: Tally, names: &str) -> Tally {
    if tally != Tally::default() {
        return tally;
    }
    println!("   nothing to run: no package has a test target named `{names}`");
    Tally::SKIP
}

fn announce(invocation: &Invocation) {
    println!("   {}", paint::faint(&format!("$ {}", invocation.typed())));
}
