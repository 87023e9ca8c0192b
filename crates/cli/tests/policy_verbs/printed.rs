//! What is printed for other programs: presets, schema, scripts, completions, manual.

use serde_json::Value;
use tollgate_redis::Script;

use crate::tool::{Folder, POLICY, complaint, printed};

#[test]
fn presets_are_listed_for_people_and_machines_alike() {
    let folder = Folder::new("printed_presets");
    let table = printed(folder.run("presets"));
    let list: Value = serde_json::from_str(&printed(folder.run("presets -o json"))).unwrap();
    let names: Vec<&str> =
        list.as_array().unwrap().iter().map(|preset| preset["name"].as_str().unwrap()).collect();
    let all = [
        "public-read",
        "authenticated",
        "webhook",
        "password-reset",
        "interactive",
        "strict",
        "batch",
        "llm-tools",
        "burst-credit",
    ];
    assert_eq!(names, all);
    for name in names {
        assert!(table.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}\n{table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 80 && line == line.trim_end()), "{table}");
}

#[test]
fn the_schema_is_json() {
    let schema: Value = serde_json::from_str(&printed(Folder::new("printed_schema").run("schema"))).unwrap();
    assert!(schema["$schema"].as_str().unwrap().starts_with("https://json-schema.org/"));
}

#[test]
fn bash_accepts_its_completions() {
    let folder = Folder::new("printed_completions");
    let script = printed(folder.run("completions bash"));
    let folder = folder.with("tollgate.bash", script);
    let status =
        std::process::Command::new("bash").arg("-n").arg(folder.path("tollgate.bash")).status().unwrap();
    assert!(status.success());
    let refusal = "error: invalid value 'csh' for '<SHELL>' [possible values: bash, elvish, fish, powershell, zsh]; a similar value exists: 'zsh'";
    assert_eq!(complaint(&folder.run("completions csh"), 2), refusal);
}

#[test]
fn every_shell_completes_the_names_of_presets() {
    let folder = Folder::new("printed_preset_names");
    let list: Value = serde_json::from_str(&printed(folder.run("presets -o json"))).unwrap();
    let names: Vec<&str> =
        list.as_array().unwrap().iter().map(|preset| preset["name"].as_str().unwrap()).collect();
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(folder.run(&format!("completions {shell}")));
        for name in &names {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
}

#[test]
fn json_is_asked_for_in_the_same_two_ways_of_every_verb() {
    let folder = Folder::new("printed_json")
        .with("policy.yaml", POLICY)
        .with("cases.yaml", "[{name: a, steps: [{expect: admit}]}]");
    for verb in ["presets", "check policy.yaml", "explain policy.yaml", "test policy.yaml cases.yaml"] {
        let short = printed(folder.run(&format!("{verb} --json")));
        assert_eq!(short, printed(folder.run(&format!("{verb} -o json"))), "{verb}");
        assert!(serde_json::from_str::<Value>(&short).is_ok(), "{verb}: {short}");
        let table = printed(folder.run(verb));
        assert_eq!(table, printed(folder.run(&format!("{verb} --output table"))), "{verb}");
        assert_eq!(
            complaint(&folder.run(&format!("{verb} --json -o table")), 2),
            format!(
                "error: the argument '--json' cannot be used with '--output <table|json>'; see 'tollgate {} --help'",
                verb.split(' ').next().unwrap()
            )
        );
    }
}

#[test]
fn the_scripts_are_printed_to_the_byte() {
    let folder = Folder::new("printed_scripts");
    for script in [Script::decide(), Script::declare()] {
        assert_eq!(printed(folder.run(&format!("script {}", script.name()))), script.text());
    }
    let refused = folder.run("script decode");
    let said = complaint(&refused, 2);
    assert!(said.contains("'decode'") && said.contains("decide, declare"), "{said}");
}

#[test]
fn no_line_of_any_help_is_wider_than_the_terminal() {
    let folder = Folder::new("printed_widths");
    for verb in [
        "",
        "init",
        "check",
        "explain",
        "test",
        "presets",
        "schema",
        "script",
        "demo",
        "completions",
        "man",
        "rules",
        "keys",
        "violations",
        "top",
        "token",
        "migrate",
    ] {
        for flag in ["-h", "--help"] {
            let help = folder.run_at_80_columns(&format!("{verb} {flag}"));
            assert_eq!(help.code, 0, "{}", help.stderr);
            for line in help.stdout.lines() {
                assert!(line.chars().count() <= 80, "{verb} {flag}: {line}");
            }
        }
    }
}

#[test]
fn the_manual_has_a_page_for_every_verb() {
    let folder = Folder::new("printed_man");
    let names = printed(folder.run("man pages"));
    let of_policies =
        ["init", "check", "explain", "test", "presets", "schema", "script", "demo", "completions", "man"];
    let of_operators =
        ["rules", "rules-apply", "keys", "keys-block", "violations", "top", "token-create", "migrate"];
    for verb in of_policies.into_iter().chain(of_operators) {
        let page = format!("pages/tollgate-{verb}.1");
        assert!(names.lines().any(|line| line == page), "{names}");
        assert!(folder.read(&page).contains(".SH SYNOPSIS"), "{page}");
    }
    assert_eq!(printed(folder.run("man")), folder.read("pages/tollgate.1"));
    let folder = folder.with("file", "");
    assert!(
        complaint(&folder.run("man file/pages"), 1)
            .starts_with("error: cannot write the manual to 'file/pages': ")
    );
}

#[test]
fn the_page_of_one_verb_is_printed_unless_a_directory_has_its_name() {
    let folder = Folder::new("printed_man_of_a_verb");
    printed(folder.run("man pages"));
    assert_eq!(printed(folder.run("man explain")), folder.read("pages/tollgate-explain.1"));
    assert!(!folder.path("explain").exists());

    std::fs::create_dir(folder.path("check")).unwrap();
    let names = printed(folder.run("man check"));
    assert!(names.lines().any(|line| line == "check/tollgate-check.1"), "{names}");
    assert!(folder.path("check/tollgate-check.1").exists());

    let names = printed(folder.run("man ./explain"));
    assert!(names.lines().any(|line| line == "./explain/tollgate-explain.1"), "a path is no verb: {names}");
}

#[test]
fn help_of_every_verb_is_data() {
    let folder = Folder::new("printed_help");
    for verb in ["init", "check", "explain", "test", "presets", "schema", "script", "completions", "man"] {
        assert!(
            printed(folder.run(&format!("{verb} --help"))).contains(&format!("Usage: tollgate {verb}")),
            "{verb}"
        );
    }
}
