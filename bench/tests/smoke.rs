//! The suite still runs: every case, tiny, and no assertion on speed.

use std::process::{Command, Output};

use serde_json::Value;

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tollgate-bench")).args(arguments).output().expect("the bench starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the bench prints UTF-8")
}

#[test]
fn json_mode_prints_one_object_per_case_and_subject_and_nothing_else() {
    let output = bench(&["core", "--json", "--quick", "--scale", "10000"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Eleven cases of speed and one of memory with four subjects each; four buckets, and fifteen other deeds, against one; two
    // cases of waiting with three subjects each.
    assert_eq!(lines.len(), 12 * 4 + 2 + 15 * 2 + 2 * 3);
    for line in &lines {
        assert_eq!(line["suite"], "core");
        assert!(line["subject"].is_string() && line["ratio_to"].is_string(), "{line}");
        // A hundred keys may fit into pages that the process already had: growth 0, and no ratio.
        let timed = line["ns"].is_number() && line["per_s"].is_number() && line["ratio"].is_number();
        assert!(timed || line["bytes_per_key"].is_number(), "{line}");
    }
}

#[test]
fn the_policy_suite_measures_checking_matching_and_compiling() {
    let output = bench(&["policy", "--json", "--quick", "--scale", "1000"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let subjects: Vec<&str> = lines.iter().filter_map(|line| line["subject"].as_str()).collect();
    assert_eq!(subjects, ["policy", "four_buckets", "10000_rules", "10_rules", "policy"]);
    assert!(lines.iter().all(|line| line["suite"] == "policy" && line["ns"].is_number()));
    let output = bench(&["policy", "--quick", "--scale", "1000", "--case", "compile*"]);
    assert!(text(&output.stdout).contains("What was asked for"), "{}", text(&output.stderr));
}

#[test]
fn the_tower_suite_measures_calls_and_requests_over_sockets() {
    let output = bench(&["tower", "--json", "--quick", "--scale", "1000"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let cases: Vec<&str> = lines.iter().filter_map(|line| line["case"].as_str()).collect();
    let expected = ["call/100000", "call/100000/no-headers", "http/axum/per-address"].map(|case| [case; 3]);
    assert_eq!(cases, expected.as_flattened());
    for line in &lines {
        assert!(line["suite"] == "tower" && line["ratio_to"] == "tower_governor", "{line}");
        assert!(
            line["ns"].is_number() && line["per_s"].is_number() && line["overhead_ns"].is_number(),
            "{line}"
        );
    }
    let output = bench(&["tower", "--quick", "--scale", "1000", "--case", "call/100000"]);
    let stdout = text(&output.stdout);
    assert!(stdout.contains("What was asked for") && stdout.contains("tower_governor 0.8"), "{stdout}");
}

#[test]
fn the_records_suite_measures_checks_with_and_without_the_log() {
    let output = bench(&["records", "--json", "--quick", "--scale", "100"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let subjects: Vec<&str> = lines.iter().filter_map(|line| line["subject"].as_str()).collect();
    assert_eq!(subjects, [["log_on", "log_off"]; 3].as_flattened());
    assert!(lines.iter().all(|line| line["suite"] == "records" && line["ratio_to"] == "log_off"));
    assert!(
        lines
            .iter()
            .all(|line| line["ns"].is_number() && line["per_s"].is_number() && line["ratio"].is_number())
    );
    let output = bench(&["records", "--quick", "--scale", "100", "--case", "*1t"]);
    assert!(text(&output.stdout).contains("What was asked for"), "{}", text(&output.stderr));
}

#[test]
fn tables_end_with_what_was_asked_for() {
    let output = bench(&["core", "--quick", "--scale", "10000", "--case", "str/*/uniform/1t/single"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    for expected in ["clocksource", "Cost per check as keys grow", "What was asked for", "throttlecrab 0.4"] {
        assert!(stdout.contains(expected), "{expected} is missing in:\n{stdout}");
    }
}

#[test]
fn a_bad_flag_is_refused_with_exit_code_2() {
    let output = bench(&["core", "--fast"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "tollgate-bench: unexpected `--fast`; the flags are: [--json] [--case GLOB] [--quick]\n"
    );
    assert!(output.stdout.is_empty());
}
