//! `tollgate init`.

use serde_json::Value;

use crate::tool::{Folder, complaint, printed};

#[test]
fn every_preset_makes_a_policy_that_passes_check_without_lints() {
    let folder = Folder::new("init_presets");
    let presets: Value = serde_json::from_str(&printed(folder.run("presets -o json"))).unwrap();
    for preset in presets.as_array().unwrap() {
        let name = preset["name"].as_str().unwrap();
        let ran = folder.run(&format!("init {name}.yaml --preset {name}"));
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        assert!(
            ran.stderr.starts_with(&format!("wrote {name}.yaml and tollgate.schema.json\n")),
            "{}",
            ran.stderr
        );
        let shown = printed(folder.run(&format!("check {name}.yaml --deny-lints")));
        assert_eq!(shown, format!("{name}.yaml: good: 1 rule, no lints\n"));
        let first = folder.read(&format!("{name}.yaml")).lines().next().map(str::to_owned);
        assert_eq!(first.as_deref(), Some("# yaml-language-server: $schema=tollgate.schema.json"));
    }
}

#[test]
fn the_schema_is_written_beside_the_policy() {
    let folder = Folder::new("init_schema");
    std::fs::create_dir(folder.path("deep")).unwrap();
    assert_eq!(folder.run("init deep/policy.yaml --preset webhook").code, 0);
    assert_eq!(folder.read("deep/tollgate.schema.json"), printed(folder.run("schema")));
}

#[test]
fn nothing_is_overwritten_unless_told() {
    let folder = Folder::new("init_force").with("policy.yaml", "mine");
    let refusal =
        "error: 'policy.yaml' exists and was left as it is; give another name, or overwrite it with --force";
    assert_eq!(complaint(&folder.run("init --preset webhook"), 1), refusal);
    assert_eq!(folder.read("policy.yaml"), "mine");
    assert_eq!(folder.run("init --preset webhook --force").code, 0);
    assert!(folder.read("policy.yaml").contains("preset: webhook"));
}

#[test]
fn a_schema_of_somebody_else_is_left_alone_and_one_of_ours_is_renewed() {
    let folder = Folder::new("init_foreign").with("tollgate.schema.json", "{\"title\": \"mine\"}");
    let ran = folder.run("init --preset webhook");
    assert!(complaint(&ran, 1).starts_with("error: 'tollgate.schema.json' exists and was left as it is"));
    assert!(!folder.path("policy.yaml").exists());
    let schema: Value = serde_json::from_str(&printed(folder.run("schema"))).unwrap();
    let old = format!("{{\"title\": {}}}", schema["title"]);
    let folder = folder.with("tollgate.schema.json", old);
    assert_eq!(folder.run("init --preset webhook").code, 0);
    assert_eq!(folder.read("tollgate.schema.json"), printed(folder.run("schema")));
}

#[test]
fn stdout_gets_the_policy_alone() {
    let folder = Folder::new("init_stdout");
    let policy = printed(folder.run("init - --preset strict"));
    assert_eq!(printed(folder.run_with_stdin("check -", &policy)), "<stdin>: good: 1 rule, no lints\n");
    assert!(!folder.path("tollgate.schema.json").exists());
}

#[test]
fn without_a_terminal_nobody_is_asked() {
    let folder = Folder::new("init_pipe");
    let ran = folder.run_with_stdin("init", "1\n");
    assert!(
        complaint(&ran, 2)
            .starts_with("error: nobody is there to be asked; choose with --preset, one of public-read, ")
    );
    assert!(!folder.path("policy.yaml").exists());
}

#[test]
fn wrong_usage_and_places_that_cannot_be_written_are_told_apart() {
    let folder = Folder::new("init_usage");
    assert!(complaint(&folder.run("init --preset nope"), 2).starts_with(
        "error: invalid value 'nope' for '--preset <NAME>': there is no such preset; use one of public-read"
    ));
    assert_eq!(
        complaint(&folder.run("init policy.json --preset webhook"), 2),
        "error: init writes YAML, and 'policy.json' is named as JSON; write it to 'policy.yaml'"
    );
    assert!(
        complaint(&folder.run("init nowhere/policy.yaml --preset webhook"), 1)
            .starts_with("error: cannot write the schema to 'nowhere/tollgate.schema.json': ")
    );
}
