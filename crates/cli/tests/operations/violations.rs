//! `tollgate violations`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::desk::{Desk, POLICY};
use crate::mortal::mortal;

/// A desk where `=1+1` and `43` were denied, three times and once.
fn desk() -> Desk {
    let desk = Desk::new(POLICY);
    desk.checks(6, "=1+1");
    desk.checks(4, "43");
    desk.wait_until("both are on record", || {
        let text = desk.good(&["violations"]);
        text.contains("=1+1") && text.contains("43")
    });
    desk
}

#[test]
fn denials_are_listed_by_whom_and_when() {
    let desk = desk();
    let text = desk.good(&["violations", "--user", "43", "--rule", "api", "--since", "1h"]);
    assert!(text.contains("43") && !text.contains("=1+1"), "{text}");
    assert!(text.lines().next().unwrap().starts_with("WHEN"), "{text}");
    assert!(desk.good(&["violations", "--ip", "192.0.2.7", "--endpoint-prefix", "/a"]).contains("=1+1"));
    for words in
        [&["--user", "44"][..], &["--ip", "192.0.2.8"], &["--until", "2020-01-01"], &["--endpoint", "/b"]]
    {
        let text = desk.good(&[&["violations"], words].concat());
        assert_eq!(text, "No violation is on record that fits.\n", "{words:?}");
    }
    let first = desk.json(&["violations", "--limit", "1"]);
    let cursor = first["cursor"].as_str().unwrap();
    let second = desk.json(&["violations", "--limit", "1", "--cursor", cursor]);
    assert_ne!(first["violations"][0]["violation_id"], second["violations"][0]["violation_id"]);
}

#[test]
fn totals_are_the_truth() {
    let desk = desk();
    desk.wait_until("all are counted", || {
        desk.good(&["violations", "--totals"])
            .lines()
            .any(|line| line.starts_with("api") && line.contains(" 4 "))
    });
}

#[test]
fn exports_are_passed_on_as_the_server_wrote_them() {
    let desk = desk();
    let csv = desk.good(&["violations", "--export", "csv"]);
    assert!(csv.starts_with("violation_id,") || csv.starts_with("\"violation_id\""), "{csv}");
    assert!(csv.contains("'=1+1"), "no formula: {csv}");
    let lines = desk.good(&["violations", "--export", "jsonl", "--user", "43"]);
    assert!(lines.lines().count() >= 1, "{lines}");
    for line in lines.lines() {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["user"], "43");
    }
}

#[test]
fn new_ones_are_shown_as_they_come() {
    let desk = desk();
    let own = desk.command(&[]);
    let mut command = mortal("timeout");
    command.args([
        "20",
        env!("CARGO_BIN_EXE_tollgate"),
        "violations",
        "--follow",
        "--user",
        "new",
        "-o",
        "json",
    ]);
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    desk.checks(5, "new");
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["user"], "new", "{line}");
}

#[test]
fn a_limit_is_refused_where_it_would_limit_nothing() {
    let desk = Desk::new(POLICY);
    for words in [&["--export", "csv"][..], &["--totals"]] {
        let complaint = desk.complaint(&[&["violations", "--limit", "1"], words].concat(), 2);
        assert!(complaint.contains("'--limit <N>' cannot be used with '--"), "{complaint}");
        desk.good(&[&["violations"], words].concat());
    }
}

#[test]
fn what_no_violation_can_fit_is_refused_with_its_cure() {
    let desk = Desk::new(POLICY);
    for (words, told) in [
        (&["--ip", "1.2.3.0/24"][..], "`address` is '1.2.3.0/24'; use one address"),
        (&["--ip", "notanip"], "`address` is 'notanip'; use one address"),
        (&["--since", "1m", "--until", "5m"], "`since` is '60s', which is after `until`, '300s'; "),
        (
            &["--totals", "--since", "1m", "--until", "5m"],
            "`since` is '60s', which is after `until`, '300s'; ",
        ),
        (&["--export", "csv", "--ip", "notanip"], "`address` is 'notanip'; use one address"),
    ] {
        let complaint = desk.complaint(&[&["violations"], words].concat(), 1);
        assert!(complaint.starts_with("error: ") && complaint.contains(told), "{words:?}: {complaint}");
    }
}
