//! Bodies full of regexes at the endpoints that compile rules: memory stays small, and the work ends when the client leaves (H8).

use serde_json::{Value, json};

use crate::desk::{Desk, POLICY};

/// Most memory that a server needs for the body and all that it compiles of it.
const GROWTH_KIB_MAX: u64 = 128 * 1024;
/// `count` rules that block; each tests `per_rule` regexes, which are numbered throughout.
fn rules(count: usize, per_rule: usize, regex: impl Fn(usize) -> String) -> Vec<Value> {
    let rule = |rule: usize| {
        let tests = (0..per_rule).map(|at| json!({"header:x": {"regex": regex(rule * per_rule + at)}}));
        let name = format!("r{rule}");
        json!({"rule": {"name": name, "action": "block", "match": {"any": tests.collect::<Vec<_>>()}}})
    };
    (0..count).map(rule).collect()
}

fn refused_in_small_memory(path: &str, rules: &[Value]) {
    let desk = Desk::new(POLICY);
    let before = desk.server.memory_kib();
    let answer = desk.post_admin(&format!("rules/{path}"), &json!({"rules": rules, "base_version": 0}));
    let grown = desk.server.memory_kib().saturating_sub(before);
    assert_eq!(answer.status, 422, "{path}: {}", answer.body);
    assert!(grown < GROWTH_KIB_MAX, "{path}: {grown} KiB");
    assert_eq!(desk.checks(4, "ann"), 3, "checks are answered as before");
}

#[test]
fn one_large_regex_1200_times_is_refused_in_small_memory() {
    for path in ["validate", "diff", "apply"] {
        refused_in_small_memory(path, &rules(20, 60, |_| "a.{1000}".to_owned()));
    }
}

#[test]
fn a_full_body_of_large_regexes_is_refused_in_small_memory() {
    let rules = rules(25, 800, |at| format!("a.{{{}}}", 980 + at % 20));
    assert!(json!(rules).to_string().len() < 1024 * 1024);
    for path in ["validate", "apply"] {
        refused_in_small_memory(path, &rules);
    }
}

#[test]
fn a_full_body_of_small_regexes_is_refused_in_small_memory() {
    let rules = rules(25, 800, |at| format!("bot{at}"));
    refused_in_small_memory("validate", &rules);
}

/// Sends a body, leaves after an eighth of the processor time that the whole response takes, and measures how long the server goes
/// on: less than half of that time.
fn compiling_ends_when_the_client_leaves(method: &str, path: &str, body: &Value) {
    let in_full = {
        let desk = Desk::new(POLICY);
        let begun = desk.processor_ticks();
        desk.send_admin(method, path, body).answer();
        desk.processor_ticks() - begun
    };
    let desk = Desk::new(POLICY);
    let ticks = || desk.processor_ticks();
    let begun = ticks();
    let connection = desk.send_admin(method, path, body);
    desk.wait_until("compiling has begun", || ticks() > begun + in_full / 8);
    drop(connection);
    let left = ticks();
    desk.wait_until("the server is idle", || {
        let before = ticks();
        desk.pause();
        ticks() <= before + 2
    });
    let after = ticks() - left;
    assert!(after < in_full / 2, "{path}: it went on for {after} of {in_full} hundredths of a second");
}

/// A regex of its own for each number. 140 of them take about a second.
fn slow_regex(at: usize) -> String {
    format!(".{{{}}}", 600 + at)
}

#[test]
fn compiling_of_many_rules_ends_when_the_client_leaves() {
    let body = json!({"rules": rules(140, 1, slow_regex), "base_version": 0});
    for path in ["validate", "diff", "apply"] {
        compiling_ends_when_the_client_leaves("POST", &format!("rules/{path}"), &body);
    }
}

#[test]
fn compiling_of_one_rule_ends_when_the_client_leaves() {
    let mut body = rules(1, 140, slow_regex).remove(0);
    body["base_version"] = json!(0);
    compiling_ends_when_the_client_leaves("PUT", "rules/r0", &body);
}
