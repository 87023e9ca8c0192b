//! `tollgate check`.

use std::fs::File;

use serde_json::{Value, json};

use crate::tool::{Folder, POLICY, complaint, printed};

/// Loads, but a bucket of 100,000 at 10 per second is hardly meant.
const LINTED: &str = "[{name: huge, scope: user, rate: 10/s, burst: 100000}]";
const BAD: &str = "rules:\n  - {name: user, scope: user, rate: 10/s, brust: 50}\n";

#[test]
fn a_good_policy_passes_in_one_line() {
    let folder = Folder::new("check_good").with("policy.yaml", POLICY);
    assert_eq!(printed(folder.run("check policy.yaml")), "policy.yaml: good: 2 rules, no lints\n");
    assert_eq!(printed(folder.run_with_stdin("check -", POLICY)), "<stdin>: good: 2 rules, no lints\n");
}

#[test]
fn the_two_json_rule_sets_of_the_contract_pass_unchanged() {
    let per_address = r#"[{"name": "api", "limit_keys": ["ip:address"], "algorithm": "token_bucket", "algorithm_config": {"rps": 5, "burst": 10}}]"#;
    let folder = Folder::new("check_json").with("policy.json", per_address);
    let shown = printed(folder.run("check policy.json"));
    assert!(shown.ends_with("\npolicy.json: good: 1 rule, 1 lint\n"), "{shown}");
    assert!(shown.contains("`ip:address` gives an IPv6 client 2^64 buckets"), "{shown}");
}

#[test]
fn mistakes_are_told_with_their_place_and_cure_and_end_with_1() {
    let folder = Folder::new("check_bad").with("policy.yaml", BAD);
    let ran = folder.run("check policy.yaml");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    assert!(ran.stdout.starts_with("policy.yaml:2:43: a rule has no field `brust`\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("= cure: did you mean `burst`?\n"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("\npolicy.yaml: refused: 1 mistake\n"), "{}", ran.stdout);
}

#[test]
fn lints_change_the_exit_code_only_when_they_are_denied() {
    let folder = Folder::new("check_lints").with("policy.yaml", LINTED);
    let shown = printed(folder.run("check policy.yaml"));
    assert!(
        shown.starts_with("policy.yaml:1: rule `huge`: ") && shown.contains("[absurd-burst]\n  = cure: "),
        "{shown}"
    );
    assert!(shown.ends_with("\npolicy.yaml: good: 1 rule, 1 lint\n"), "{shown}");
    let denied = folder.run("check policy.yaml --deny-lints");
    assert_eq!((denied.code, denied.stderr.as_str()), (1, ""));
    assert!(
        denied.stdout.ends_with("\npolicy.yaml: refused (--deny-lints): 1 rule, 1 lint\n"),
        "{}",
        denied.stdout
    );
}

#[test]
fn a_limit_that_a_shared_store_cannot_keep_is_told_of_where_the_policy_is_for_one() {
    let rule = "rules: [{name: odd, scope: ip, rate: 123456789/1000000007s, burst: 100}]\n";
    let shared = format!("store: {{instances_max: 2}}\n{rule}");
    let folder = Folder::new("check_shared").with("shared.yaml", &shared).with("memory.yaml", rule);
    let shown = printed(folder.run("check shared.yaml"));
    assert!(shown.contains("shared.yaml:2: rule `odd`: `rate` is"), "{shown}");
    assert!(shown.contains("[cannot-share]") && shown.contains("use rounder numbers"), "{shown}");
    let shown = printed(folder.run("check memory.yaml"));
    assert!(!shown.contains("cannot-share"), "{shown}");
}

#[test]
fn every_file_is_looked_at_whatever_is_wrong_with_another() {
    let folder = Folder::new("check_many").with("a.yaml", POLICY).with("b.yaml", BAD).with("c.yaml", POLICY);
    let ran = folder.run("check a.yaml missing.yaml b.yaml c.yaml");
    assert_eq!(ran.code, 1);
    for line in [
        "a.yaml: good: 2 rules, no lints\n",
        "b.yaml: refused: 1 mistake\n",
        "c.yaml: good: 2 rules, no lints\n",
    ] {
        assert!(ran.stdout.contains(line), "{}", ran.stdout);
    }
    assert!(
        ran.stderr.starts_with("error: cannot read 'missing.yaml': there is no such file"),
        "{}",
        ran.stderr
    );
}

#[test]
fn machines_get_the_same_as_json() {
    let folder = Folder::new("check_machines")
        .with("good.yaml", POLICY)
        .with("bad.yaml", BAD)
        .with("linted.yaml", LINTED);
    let ran = folder.run("check good.yaml bad.yaml linted.yaml -o json");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let files: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(files[0], json!({"file": "good.yaml", "good": true, "rules": 2, "mistakes": [], "lints": []}));
    let mistake = json!({
        "line": 2, "column": 43, "field": "rules[0].brust",
        "what": "a rule has no field `brust`", "cure": "did you mean `burst`?",
    });
    assert_eq!(files[1], json!({"file": "bad.yaml", "good": false, "mistakes": [mistake], "lints": []}));
    let lint = &files[2]["lints"][0];
    assert_eq!(
        (&lint["lint"], &lint["rule"], &lint["line"]),
        (&json!("absurd-burst"), &json!("huge"), &json!(1))
    );
    assert_eq!(files[2]["good"], json!(true));
}

#[test]
fn machines_are_told_of_every_file_that_was_given_even_of_those_that_cannot_be_read() {
    let folder = Folder::new("check_unread").with("good.yaml", POLICY).with("empty.yaml", "");
    let ran = folder.run("check missing.yaml good.yaml empty.yaml -o json");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let files: Value = serde_json::from_str(&ran.stdout).unwrap();
    let names: Vec<&str> =
        files.as_array().unwrap().iter().map(|file| file["file"].as_str().unwrap()).collect();
    assert_eq!(names, ["missing.yaml", "good.yaml", "empty.yaml"]);
    let error = "there is no such file; check its name, or write a policy with `tollgate init`";
    assert_eq!(
        files[0],
        json!({"file": "missing.yaml", "good": false, "error": error, "mistakes": [], "lints": []})
    );
    assert_eq!(files[2]["error"], json!("it is empty; `tollgate init` writes a policy to start from"));
}

#[test]
fn a_file_that_is_no_policy_gets_one_clear_line() {
    let folder = Folder::new("check_files")
        .with("empty.yaml", "")
        .with("blank.yaml", " \n\n")
        .with("binary.yaml", b"a: \xff");
    std::fs::create_dir(folder.path("folder")).unwrap();
    // A file of 1 GiB that takes no room on the disk.
    File::create(folder.path("huge.yaml")).unwrap().set_len(1 << 30).unwrap();
    let check = |file: &str, expected: &str| {
        let ran = folder.run(&format!("check {file}"));
        assert_eq!(complaint(&ran, 1), format!("error: cannot read '{file}': {expected}"));
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    };
    check("missing.yaml", "there is no such file; check its name, or write a policy with `tollgate init`");
    check("folder", "it is a directory; name a file in it");
    check("empty.yaml", "it is empty; `tollgate init` writes a policy to start from");
    check("blank.yaml", "it is empty; `tollgate init` writes a policy to start from");
    check(
        "huge.yaml",
        "it is longer than 4194304 bytes (4 MiB); describe many clients by one rule and a key",
    );
    check("binary.yaml", "it is no text: byte 3 is not UTF-8; save it as UTF-8");
}

#[test]
fn stdin_is_bounded_too() {
    let ran = Folder::new("check_stdin").run_with_stdin("check -", vec![b'#'; 5 << 20]);
    assert!(complaint(&ran, 1).starts_with("error: cannot read '<stdin>': it is longer than 4194304 bytes"));
}

#[test]
fn wrong_usage_ends_with_2() {
    let folder = Folder::new("check_usage").with("policy.yaml", POLICY);
    let check = |typed: &str, expected: &str| assert_eq!(complaint(&folder.run(typed), 2), expected);
    check(
        "check",
        "error: the following required arguments were not provided: <FILE>...; see 'tollgate check --help'",
    );
    check("check - -", "error: stdin (-) can be read once; name the other file");
    check(
        "check policy.yaml -o xml",
        "error: invalid value 'xml' for '--output <table|json>' [possible values: table, json]",
    );
    check(
        "check policy.yaml --deny",
        "error: unexpected argument '--deny' found; a similar argument exists: '--deny-lints'; see 'tollgate check --help'",
    );
}
