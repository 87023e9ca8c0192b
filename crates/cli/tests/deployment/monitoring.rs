//! What deploy/ has for Prometheus and Grafana: sound by promtool's word, and about metrics that there are.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::component::{is_skipped, tool};
use crate::curl::curl;
use crate::process::Process;
use crate::scratch::Scratch;

/// How every metric of ours begins.
const PREFIX: &str = "tollgate_";

fn deployed(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(path)
}

fn text_of(path: &str) -> String {
    std::fs::read_to_string(deployed(path)).unwrap()
}

fn dashboard() -> Value {
    serde_json::from_str(&text_of("grafana/tollgate.json")).unwrap()
}

/// Runs promtool in a folder; it must be content.
#[track_caller]
fn promtool(folder: &Path, arguments: &[&str]) {
    let output = Command::new(tool("bin/promtool")).args(arguments).current_dir(folder).output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    assert!(output.status.success() && said.contains("SUCCESS"), "{arguments:?}: {said}");
}

/// The metrics of ours that a text names.
fn named_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(PREFIX)).map(str::to_owned).collect()
}

/// Everything that a server tells of, by the names of samples and of families.
fn scraped(flags: &str) -> BTreeSet<String> {
    let server = Process::serve(flags);
    // One check, so that there is something to tell of.
    assert_eq!(curl(&["-d", "{}", &format!("http://{}/v1/check", server.door("http"))]).status, 200);
    let page = curl(&[&format!("http://{}/metrics", server.door("admin"))]).body;
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    let samples = samples.filter_map(|line| line.split(['{', ' ']).next());
    let families = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    samples.chain(families).map(str::to_owned).collect()
}

/// Every expression of the dashboard, with values for its variables.
fn expressions() -> Vec<String> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let annotations = dashboard["annotations"]["list"].as_array().unwrap();
    let expressions = targets.chain(annotations).map(|asked| asked["expr"].as_str().unwrap());
    let filled = expressions.map(|text| text.replace("$__rate_interval", "5m"));
    filled
        .map(|text| ["$job", "$instance", "$rule"].iter().fold(text, |text, name| text.replace(name, ".*")))
        .collect()
}

#[test]
fn the_alerts_are_sound_and_do_what_their_tests_say() {
    if is_skipped("promtool") {
        return;
    }
    let folder = deployed("prometheus");
    promtool(&folder, &["check", "config", "prometheus.yml"]);
    promtool(&folder, &["check", "rules", "alerts.yml"]);
    promtool(&folder, &["test", "rules", "alerts_test.yml"]);
}

#[test]
fn every_alert_is_tested() {
    let (alerts, tests) = (text_of("prometheus/alerts.yml"), text_of("prometheus/alerts_test.yml"));
    let alerts: Vec<&str> = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() > 5, "{alerts:?}");
    for alert in alerts {
        let due = format!("alertname: {alert}\n        exp_alerts:\n          - exp_labels");
        assert!(tests.contains(&due), "no case in which {alert} is due");
    }
}

#[test]
fn every_metric_that_alerts_and_dashboard_name_is_told_by_a_server() {
    let state = Scratch::new();
    let mut told = scraped(&format!("--state-dir {}", state.folder().display()));
    // Only an exact sliding window has entries of a log.
    let policy = state.folder().join("window.yaml");
    std::fs::write(&policy, "{scope: ip, algorithm: sliding_window, quota: 5, window: 1m}").unwrap();
    told.extend(scraped(&format!("--policy {}", policy.display())));
    // A store that does not answer has metrics, too.
    told.extend(scraped("--store redis://127.0.0.1:1"));
    for path in ["prometheus/alerts.yml", "prometheus/alerts_test.yml", "grafana/tollgate.json"] {
        let named = named_in(&text_of(path));
        assert!(!named.is_empty(), "{path}");
        let unknown: Vec<_> = named.difference(&told).collect();
        assert!(unknown.is_empty(), "{path} names what no server tells of: {unknown:?}");
    }
}

#[test]
fn what_the_dashboard_asks_can_be_asked() {
    if is_skipped("promtool") {
        return;
    }
    // A recorded rule for each: promtool reads expressions in rules alone.
    let mut rules = "groups: [{name: dashboard, rules: [".to_owned();
    let expressions = expressions();
    assert!(expressions.len() > 20, "{expressions:?}");
    for (number, expression) in expressions.iter().enumerate() {
        let quoted = serde_json::to_string(expression).unwrap();
        write!(rules, "\n  {{record: 'panel:{number}', expr: {quoted}}},").unwrap();
    }
    rules.push_str("\n]}]\n");
    let scratch = Scratch::new();
    scratch.write("dashboard.yml", &rules);
    promtool(scratch.folder(), &["check", "rules", "dashboard.yml"]);
}

#[test]
fn the_panels_of_the_dashboard_have_a_number_and_a_place_each() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let numbers: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(numbers.len(), panels.len(), "a number is there twice");
    let mut covered = BTreeSet::new();
    for panel in panels {
        let at = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{} is too wide", panel["title"]);
        for (x, y) in
            (at("x")..at("x") + at("w")).flat_map(|x| (at("y")..at("y") + at("h")).map(move |y| (x, y)))
        {
            assert!(covered.insert((x, y)), "{} covers another", panel["title"]);
        }
        if panel["type"] != "row" {
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
        }
    }
}
