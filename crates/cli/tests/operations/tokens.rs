//! `tollgate token` and `tollgate migrate`: straight on the database.

use serde_json::Value;

use crate::desk::{Desk, POLICY, ran};
use crate::scratch::Scratch;
use crate::server::tollgate;

#[test]
fn a_secret_is_printed_alone_and_once() {
    let scratch = Scratch::new();
    let records = format!("sqlite:{}", scratch.path("records.db"));
    let words = [
        "token",
        "create",
        "--role",
        "operator",
        "--name",
        "ci\u{1b}[2J",
        "--expires",
        "30d",
        "--records",
        &records,
    ];
    let made = ran(&mut tollgate(&words));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let secret = made.stdout.strip_suffix('\n').unwrap();
    assert!(secret.starts_with("tg_") && !secret.contains(char::is_whitespace), "{secret}");
    assert!(!made.stderr.contains(secret) && made.stderr.contains("TOLLGATE_ADMIN_TOKEN"), "{}", made.stderr);
    assert!(made.stderr.contains("ci\\x1b[2J") && !made.stderr.contains('\u{1b}'), "{}", made.stderr);

    let list = ran(&mut tollgate(&["token", "list", "--records", &records]));
    assert!(list.stdout.contains("operator") && !list.stdout.contains(secret), "{}", list.stdout);
    let json = ran(&mut tollgate(&["token", "list", "--records", &records, "-o", "json"]));
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["tokens"][0]["role"], "operator");
    let kept = std::fs::read(scratch.path("records.db")).unwrap();
    let secret_part = secret.rsplit_once('_').unwrap().1;
    assert!(
        !kept.windows(secret_part.len()).any(|window| window == secret_part.as_bytes()),
        "only its hash is kept"
    );
}

#[test]
fn a_token_opens_the_door_until_it_is_revoked_and_no_further_than_its_role() {
    let desk = Desk::new(POLICY);
    let records = desk.records();
    let made =
        ran(&mut tollgate(&["token", "create", "--role", "viewer", "--name", "vic", "--records", &records]));
    let secret = made.stdout.trim_end().to_owned();
    let run = |words: &[&str]| ran(desk.command(words).env("TOLLGATE_ADMIN_TOKEN", &secret));
    assert_eq!(run(&["rules", "list"]).code, 0);
    let refused = run(&["keys", "block", "user:1", "--reason", "x"]);
    assert_eq!(refused.code, 1);
    for told in [
        "the role operator",
        "`vic`",
        "tollgate token create --role operator",
        "TOLLGATE_ADMIN_TOKEN",
        "--token-file",
    ] {
        assert!(refused.stderr.contains(told), "{told}: {}", refused.stderr);
    }
    let id = secret.split('_').nth(1).unwrap();
    let revoked = ran(&mut tollgate(&["token", "revoke", id, "--records", &records]));
    assert!(revoked.stdout.contains("revoked 20"), "{}{}", revoked.stdout, revoked.stderr);
    desk.wait_until("the token is revoked", || run(&["rules", "list"]).code == 1);
    assert!(run(&["rules", "list"]).stderr.contains("revoked"));
}

#[test]
fn a_database_that_cannot_be_is_told_without_its_password() {
    for (records, code, told) in [
        ("mysql://h/d", 2, "sqlite:PATH"),
        ("off", 2, "the records are off"),
        ("postgres://ann:geheim@127.0.0.1:1/d", 1, "127.0.0.1:1"),
        ("sqlite:/proc/nowhere/records.db", 1, "/proc/nowhere/records.db"),
    ] {
        for words in [&["migrate"][..], &["token", "list"]] {
            let ran = ran(&mut tollgate(&[words, &["--records", records]].concat()));
            assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{records}: {}", ran.stderr);
            assert!(ran.stderr.contains(told) && !ran.stderr.contains("geheim"), "{records}: {}", ran.stderr);
        }
    }
    let nowhere = ran(&mut tollgate(&["token", "list"]));
    assert_eq!(nowhere.code, 1, "{}", nowhere.stdout);
    assert!(nowhere.stderr.contains("--records"), "{}", nowhere.stderr);
}

#[test]
fn the_database_is_the_one_that_serve_would_have() {
    let scratch = Scratch::new();
    let state = scratch.path("state");
    let run = |variable: &str, value: &str, words: &[&str]| ran(tollgate(words).env(variable, value));
    let migrated = run("XDG_STATE_HOME", &state, &["migrate"]);
    assert_eq!(migrated.code, 0, "{}", migrated.stderr);
    assert!(
        migrated.stdout.starts_with(&format!("sqlite:{state}/tollgate/tollgate.db: from schema 0 to ")),
        "{}",
        migrated.stdout
    );
    let again = run("XDG_STATE_HOME", &state, &["migrate"]);
    assert!(again.stdout.ends_with("up to date\n"), "{}", again.stdout);
    let url = format!("sqlite:{}", scratch.path("other.db"));
    for variable in ["DATABASE_URL", "TOLLGATE_RECORDS"] {
        let migrated = run(variable, &url, &["migrate", "-o", "json"]);
        let json: Value = serde_json::from_str(&migrated.stdout).unwrap();
        assert_eq!(json["records"], url, "{variable}");
    }
}
