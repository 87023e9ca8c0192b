//! Entries: in the place of a rule or a group of the file, or behind it.

use tollgate_policy::{Entry, LintKind, Mode, Source, Sources};

use super::{burst_of, compose, entry, get, inactive, met};

const FILE: (&str, &str) = (
    "policy.yaml",
    "rules:
  - {name: a, scope: user, rate: 1, burst: 1}
  - group: tiers
    combine: first
    rules:
      - {name: pro, scope: user, plan: pro, rate: 2, burst: 2}
      - {name: rest, scope: user, rate: 3, burst: 3}
  - {name: z, scope: global, rate: 4, burst: 4}
",
);

fn names(sources: Sources<'_>) -> Vec<String> {
    compose(sources).policy.rules.iter().map(|rule| rule.name.to_string()).collect()
}

#[test]
fn an_entry_stands_in_for_the_rule_of_its_name_at_its_place() {
    let entries = [
        entry("z", "{name: z, scope: global, rate: 9, burst: 9}"),
        entry("a", "{name: a, scope: ip, rate: 9, burst: 9}"),
    ];
    let composed = compose(Sources { file: Some(FILE), entries: &entries, ..Sources::default() });
    assert_eq!(met(&composed.policy, &get("ann", None, "/")), ["a", "rest", "z"]);
    assert_eq!((burst_of(&composed.policy, "a"), burst_of(&composed.policy, "z")), (9, 9));
    assert_eq!(composed.policy.rules[0].source, Source::Entry("a".into()));
    assert_eq!(composed.policy.rules[2].source, Source::File);
    assert_eq!(
        composed.notes,
        [
            "entry \"a\" stands in for the rule `a` on line 2 of policy.yaml",
            "entry \"z\" stands in for the rule `z` on line 8 of policy.yaml",
        ]
    );
}

#[test]
fn an_entry_stands_in_within_a_group_too() {
    let entries = [entry("pro", "{name: pro, scope: user, plan: pro, rate: 7, burst: 7}")];
    let policy = compose(Sources { file: Some(FILE), entries: &entries, ..Sources::default() }).policy;
    assert_eq!(met(&policy, &get("ann", Some("pro"), "/")), ["a", "pro", "z"]);
    assert_eq!(
        (policy.groups.len(), &policy.groups[0].rules[..], burst_of(&policy, "pro")),
        (1, &[1, 2][..], 7)
    );
}

#[test]
fn a_group_stands_in_for_the_group_of_its_name() {
    let text = "{group: tiers, combine: first, rules: [{name: only, scope: user, rate: 7, burst: 7}]}";
    let entries = [entry("tiers", text)];
    assert_eq!(
        names(Sources { file: Some(FILE), entries: &entries, ..Sources::default() }),
        ["a", "only", "z"]
    );
}

#[test]
fn entries_with_new_names_follow_the_file_by_name() {
    let rule = |name: &str| entry(name, &format!("{{name: {name}, scope: global, rate: 1, burst: 1}}"));
    let entries = [rule("y"), rule("b")];
    let sources = Sources { file: Some(FILE), entries: &entries, ..Sources::default() };
    assert_eq!(names(sources), ["a", "pro", "rest", "z", "b", "y"]);
    assert_eq!(names(Sources { file: None, ..sources }), ["b", "y"]);
}

#[test]
fn an_inactive_entry_takes_the_rule_of_the_file_out_of_force_until_it_is_deleted() {
    let entries = [inactive(entry("z", "{name: z, scope: global, rate: 9, burst: 9}"))];
    let sources = Sources { file: Some(FILE), entries: &entries, ..Sources::default() };
    let composed = compose(sources);
    assert_eq!(met(&composed.policy, &get("ann", None, "/")), ["a", "rest"]);
    assert_eq!(composed.policy.rules[3].mode, Mode::Off);
    assert_eq!(composed.notes[0], "entry \"z\" is inactive");
    let without = compose(Sources { entries: &[], ..sources });
    assert_eq!(met(&without.policy, &get("ann", None, "/")), ["a", "rest", "z"]);
}

#[test]
fn a_rule_without_a_name_is_stood_in_for_by_the_name_that_is_made_for_it() {
    let file = ("p.yaml", "{scope: endpoint, path: /search, rate: 1, burst: 1}");
    let entries = [entry("endpoint:/search", "{scope: endpoint, path: /search, rate: 5, burst: 5}")];
    let policy = compose(Sources { file: Some(file), entries: &entries, ..Sources::default() }).policy;
    assert_eq!((policy.rules.len(), burst_of(&policy, "endpoint:/search")), (1, 5));
}

#[test]
fn a_lint_says_which_entry_it_is_about() {
    let entries = [entry("hasty", "\nname: hasty\nscope: user\nrate: 10\nburst: 5\n")];
    let policy = compose(Sources { entries: &entries, ..Sources::default() }).policy;
    let lints = policy.lints();
    let told = lints.iter().find(|lint| lint.kind == LintKind::BurstBelowRate).unwrap();
    assert_eq!((&told.source, told.line), (&Source::Entry("hasty".into()), 2));
    assert!(told.to_string().starts_with("entry \"hasty\", line 2: rule `hasty`: "), "{told}");
}

#[test]
fn what_is_stored_is_read_as_what_was_typed_and_stays_as_it_is() {
    for text in [
        "{name: a, scope: user, rate: 10/s, burst: 50}",
        "{\"name\": \"a b\", \"limit_keys\": [\"header:x-api-key\", \"ip:prefix/24,48\"], \"rps\": 0.003, \"burst\": 5}",
        "# why\nname: a\nscope: user\nmatch:\n  any:\n    - {plan: pro}\n    - not: {path: ['/a/*', \"/b\"]}\nalgorithm_config: {rps: 5, burst: 10}\nmessage: \"say \\\"no\\\": # \\u00e9\\n\\u0007\"\n",
        "group: g\ncombine: first\nrules:\n  - {name: x, scope: user, plan: pro, rate: 05, burst: 1e1}\n  - {name: y, scope: user, rate: 1, burst: 1}\n",
        "name: a\nscope: user\nalgorithm_config:\nrate: 1\nburst: 1",
    ] {
        let (name, stored) = Entry::parse(text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert_eq!(
            Entry::parse(&stored).unwrap_or_else(|mistakes| panic!("{stored}\n{mistakes}")),
            (name.clone(), stored.clone())
        );
        // Lines may differ, and nothing else.
        let made = |text: &str| {
            let composed = compose(Sources { entries: &[entry(&name, text)], ..Sources::default() });
            let mut policy = composed.policy;
            policy.rules.iter_mut().for_each(|rule| rule.line = 1);
            format!("{policy:?}")
        };
        assert_eq!(made(text), made(&stored), "{stored}");
    }
}

#[test]
fn an_entry_is_refused_before_it_is_stored() {
    let refused =
        Entry::parse("{name: search, scope: endpoint, rate: 5, burts: 10}").unwrap_err().to_string();
    assert!(refused.starts_with("entry \"search\":1:"), "{refused}");
    assert!(refused.contains("did you mean `burst`?"), "{refused}");
    for text in ["", "[]", "5", "{rules: []}", "[{name: a, scope: user, rate: 1, burst: 1}]"] {
        assert!(Entry::parse(text).is_err(), "{text}");
    }
}
