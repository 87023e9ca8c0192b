//! The scenes of `tollgate demo` that set algorithms side by side: the figures they print are those of the engine.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

const SCENES: [&str; 4] = ["worked-example", "double-window", "idle-reward", "burst"];

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tollgate")).args(arguments).env_remove("NO_COLOR").output().unwrap()
}

/// What it prints, once it has succeeded without complaint.
fn shown(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(arguments);
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(status.success() && stderr.is_empty(), "{arguments:?}: {status}: {stderr}");
    String::from_utf8(stdout).unwrap()
}

/// The cells after the name, in the row of that name.
fn row(page: &str, name: &str) -> Vec<String> {
    let rows = page.lines().filter_map(|line| line.trim_start().strip_prefix(&format!("{name} ")));
    let row = rows.map(|rest| rest.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    row.into_iter().find(|cells| cells.len() > 1).unwrap_or_else(|| panic!("no row {name:?} in:\n{page}"))
}

#[test]
fn every_scene_is_the_one_that_was_approved() {
    for scene in SCENES {
        let name = scene.replace('-', "_");
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/demo/{name}.txt"));
        let shown = shown(&["demo", "--scene", scene]);
        if std::env::var_os("TOLLGATE_APPROVE").is_some() {
            fs::write(&path, &shown).unwrap();
        }
        let approved = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            shown == approved,
            "`tollgate demo --scene {scene}` no longer prints {}.\nIf the page below is right, approve it with:\n  \
             TOLLGATE_APPROVE=1 cargo test -p tollgate-cli --test scenes\nand commit that file.\n\n{shown}",
            path.display()
        );
    }
}

#[test]
fn the_guide_quotes_what_is_printed() {
    let guide = include_str!("../../../docs/algorithms.md");
    let page = shown(&["demo"]);
    let quotes: Vec<_> =
        guide.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(quotes.len(), 3, "one for each scene with several algorithms");
    for quote in quotes {
        assert!(
            page.contains(quote),
            "docs/algorithms.md quotes what `tollgate demo` does not print:\n{quote}"
        );
    }
}

#[test]
fn without_flags_it_tells_the_whole_story_in_order() {
    let page = shown(&["demo"]);
    let titles = ["The worked example", "The double window", "The idle reward", "One burst", "Try also"];
    let places: Vec<_> =
        titles.iter().map(|title| page.find(&format!("\n{title}")).or(page.find(title))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{page}");
    for line in page.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert_eq!(line, line.trim_end(), "idle spaces");
    }
}

#[test]
fn scenes_come_in_the_order_of_the_story_however_they_are_asked_for() {
    let page = shown(&["demo", "--scene", "burst,double-window", "--scene", "burst"]);
    let [double, burst] = ["The double window", "One burst"].map(|title| page.find(title).unwrap());
    assert!(double < burst && page.matches("One burst").count() == 1, "{page}");
    assert!(!page.contains("The worked example:") && !page.contains("The idle reward"), "{page}");
}

#[test]
fn figures_for_the_worked_example_show_that_scene_alone() {
    let page = shown(&["demo", "--rate", "2.5", "--burst", "5"]);
    assert!(page.contains("The worked example") && !page.contains("The double window"), "{page}");
}

#[test]
fn the_double_window_doubles_only_the_fixed_window() {
    let page = shown(&["demo", "--scene", "double-window"]);
    let cells = |name: &str| row(&page, name).join(" ");
    assert_eq!(cells("fixed window, 1000 per 60 s"), "2000 2000 966.7");
    assert_eq!(cells("token bucket, burst 1000"), "1033 1999 kept");
    assert_eq!(cells("sliding log, 1000 per 60 s"), "1000 1000 kept");
    assert_eq!(cells("token bucket, burst 100"), "133 1099 kept");
    assert_eq!(cells("leaky bucket, queue 100"), "34 1001 kept");
}

#[test]
fn idleness_is_rewarded_by_what_was_saved() {
    let page = shown(&["demo", "--scene", "idle-reward"]);
    assert_eq!(row(&page, "token bucket, credit of 120 s").join(" "), "10 50 140 150 300 600 1200");
    assert_eq!(row(&page, "fixed window, 600 per 60 s").join(" "), "0 0 0 600 600 600 600");
}

#[test]
fn a_burst_is_taken_by_all_and_let_out_evenly_by_one() {
    let page = shown(&["demo", "--scene", "burst"]);
    assert_eq!(row(&page, "token bucket, burst 30").join(" "), "30 30 89 0 s kept");
    assert_eq!(row(&page, "leaky bucket, queue 30").join(" "), "30 1 89 2.9 s kept");
    assert_eq!(row(&page, "fixed window, 30 per 3 s").join(" "), "30 30 90 0 s 5.5");
}
