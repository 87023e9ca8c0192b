//! Names, keys and reasons that would steer the terminal of whoever looks at them.

use crate::desk::{Desk, POLICY};

/// Clears the screen, names the window, turns the line round, ends the line.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}1m\u{202e}a\r\nb";

#[track_caller]
fn assert_harmless(text: &str) {
    let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(bad), "{text:?}");
}

#[test]
fn no_client_steers_the_terminal_of_who_looks_at_it() {
    let desk = Desk::new(POLICY);
    desk.checks(6, HOSTILE);
    desk.wait_until("it is on record", || desk.good(&["violations"]).contains("\\x1b[2J"));
    for words in [&["violations"][..], &["keys", "top"], &["top", "--once"], &["violations", "--totals"]] {
        assert_harmless(&desk.good(words));
        assert_harmless(&desk.good(&[words, &["-o", "json"]].concat()));
    }
    let list = desk.json(&["violations"]);
    assert!(
        list["violations"][0]["user"].as_str().unwrap().contains("\u{1b}[2J"),
        "JSON means what was sent: {list}"
    );
}

#[test]
fn no_operator_steers_the_terminal_of_another() {
    let desk = Desk::new(POLICY);
    let who = format!("user:{HOSTILE}");
    let given = desk.run(&["keys", "block", &who, "--reason", HOSTILE]);
    assert_harmless(&given.stdout);
    assert_harmless(&given.stderr);
    for words in [
        &["keys", "orders"][..],
        &["audit"],
        &["audit", "-o", "json"],
        &["rules", "list"],
        &["rules", "get", HOSTILE],
        &["keys", "get", HOSTILE, HOSTILE],
        &["rules", "delete", HOSTILE, "--yes"],
        &["keys", "unblock", &who, "--reason", "x"],
        &["keys", "unblock", &who, "--reason", "x"],
    ] {
        let ran = desk.run(words);
        assert_harmless(&ran.stdout);
        assert_harmless(&ran.stderr);
    }
    let file = desk.scratch.write("r.yaml", "{name: quiet, scope: ip, rate: 1/s, burst: 1}");
    let applied = desk.run(&["rules", "apply", &file, "--yes", "--comment", HOSTILE]);
    assert_harmless(&applied.stdout);
    assert_harmless(&applied.stderr);
    assert_harmless(&desk.run(&["rules", "history"]).stdout);
    assert_harmless(&desk.run(&["rules", "apply", &file, "--yes", "--base-version", "0"]).stderr);
}
