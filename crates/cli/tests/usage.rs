//! What the command says to wrong usage: the flag, the value and the cure, on stderr, with exit code 2.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use std::process::{Command, Output};

fn run(typed: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tollgate")).args(typed.split_whitespace()).output().unwrap()
}

/// The line on stderr, which is the only one, once stdout has stayed empty and the exit code is 2.
fn complaint(typed: &str) -> String {
    let Output { status, stdout, stderr } = run(typed);
    let stderr = String::from_utf8(stderr).unwrap();
    assert_eq!((status.code(), stdout.len()), (Some(2), 0), "{typed}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{typed}: {stderr}");
    stderr.trim_end().to_owned()
}

fn check(typed: &str, expected: &str) {
    assert_eq!(complaint(typed), expected, "{typed}");
}

#[test]
fn without_a_verb_it_prints_help_and_ends_as_wrong_usage() {
    let Output { status, stdout, stderr } = run("");
    let help = String::from_utf8(stderr).unwrap();
    assert_eq!((status.code(), stdout.len()), (Some(2), 0));
    assert!(help.contains("Usage: tollgate <COMMAND>") && help.contains("demo"), "{help}");
}

#[test]
fn help_and_version_are_data() {
    for typed in ["--help", "demo --help", "--version"] {
        let Output { status, stdout, stderr } = run(typed);
        assert!(status.success() && stderr.is_empty() && !stdout.is_empty(), "{typed}");
    }
    assert_eq!(run("--version").stdout, concat!("tollgate ", env!("CARGO_PKG_VERSION"), "\n").as_bytes());
}

#[test]
fn an_unknown_verb_or_flag_is_named() {
    check(
        "demmo",
        "error: unrecognized subcommand 'demmo'; a similar subcommand exists: 'demo'; see 'tollgate --help'",
    );
    check(
        "demo --brust 5",
        "error: unexpected argument '--brust' found; a similar argument exists: '--burst'; see 'tollgate demo --help'",
    );
    check("demo extra", "error: unexpected argument 'extra' found; see 'tollgate demo --help'");
}

#[test]
fn a_scene_that_does_not_exist_is_named_beside_those_that_do() {
    let Output { status, stdout, stderr } = run("demo --scene bursts");
    let stderr = String::from_utf8(stderr).unwrap();
    assert_eq!((status.code(), stdout.len()), (Some(2), 0), "{stderr}");
    assert!(stderr.starts_with("error: invalid value 'bursts' for '--scene <NAME>'"), "{stderr}");
    assert!(stderr.contains("worked-example, double-window, idle-reward, burst"), "{stderr}");
    check("demo --svg", "error: a value is required for '--svg <FILE>' but none was supplied");
    check(
        "demo --scene",
        "error: a value is required for '--scene <NAME>' but none was supplied [possible values: worked-example, double-window, idle-reward, burst]",
    );
}

#[test]
fn figures_for_a_scene_that_is_left_out_are_refused_with_their_cure() {
    check(
        "demo --scene burst --burst 7",
        "error: --burst is for the worked example, which --scene leaves out; add --scene worked-example, or drop --burst",
    );
}

#[test]
fn a_bad_rate_is_refused_with_its_cure() {
    let said = |value: &str| complaint(&format!("demo --rate {value}"));
    let refusal = |value: &str, cure: &str| {
        assert_eq!(said(value), format!("error: invalid value '{value}' for '--rate <TOKENS>': {cure}"));
    };
    refusal("0", "it must be above 0; use 1, or a fraction such as 0.5");
    refusal("-1", "it must be above 0; drop the minus sign");
    refusal("NaN", "not a plain number; write digits with at most one point, as in 10 or 0.5");
    refusal("1e3", "not a plain number; write digits with at most one point, as in 10 or 0.5");
    refusal("0.1234567891", "too many digits; use at most 15, 9 of them after the point");
    refusal(
        "1000000001",
        "`rate` is 1000000001 tokens per 1s; use at most 1000000000 (10^9) tokens per second",
    );
    refusal("0.00000001", "`rate` is 1 tokens per 100000000s; use at least 1 token per year (365 days)");
}

#[test]
fn a_bad_burst_is_refused_with_its_cure() {
    let refusal = |value: &str, cure: &str| {
        check(
            &format!("demo --burst {value}"),
            &format!("error: invalid value '{value}' for '--burst <TOKENS>': {cure}"),
        );
    };
    refusal("0", "it must be above 0; use 1, or a fraction such as 0.5");
    refusal("0.5", "a request costs 1 token and would never be admitted; use 1 or more");
    refusal("1.0000001", "it must be whole micro-tokens, and 10^12 tokens at most; round it to six places");
    refusal("1000000000001", "`burst` is 1000000000001 tokens; use at most 1000000000000 (10^12)");
    refusal("many", "not a plain number; write digits with at most one point, as in 10 or 0.5");
}

#[test]
fn bad_arrivals_are_refused_with_their_cure() {
    check(
        "demo --per-second -60",
        "error: invalid value '-60' for '--per-second <REQUESTS>': it must be above 0; drop the minus sign",
    );
    check(
        "demo --every 50",
        "error: invalid value '50' for '--every <SPAN>': a span needs a unit: ns, us, ms, s, m or h, as in 50ms",
    );
    check(
        "demo --every 0ms",
        "error: invalid value '0ms' for '--every <SPAN>': it must be above 0; use 1, or a fraction such as 0.5",
    );
    check(
        "demo --every -1s",
        "error: invalid value '-1s' for '--every <SPAN>': it must be above 0; drop the minus sign",
    );
    check(
        "demo --every 0.5ns",
        "error: invalid value '0.5ns' for '--every <SPAN>': \
         not a whole number of nanoseconds, or above 584 years; use a rounder or shorter one",
    );
    check(
        "demo --every 1s --per-second 1",
        "error: the argument '--every <SPAN>' cannot be used with '--per-second <REQUESTS>'; see 'tollgate demo --help'",
    );
}

#[test]
fn a_bad_length_is_refused_with_its_cure() {
    for value in ["0", "-1", "1.5", "86401", "soon", "99999999999999999999"] {
        check(
            &format!("demo --seconds {value}"),
            &format!(
                "error: invalid value '{value}' for '--seconds <SECONDS>': use a whole number from 1 to 86400 (one day)"
            ),
        );
    }
}

#[test]
fn flags_that_do_not_go_together_are_refused_with_their_cure() {
    check(
        "demo --per-second 200001",
        "error: --per-second 200001 for --seconds 5 makes 1000005 requests; \
         use at most 1000000: fewer per second, or fewer seconds",
    );
    check(
        "demo --every 1ns --seconds 86400",
        "error: --every 1ns for --seconds 86400 makes 86400000000000 requests; \
         use at most 1000000: fewer per second, or fewer seconds",
    );
    check(
        "demo --every 1h",
        "error: --every 3600s for --seconds 5 makes a single request, which shows nothing; \
         use more per second, or more seconds",
    );
    check(
        "demo --rate 0.000001 --burst 1000000000",
        "error: --burst 1000000000 takes more than 146 years to refill at --rate 0.000001; \
         use a smaller burst or a higher rate",
    );
}
