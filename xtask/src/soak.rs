//! `cargo xtask soak SUBJECT [--minutes N | --seconds N]`: the proofs that run for as long as they are let, for longer than the gate can afford.
//!
//! The same tests as the gate's; how long each takes is said by `TOLLGATE_SOAK_SECONDS`.

use std::process::ExitCode;

use crate::problem::Problem;
use crate::workspace::Workspace;

/// How the tests are told how long to take.
const SECONDS_VARIABLE: &str = "TOLLGATE_SOAK_SECONDS";
/// How long they take unless told otherwise.
const SECONDS: u64 = 60;

/// What can be soaked: its name, its package, and the test targets that know how to take longer.
const SUBJECTS: [(&str, &str, &[&str]); 1] =
    [("redis", "tollgate-redis", &["heavy_hammer", "timing_faults"])];

/// Runs the proofs of one subject, each for as long as it is told.
pub(crate) fn execute(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode, Problem> {
    let (subject, seconds) = parse(arguments)?;
    let (_, package, targets) = subject;
    for target in *targets {
        let soak = ["test", "--profile", "proof", "--package", package, "--all-features", "--test", target];
        let soak = workspace.cargo(soak).args(["--", "--test-threads=1", "--nocapture"]);
        let code = soak.set_env(SECONDS_VARIABLE, &seconds.to_string()).hand_over()?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

type Subject = (&'static str, &'static str, &'static [&'static str]);

fn parse(arguments: &[String]) -> Result<(&'static Subject, u64), Problem> {
    let known = SUBJECTS.map(|(name, ..)| name).join(", ");
    let usage = |problem: String| {
        Problem::usage(format!("{problem}; write `cargo xtask soak redis --minutes 1` (known: {known})"))
    };
    let (name, rest) =
        arguments.split_first().ok_or_else(|| usage("nothing to soak was named".to_owned()))?;
    let subject = SUBJECTS.iter().find(|(known, ..)| known == name);
    let subject = subject.ok_or_else(|| usage(format!("there is nothing to soak named `{name}`")))?;
    match rest {
        [] => Ok((subject, SECONDS)),
        [flag, number] if ["--minutes", "--seconds"].contains(&flag.as_str()) => {
            let unit = if flag == "--minutes" { 60 } else { 1 };
            match number.parse().ok().and_then(|number: u64| number.checked_mul(unit)) {
                Some(seconds @ 1..) => Ok((subject, seconds)),
                _ => Err(usage(format!("`{flag}` is `{number}`, which is no whole number above 0"))),
            }
        }
        [other, ..] => Err(usage(format!("`{other}` is not understood"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{SECONDS, parse};

    fn parsed(words: &[&str]) -> Result<(&'static str, u64), String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse(&words).map(|((name, ..), seconds)| (*name, seconds)).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_subject_and_how_long_are_understood() {
        assert_eq!(parsed(&["redis"]), Ok(("redis", SECONDS)));
        assert_eq!(parsed(&["redis", "--minutes", "5"]), Ok(("redis", 300)));
        assert_eq!(parsed(&["redis", "--seconds", "90"]), Ok(("redis", 90)));
    }

    #[test]
    fn anything_else_is_answered_with_what_to_write() {
        let too_many = u64::MAX.to_string();
        for words in [
            &[][..],
            &["memory"],
            &["redis", "--seconds", "0"],
            &["redis", "--minutes", &too_many],
            &["redis", "--minutes"],
            &["redis", "x"],
        ] {
            let problem = parsed(words).unwrap_err();
            assert!(problem.contains("write `cargo xtask soak redis --minutes 1`"), "{words:?}: {problem}");
        }
    }
}
