//! `tollgate demo` as a user meets it: the real binary, its output and its exit code.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use std::fs;
use std::io;
use std::process::{Command, Output};

fn tollgate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(arguments).env_remove("NO_COLOR");
    command
}

fn run(arguments: &[&str]) -> Output {
    tollgate(arguments).output().unwrap()
}

/// What it prints, once it has succeeded without complaint.
fn shown(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(arguments);
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(status.success() && stderr.is_empty(), "{arguments:?}: {status}: {stderr}");
    String::from_utf8(stdout).unwrap()
}

#[test]
fn the_facts_of_the_worked_example_are_shown() {
    let shown = shown(&["demo"]);
    for fact in [
        "59 of 60 requests admitted",
        "the 60th request, at 0.983 s",
        "1 request in 6 admitted",
        "Tables that say 50 and the 51st forget the refill",
        "denied, retry in 16.666666ms",
        "denied, retry in 1ns",
        "admitted, 0 left",
    ] {
        assert!(shown.contains(fact), "{fact:?} is not in:\n{shown}");
    }
}

#[test]
fn whatever_the_scenario_the_page_fits_in_80_columns() {
    for flags in [
        "--scene worked-example",
        "--rate 2.5 --burst 5 --per-second 8",
        "--burst 1 --per-second 10",
        "--rate 60",
        "--rate 0.001 --burst 1.5 --every 1ms --seconds 1",
        "--rate 1000000000 --burst 1000000000000",
        "--rate 100 --burst 1000 --per-second 200000 --seconds 5",
        "--every 12h --seconds 86400",
        "--rate 3 --burst 2 --per-second 5 --seconds 61",
        "--every 700ms --seconds 1",
        "--burst 9999 --per-second 10000 --seconds 1",
        "--rate 100 --burst 1000 --per-second 20000",
    ] {
        let arguments: Vec<_> = ["demo"].into_iter().chain(flags.split_whitespace()).collect();
        let page = shown(&arguments);
        // Code is not broken, so that it can be copied.
        for line in page.lines().filter(|line| !line.contains("Limit::new(")) {
            assert!(line.chars().count() <= 80, "{flags}: {line}\n{page}");
            assert_eq!(line, line.trim_end(), "{flags}: idle spaces");
        }
    }
}

#[test]
fn nothing_is_claimed_about_a_denial_that_did_not_happen() {
    let page = shown(&["demo", "--rate", "60", "--burst", "1"]);
    assert!(page.contains("none in this run"), "{page}");
    assert!(
        !page.contains("Tables that say") && !page.contains("steady") && !page.contains("retry"),
        "{page}"
    );
}

#[test]
fn a_pipe_gets_no_escape_sequences_with_or_without_no_color() {
    for no_color in [None, Some("1")] {
        let output = tollgate(&["demo"]).envs(no_color.map(|value| ("NO_COLOR", value))).output().unwrap();
        assert!(output.status.success() && !output.stdout.contains(&b'\x1b'));
    }
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let output = tollgate(&["demo"]).stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
#[cfg(target_os = "linux")]
fn a_page_that_cannot_be_written_is_a_failure() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = tollgate(&["demo"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.starts_with("error: cannot write to stdout: No space left on device"), "{complaint}");
}
