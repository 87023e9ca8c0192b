//! `cargo xtask tidy`: the repository's own rules, nearly all pure functions over files and packages.
//!
//! A rule is one function and one entry in [`RULES`]. Every offence names its place and its cure.

mod arrows;
mod banned_names;
mod clocks;
mod embedded;
mod file_sizes;
mod floats;
mod leftovers;
mod machine_paths;
mod offence;
mod repository;
mod rust_code;
mod stray_files;
mod test_targets;
mod tokens;
mod unsafe_code;

use std::process::ExitCode;

use crate::paint;
use crate::problem::Problem;
use crate::workspace::Workspace;

use offence::Offence;
use repository::Repository;

/// One rule: its name, what it promises, and how it is checked.
struct Rule {
    name: &'static str,
    promise: &'static str,
    check: fn(&Repository<'_>) -> Vec<Offence>,
}

/// Every rule, those about packages first.
const RULES: [Rule; 11] = [
    Rule {
        name: "arrows",
        promise: "crates depend on each other only as drawn",
        check: |repository| arrows::check(&repository.members.packages, &repository.files),
    },
    Rule {
        name: "embedded",
        promise: "the bare library pulls at most three crates and no C",
        check: |repository| embedded::check(repository.workspace, &repository.members),
    },
    Rule {
        name: "test-targets",
        promise: "every test target is run by exactly one step of the gate",
        check: |repository| test_targets::check(&repository.members.packages),
    },
    Rule {
        name: "file-sizes",
        promise: "no source file is longer than a reader's patience",
        check: |repository| file_sizes::check(&repository.files),
    },
    Rule {
        name: "stray-files",
        promise: "nothing lies about that does not belong",
        check: |repository| stray_files::check(&repository.files),
    },
    Rule {
        name: "banned-names",
        promise: "files and modules are named after what they hold",
        check: |repository| banned_names::check(&repository.files),
    },
    Rule {
        name: "leftovers",
        promise: "no unfinished code, no debugging output, no ignored test",
        check: |repository| leftovers::check(&repository.files),
    },
    Rule {
        name: "machine-paths",
        promise: "no path of somebody's machine",
        check: |repository| machine_paths::check(&repository.files),
    },
    Rule {
        name: "unsafe",
        promise: "unsafe code only in the audited files",
        check: |repository| unsafe_code::check(&repository.files),
    },
    Rule {
        name: "clocks",
        promise: "only the clock reads a clock, and nothing sleeps",
        check: |repository| clocks::check(&repository.files),
    },
    Rule {
        name: "floats",
        promise: "the arithmetic of core is exact",
        check: |repository| floats::check(&repository.files),
    },
];

/// Runs all rules; exit code 1 if any is broken.
pub(crate) fn execute(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode, Problem> {
    if let Some(argument) = arguments.first() {
        return Err(Problem::usage(format!(
            "unexpected `{argument}`; `cargo xtask tidy` takes no arguments"
        )));
    }
    let (_, failed) = count(workspace)?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs and prints all rules; how many hold and how many are broken.
pub(crate) fn count(workspace: &Workspace) -> Result<(usize, usize), Problem> {
    let repository = Repository::read(workspace)?;
    let broken = RULES.iter().filter(|rule| !rule.holds(&repository)).count();
    Ok((RULES.len() - broken, broken))
}

impl Rule {
    /// Checks the rule and prints the outcome.
    fn holds(&self, repository: &Repository<'_>) -> bool {
        let offences = (self.check)(repository);
        let verdict = match offences.len() {
            0 => paint::good("ok"),
            broken => paint::bad(&format!("broken {broken}×")),
        };
        println!("   {:<13} {verdict}  {}", self.name, paint::faint(self.promise));
        for offence in &offences {
            println!("      {offence}");
        }
        offences.is_empty()
    }
}
