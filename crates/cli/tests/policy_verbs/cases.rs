//! `tollgate test`.

use serde_json::{Value, json};

use crate::tool::{Folder, POLICY, complaint, printed};

fn folder(name: &str, cases: &str) -> Folder {
    Folder::new(name).with("policy.yaml", POLICY).with("cases.yaml", cases)
}

#[test]
fn cases_that_go_as_expected_end_with_0() {
    let cases = "
- name: a burst, then the rate
  request: {user: ann}
  steps:
    - {times: 51, expect: {admitted: 50}, rules: [user, everyone], violated: [user], retry_after: 100ms}
    - {at: 99ms, expect: deny}
    - {at: 100ms, expect: admit}
    - {at: 1h, times: 50, expect: admit}
- name: every case begins with full buckets
  steps: [{request: {user: ann}, times: 50, expect: admit, violated: []}]
";
    let shown = printed(folder("test_good", cases).run("test policy.yaml cases.yaml"));
    assert_eq!(
        shown,
        "ok    a burst, then the rate\nok    every case begins with full buckets\n\n2 cases, all as expected\n"
    );
}

#[test]
fn a_failure_shows_what_was_expected_beside_what_came_and_ends_with_1() {
    let cases = "
- name: too hopeful
  request: {user: ann, path: /x}
  steps:
    - {times: 51, expect: admit, rules: [user], violated: [], retry_after: 99ms}
    - {at: 5s, expect: admit}
    - {at: 6s, expect: deny}
- name: sober
  steps: [{expect: admit}]
";
    let folder = folder("test_bad", cases);
    let ran = folder.run("test policy.yaml cases.yaml");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let expected = "\
FAIL  too hopeful
      cases.yaml:5: at 0s, GET /x, 51 times
        - admitted     51 of 51
        + admitted     50 of 51
        - rules        user
        + rules        everyone, user
        - violated     none
        + violated     user
        - retry_after  99ms
        + retry_after  100ms
      cases.yaml:7: at 6s, GET /x
        - admitted  0 of 1
        + admitted  1 of 1
ok    sober

2 cases, 1 failed (- expected, + came)
";
    assert_eq!(ran.stdout, expected);
    let ran = folder.run("test policy.yaml cases.yaml -o json");
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &document["passed"], &document["failed"]), (1, &json!(1), &json!(1)));
    let difference = json!({"what": "admitted", "expected": "51 of 51", "came": "50 of 51"});
    assert_eq!(document["cases"][0]["failures"][0]["differences"][0], difference);
    assert_eq!(
        (&document["cases"][1]["name"], &document["cases"][1]["passed"]),
        (&json!("sober"), &json!(true))
    );
}

#[test]
fn long_times_are_told_as_they_are_written_and_in_the_units_of_a_clock() {
    let cases = "
- name: hasty
  request: {user: ann}
  steps:
    - {expect: admit}
    - {at: 20m, expect: deny, retry_after: 2h}
";
    let policy = "[{name: daily, scope: user, rate: 1/d, burst: 1}]";
    let folder = Folder::new("test_long").with("policy.yaml", policy).with("cases.yaml", cases);
    let ran = folder.run("test policy.yaml cases.yaml");
    let expected = "      cases.yaml:6: at 20 min, GET /
        - retry_after  7200s (2 h)
        + retry_after  85200s (23 h 40 min)
";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    let document: Value =
        serde_json::from_str(&folder.run("test policy.yaml cases.yaml -o json").stdout).unwrap();
    let failure = &document["cases"][0]["failures"][0];
    assert_eq!(failure["differences"][0]["came"], json!("85200s"));
    assert_eq!(failure["at_ns"], json!(1_200_000_000_000_u64));
}

#[test]
fn mistakes_in_either_file_are_told_with_their_place() {
    let folder =
        folder("test_mistakes", "- {name: a, steps: [{expct: admit}]}").with("bad.yaml", "rules: 5\n");
    let ran = folder.run("test policy.yaml cases.yaml");
    assert_eq!(complaint(&ran, 1), "cases.yaml:1:22: a step has no field `expct`");
    assert!(ran.stderr.ends_with("= cure: did you mean `expect`?\n"), "{}", ran.stderr);
    assert!(complaint(&folder.run("test bad.yaml cases.yaml"), 1).starts_with("bad.yaml:1:8: "));
}

#[test]
fn files_that_are_not_there_are_named() {
    let folder = folder("test_missing", "[]");
    assert!(
        complaint(&folder.run("test nothing.yaml cases.yaml"), 1)
            .starts_with("error: cannot read 'nothing.yaml': ")
    );
    assert!(
        complaint(&folder.run("test policy.yaml nothing.yaml"), 1)
            .starts_with("error: cannot read 'nothing.yaml': ")
    );
    assert_eq!(
        complaint(&folder.run("test - -"), 2),
        "error: stdin (-) can be read once; name the other file"
    );
    let needed =
        "error: the following required arguments were not provided: <CASES>; see 'tollgate test --help'";
    assert_eq!(complaint(&folder.run("test policy.yaml"), 2), needed);
}

#[test]
fn the_cure_of_a_file_is_that_of_what_it_should_hold() {
    let folder = folder("test_cures", "").with("empty.yaml", "");
    let told = |typed: &str, expected: &str| assert_eq!(complaint(&folder.run(typed), 1), expected);
    told(
        "test policy.yaml nothing.yaml",
        "error: cannot read 'nothing.yaml': there is no such file; check its name, \
         or write cases as `tollgate test --help` shows",
    );
    told(
        "test policy.yaml empty.yaml",
        "error: cannot read 'empty.yaml': it is empty; `tollgate test --help` shows a case to start from",
    );
    told(
        "test nothing.yaml cases.yaml",
        "error: cannot read 'nothing.yaml': there is no such file; check its name, \
         or write a policy with `tollgate init`",
    );
    std::fs::File::create(folder.path("huge.yaml")).unwrap().set_len(1 << 30).unwrap();
    told(
        "test policy.yaml huge.yaml",
        "error: cannot read 'huge.yaml': it is longer than 4194304 bytes (4 MiB); \
         spread the cases over several files",
    );
}

#[test]
fn cases_may_come_from_stdin() {
    let folder = Folder::new("test_stdin").with("policy.yaml", POLICY);
    let cases = r#"[{"name": "as JSON", "steps": [{"request": {"user": "ann"}, "expect": "admit"}]}]"#;
    let shown = printed(folder.run_with_stdin("test policy.yaml -", cases));
    assert_eq!(shown, "ok    as JSON\n\n1 case, all as expected\n");
}

#[test]
fn requests_of_one_step_are_at_work_at_the_same_time() {
    let policy = "[{name: jobs, scope: user, algorithm: concurrency, places: 3, timeout: 60s}]";
    let cases = "
- name: three at work, and three again once they have left
  request: {user: ann}
  steps:
    - {times: 5, expect: {admitted: 3}, violated: [jobs]}
    - {at: 1s, times: 3, expect: admit}
";
    let folder = Folder::new("test_places").with("policy.yaml", policy).with("cases.yaml", cases);
    printed(folder.run("test policy.yaml cases.yaml"));
}

#[test]
fn who_refuses_without_a_bucket_is_a_violation() {
    let policy = "
rules:
  - {name: blocked, action: block, path: /admin}
  - {name: keyed, limit_keys: [\"header:x-api-key\"], missing: deny, rate: 1/s, burst: 5}
kill_switches:
  - {name: maintenance, match: {path: /pay}, reason: back at noon}
";
    let cases = "
- name: all three
  steps:
    - {request: {path: /admin, headers: {X-Api-Key: k}}, expect: deny, violated: [blocked]}
    - {request: {path: /}, expect: deny, violated: [keyed]}
    - {request: {path: /pay}, expect: deny, violated: [maintenance]}
    - {request: {path: /, headers: {X-Api-Key: k}}, expect: admit, violated: []}
";
    let folder = Folder::new("test_refusals").with("policy.yaml", policy).with("cases.yaml", cases);
    printed(folder.run("test policy.yaml cases.yaml"));
}

#[test]
fn a_rule_that_only_watches_can_be_tested_before_it_is_enforced() {
    let policy = "
- {name: now, scope: user, rate: 10/s, burst: 50}
- {name: soon, scope: user, rate: 1/s, burst: 5, mode: shadow}
";
    let cases = "
- name: nobody notices, and we know whom it would hit
  request: {user: ann}
  steps:
    - {times: 5, expect: admit, rules: [now], would_deny: []}
    - {expect: admit, violated: [], would_deny: [soon]}
    - {at: 1s, expect: admit, would_deny: []}
";
    let folder = Folder::new("test_shadow").with("policy.yaml", policy).with("cases.yaml", cases);
    printed(folder.run("test policy.yaml cases.yaml"));
}

#[test]
fn a_name_cannot_steer_the_terminal() {
    let folder = folder("test_escape", "[{name: \"\\e[31mred\", steps: [{expect: admit}]}]");
    assert!(printed(folder.run("test policy.yaml cases.yaml")).starts_with("ok    \\x1b[31mred\n"));
}
