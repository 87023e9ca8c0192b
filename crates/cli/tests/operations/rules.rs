//! `tollgate rules`.

use serde_json::json;

use crate::desk::{Desk, POLICY};

const TIGHTER: &str = "\
- {name: api, scope: user, rate: 1/h, burst: 1}
- {name: search, path: /search, scope: endpoint, rate: 5/s, burst: 10}
";

#[test]
fn rules_are_shown_before_they_are_applied_and_are_in_force_after() {
    let desk = Desk::new(POLICY);
    let file = desk.scratch.write("tighter.yaml", TIGHTER);
    let diff = desk.good(&["rules", "diff", &file]);
    assert!(diff.contains("+ rule api\n") && diff.contains("  + burst: 1\n"), "{diff}");

    let ran = desk.run(&["rules", "apply", &file, "--comment", "slower", "--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Version 1 is on record: 2 added.\n"), "{}", ran.stderr);
    assert_eq!(ran.stderr, diff, "what is about to be changed is shown where questions are");
    desk.wait_until("the rules are in force", || desk.good(&["rules", "list"]).contains("burst 1 "));
    assert!(desk.check("42") && !desk.check("42"), "one at once");

    let list = desk.json(&["rules", "list"]);
    let names: Vec<&str> =
        list["rules"].as_array().unwrap().iter().map(|rule| rule["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["api", "everyone", "search"]);
    let one = desk.good(&["rules", "get", "api"]);
    assert!(one.starts_with("api\n") && one.contains("entry \"api\""), "{one}");
    assert_eq!(desk.json(&["rules", "get", "api"])["name"], "api");
    assert_eq!(
        desk.good(&["rules", "apply", &file, "--yes"]),
        "Nothing to change; the rules stay at version 1.\n"
    );
}

#[test]
fn without_a_terminal_nothing_is_changed_unless_yes_is_said() {
    let desk = Desk::new(POLICY);
    let file = desk.scratch.write("tighter.yaml", TIGHTER);
    for words in
        [&["rules", "apply", &file][..], &["rules", "kill", "--reason", "x"], &["rules", "delete", "api"]]
    {
        let complaint = desk.complaint(words, 2);
        assert!(complaint.ends_with("add --yes\n"), "{complaint}");
    }
    assert_eq!(desk.json(&["rules", "history"])["versions"], json!([]));
}

#[test]
fn history_tells_who_when_and_why_and_leads_back() {
    let desk = Desk::new(POLICY);
    let file = desk.scratch.write("tighter.yaml", TIGHTER);
    desk.good(&["rules", "apply", &file, "--yes", "--comment", "first"]);
    desk.good(&["rules", "deactivate", "search", "--comment", "quiet"]);
    desk.good(&["rules", "delete", "api", "--yes", "--comment", "gone"]);
    let history = desk.good(&["rules", "history"]);
    let lines: Vec<Vec<&str>> = history.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["VERSION", "WHEN", "WHO", "WHY"]);
    // Between name and reason stands the number of the token.
    assert!(lines[1..].iter().all(|line| line[3].len() == 18 && line[3].starts_with('(')), "{history}");
    let told: Vec<_> = lines[1..].iter().map(|line| (line[0], line[2], line[4])).collect();
    assert_eq!(told, [("3", "ann", "gone"), ("2", "ann", "quiet"), ("1", "ann", "first")]);
    let older = desk.good(&["rules", "history", "--limit", "1"]);
    assert!(older.contains("rules history --before 3"), "{older}");

    let diff = desk.good(&["rules", "diff", "--version", "2"]);
    assert!(diff.starts_with("~ rule search\n  + is_active: false\n"), "{diff}");
    let ran = desk.run(&["rules", "rollback", "1", "--yes", "--comment", "back"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("Version 4 is on record: it is what version 1 was"), "{}", ran.stdout);
    assert!(ran.stderr.contains("+ rule api"), "{}", ran.stderr);
    assert_eq!(desk.good(&["rules", "diff", "--version", "4", "--against", "1"]), "Nothing differs.\n");
}

#[test]
fn what_was_exported_can_be_applied_again() {
    let desk = Desk::new(POLICY);
    let file = desk.scratch.write("tighter.yaml", TIGHTER);
    desk.good(&["rules", "apply", &file, "--yes"]);
    desk.good(&["rules", "deactivate", "search"]);
    for language in ["yaml", "json"] {
        let exported = desk.good(&["rules", "export", "-o", language]);
        let file = desk.scratch.write(&format!("exported.{language}"), &exported);
        assert_eq!(desk.good(&["rules", "diff", "--prune", &file]), "Nothing differs.\n", "{exported}");
    }
    let pruned = desk.scratch.write("one.yaml", "{name: api, scope: user, rate: 1/h, burst: 1}");
    let diff = desk.good(&["rules", "diff", "--prune", &pruned]);
    assert!(diff.starts_with("- rule search\n"), "{diff}");
}

#[test]
fn of_two_changes_of_one_version_the_second_is_told_who_came_first_and_what_to_type() {
    let desk = Desk::new(POLICY);
    let file = desk.scratch.write("tighter.yaml", TIGHTER);
    desk.good(&["rules", "apply", &file, "--yes", "--comment", "mine"]);
    let other = desk.scratch.write("other.yaml", "{name: api, scope: user, rate: 1/h, burst: 2}");
    let complaint = desk.complaint(&["rules", "apply", &other, "--yes", "--base-version", "0"], 1);
    let told = complaint.split_once("error: ").unwrap().1;
    assert!(told.starts_with("nothing was changed: the rules are at version 1, made by ann ("), "{told}");
    assert!(
        told.contains(") at 20") && told.contains(")  mine\n") && told.contains("tollgate rules apply FILE…"),
        "{told}"
    );
    assert_eq!(desk.json(&["rules", "history"])["versions"].as_array().unwrap().len(), 1);
}

#[test]
fn mistakes_are_told_with_their_place_before_anything_is_sent_and_by_the_server() {
    let desk = Desk::new(POLICY);
    let file = desk.scratch.write("bad.yaml", "- {name: a, scope: ip, rate: 1/s, burts: 1}\n");
    let complaint = desk.complaint(&["rules", "apply", &file, "--yes"], 1);
    assert!(complaint.contains("bad.yaml:1:") && complaint.contains("burst"), "{complaint}");
    // Sound by itself, and not beside the file's.
    let clash =
        "- {group: everyone-else, combine: first, rules: [{name: everyone, scope: ip, rate: 1/s, burst: 1}]}";
    let file = desk.scratch.write("clash.yaml", clash);
    let ran = desk.run(&["rules", "validate", &file]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("everyone"), "{}", ran.stdout);
    let sound = desk.scratch.write("sound.yaml", TIGHTER);
    let validated = desk.good(&["rules", "validate", &sound]);
    assert!(validated.ends_with("The rules are sound.\n"), "{validated}");
}

#[test]
fn a_rule_is_ordered_to_watch_and_everything_is_stopped_and_released() {
    let desk = Desk::new(POLICY);
    desk.good(&["rules", "mode", "api", "shadow", "--reason", "watch", "--for", "1h"]);
    desk.wait_until("api watches", || desk.json(&["rules", "get", "api"])["mode"] == "shadow");
    assert!((0..9).all(|_| desk.check("42")));
    let order = desk.json(&["rules", "kill", "--reason", "broken", "--yes"]);
    desk.wait_until("everything is refused", || !desk.check("43"));
    desk.good(&["keys", "release", &order["order_id"].to_string(), "--reason", "mended"]);
    desk.wait_until("everything is admitted", || desk.check("44"));
    let orders = desk.json(&["keys", "orders", "--past"]);
    assert_eq!(orders["orders"].as_array().unwrap().len(), 2, "{orders}");
    assert!(desk.good(&["rules", "reload", "--reason", "x"]).starts_with("unchanged; "));
}

#[test]
fn one_name_with_two_contents_is_a_mistake_that_names_both_files() {
    let desk = Desk::new(POLICY);
    let one = desk.scratch.write("one.yaml", "{name: api, scope: user, rate: 1/h, burst: 1}");
    let two = desk.scratch.write("two.yaml", "{name: api, scope: user, rate: 1/h, burst: 2}");
    for verb in [&["validate"][..], &["diff"], &["apply", "--yes"]] {
        let complaint = desk.complaint(&[&["rules"], verb, &[&one, &two]].concat(), 1);
        assert_eq!(
            complaint,
            format!(
                "error: rule `api` is one thing in {one} and another in {two}; delete one of the two, or give it another name\n"
            )
        );
    }
    assert_eq!(desk.json(&["rules", "history"])["versions"], json!([]));
    // Said twice alike is said once.
    let same = desk.scratch.write("same.yaml", "- {name: api, scope: user, rate: 1/h, burst: 1}");
    assert_eq!(desk.good(&["rules", "apply", &one, &same, "--yes"]), "Version 1 is on record: 1 added.\n");
}

#[test]
fn the_version_that_was_asked_for_is_the_one_that_is_missing() {
    let desk = Desk::new(POLICY);
    let complaint = desk.complaint(&["rules", "diff", "--version", "99"], 1);
    assert!(complaint.starts_with("error: there is no version 99;"), "{complaint}");
}
