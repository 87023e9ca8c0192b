//! Rules on record: put, switched, deleted, applied, rolled back; and nobody's change is lost.

use serde_json::{Value, json};
use tollgate_records::Role;

use super::door::TestDoor;

fn rule(name: &str, burst: u32) -> Value {
    json!({ "name": name, "scope": "user", "limit_keys": ["user"], "rate": "1/s", "burst": burst })
}

#[tokio::test]
async fn a_rule_is_put_read_switched_deleted_and_brought_back() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let put = json!({ "rule": rule("search", 5), "comment": "searches are dear" });
    let ask = |version: &str| {
        door.ask("PUT", "/admin/v1/rules/search").json(&put).token(&token).field("if-match", version)
    };
    let made = ask("\"0\"").expect(200).await;
    assert_eq!(made.json()["version"], json!(1));
    let author = made.json()["author"].as_str().unwrap().to_owned();
    assert!(author.starts_with("some admin (") && author.ends_with(')'), "{author}");
    assert_eq!(made.headers["etag"], "\"1\"");

    // Whoever knows an older one is told of it, and loses nothing.
    let conflict = ask("\"0\"").expect(409).await;
    assert_eq!(conflict.reason(), "version_conflict");
    assert_eq!(conflict.json()["current_version"], 1);
    assert_eq!(conflict.headers["etag"], "\"1\"");

    let switch = json!({ "base_version": 1, "comment": "off for now" });
    door.post("/admin/v1/rules/search/deactivate", &switch).token(&token).expect(200).await;
    let exported = door.get("/admin/v1/rules/export?format=json").token(&token).expect(200).await.json();
    assert_eq!((&exported["version"], &exported["rules"][0]["active"]), (&json!(2), &json!(false)));
    let deletion = door.ask("DELETE", "/admin/v1/rules/search?comment=gone").token(&token);
    deletion.field("if-match", "*").expect(200).await;

    let back = json!({ "base_version": 3, "comment": "as it was" });
    let made = door.post("/admin/v1/versions/1/rollback", &back).token(&token).expect(200).await.json();
    assert_eq!(made["version"], 4);
    let version = door.get("/admin/v1/versions/4").token(&token).expect(200).await.json();
    assert_eq!(version["entries"][0]["name"], "search");
    let diff = door.get("/admin/v1/versions/4/diff?against=3").token(&token).expect(200).await.json();
    assert_eq!(diff["diff"]["added_entries"][0]["name"], "search", "{diff}");
    let versions = door.get("/admin/v1/versions?limit=2").token(&token).expect(200).await.json();
    assert_eq!(versions["versions"][0]["version"], 4);
    let page = format!("/admin/v1/versions?limit=2&cursor={}", versions["cursor"]);
    let versions = door.get(&page).token(&token).expect(200).await.json();
    assert_eq!(versions["versions"][1]["version"], 1);
    // Four changes and a token; each with its line.
    let audit = door.get("/admin/v1/audit").token(&token).expect(200).await.json();
    assert_eq!(audit["lines"].as_array().unwrap().len(), 5, "{audit}");
}

#[tokio::test]
async fn a_change_without_the_version_that_it_is_of_is_refused_with_the_one_there_is() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let put = json!({ "rule": rule("search", 5) });
    let ask = || door.ask("PUT", "/admin/v1/rules/search").json(&put).token(&token);
    let answer = ask().expect(428).await;
    assert_eq!(
        (answer.reason().as_str(), &answer.headers["etag"]),
        ("version_needed", &"\"0\"".parse().unwrap())
    );
    for version in ["0", "W/\"0\"", "\"x\"", ""] {
        assert_eq!(ask().field("if-match", version).expect(400).await.reason(), "bad_version", "{version}");
    }
}

#[tokio::test]
async fn rules_that_would_be_wrong_are_refused_with_every_mistake_and_nothing_is_kept() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let bad = json!({ "rules": [{ "rule": rule("a", 0) }], "base_version": 0 });
    let answer = door.post("/admin/v1/rules/apply", &bad).token(&token).expect(422).await;
    assert_eq!(answer.reason(), "unsound_rules");
    assert!(answer.json()["mistakes"][0].as_str().unwrap().contains("burst"), "{}", answer.text);
    // Sound each by itself, and not together: a row that says what no scope has.
    let bad = json!({
        "rules": [{ "rule": rule("a", 1) }],
        "rows": [{ "key_pattern": "nonsense", "scope": "user", "rate_per_second": 1, "burst_capacity": 1 }],
        "base_version": 0,
    });
    let answer = door.post("/admin/v1/rules/apply", &bad).token(&token).expect(422).await;
    assert_eq!(answer.reason(), "unsound_rules");
    assert!(answer.text.contains("key_pattern"), "{}", answer.text);
    assert_eq!(door.records.as_ref().unwrap().rule_set().await.unwrap().version, 0);
    let other = json!({ "rule": rule("b", 1), "base_version": 0 });
    let answer = door.ask("PUT", "/admin/v1/rules/a").json(&other).token(&token).expect(400).await;
    assert_eq!(answer.reason(), "other_name");
}

#[tokio::test]
async fn what_is_proposed_is_judged_and_compared_and_changes_nothing() {
    let door = TestDoor::open().await;
    let (admin, viewer) = (door.token(Role::Admin).await, door.token(Role::Viewer).await);
    let first = json!({ "rules": [{ "rule": rule("a", 1) }, { "text": "{name: b, scope: ip, rate: 1/s, burst: 1}" }], "base_version": 0 });
    door.post("/admin/v1/rules/apply", &first).token(&admin).expect(200).await;
    let proposed =
        json!({ "rules": [{ "rule": rule("a", 2) }, { "rule": rule("per-user", 3) }], "prune": true });
    let judged = door.post("/admin/v1/rules/validate", &proposed).token(&viewer).expect(200).await.json();
    assert_eq!((&judged["valid"], &judged["version"]), (&json!(true), &json!(1)), "{judged}");
    assert!(judged["notes"].to_string().contains("stands in for"), "{judged}");
    let diff = door.post("/admin/v1/rules/diff", &proposed).token(&viewer).expect(200).await.json();
    assert_eq!(diff["entries"]["added"][0]["name"], "per-user", "{diff}");
    assert_eq!(diff["entries"]["removed"][0]["name"], "b", "{diff}");
    assert_eq!(diff["entries"]["changed"][0]["after"]["name"], "a", "{diff}");
    let bad = json!({ "rows": [{ "key_pattern": "?", "scope": "user", "rate_per_second": 1, "burst_capacity": 1 }] });
    let judged = door.post("/admin/v1/rules/validate", &bad).token(&viewer).expect(200).await.json();
    assert_eq!(judged["valid"], false);
    assert_eq!(door.records.as_ref().unwrap().rule_set().await.unwrap().version, 1);
}

/// The lints are those of `tollgate check`, for as many keys as this service has room for.
#[tokio::test]
async fn lints_of_a_proposal_count_the_keys_of_the_service() {
    let door = TestDoor::open().await;
    let viewer = door.token(Role::Viewer).await;
    let lints = async |quota: u32| {
        let text = format!(
            "{{name: log, scope: user, algorithm: sliding_window, quota: {quota}, window: 1h, log_entries_max: 20000}}"
        );
        let proposed = json!({ "rules": [{ "text": text }] });
        let judged = door.post("/admin/v1/rules/validate", &proposed).token(&viewer).expect(200).await.json();
        assert_eq!(judged["valid"], true, "{judged}");
        judged["lints"].to_string()
    };
    assert!(!lints(20).await.contains("[log-entries]"), "1,000 keys times 20 fit");
    let told = lints(21).await;
    assert!(told.contains("21 × 1000 clients") && told.contains("[log-entries]"), "{told}");
}

/// The service of these tests has room for 1,000,000 entries, more than ten for each of its 1,000 keys.
#[tokio::test]
async fn lints_of_a_proposal_count_the_log_entries_of_the_service() {
    let door = TestDoor::open().await;
    let viewer = door.token(Role::Viewer).await;
    let lints = async |quota: u32| {
        let text =
            format!("{{name: log, scope: user, algorithm: sliding_window, quota: {quota}, window: 1h}}");
        let proposed = json!({ "rules": [{ "text": text }] });
        let judged = door.post("/admin/v1/rules/validate", &proposed).token(&viewer).expect(200).await.json();
        judged["lints"].to_string()
    };
    assert!(!lints(1_000).await.contains("[log-entries]"), "1,000 keys times 1,000 fit");
    let told = lints(1_001).await;
    assert!(told.contains("the maximum is 1000000;"), "{told}");
}

#[tokio::test]
async fn of_two_who_know_the_same_version_one_wins_and_the_other_is_told() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let change = |name: &str| json!({ "rules": [{ "rule": rule(name, 1) }], "base_version": 0 });
    let (a, b) = (change("a"), change("b"));
    let (a, b) = tokio::join!(
        door.post("/admin/v1/rules/apply", &a).token(&token).answer(),
        door.post("/admin/v1/rules/apply", &b).token(&token).answer(),
    );
    let mut statuses = [a.status, b.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{a:?} {b:?}");
}

#[tokio::test]
async fn a_rule_of_the_file_is_not_deleted_or_switched_but_stood_in_for() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let base = json!({ "base_version": 0 });
    let answer = door.post("/admin/v1/rules/per-user/deactivate", &base).token(&token).expect(409).await;
    assert_eq!(answer.reason(), "rule_of_file");
    let answer = door.ask("DELETE", "/admin/v1/rules/nothing").json(&base).token(&token).expect(404).await;
    assert_eq!(answer.reason(), "unknown_rule");
}

#[tokio::test]
async fn an_order_about_a_rule_or_key_that_there_is_not_is_refused() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    let give = |order: Value| {
        let asking = door.post("/admin/v1/orders", &order).token(&token);
        async move { asking.answer().await }
    };
    let lasting = json!({ "kind": "override", "rule": "per-user", "who": "user:ann", "rate": 5, "burst": 20, "reason": "a sale", "expires": "2h" });
    let given = give(lasting).await;
    assert_eq!(given.status, 201, "{}", given.text);
    let id = given.json()["order_id"].clone();
    assert!(given.json()["expires_at"].is_string());
    for order in [
        json!({ "kind": "mode", "rule": "nothing", "mode": "shadow", "reason": "x" }),
        json!({ "kind": "kill_switch", "rule": "nothing", "reason": "x" }),
        json!({ "kind": "block", "rule": "per-address", "who": "key:nonsense", "reason": "x" }),
        json!({ "kind": "override", "rule": "per-user", "who": "user:ann", "rate": "fast", "burst": 20, "reason": "x" }),
    ] {
        let answer = give(order.clone()).await;
        assert_eq!(
            (answer.status, answer.reason().as_str()),
            (422, "unsound_rules"),
            "{order}: {}",
            answer.text
        );
    }
    let standing = door.get("/admin/v1/orders").token(&token).expect(200).await.json();
    assert_eq!(standing["orders"].as_array().unwrap().len(), 1);
    let path = format!("/admin/v1/orders/{id}?reason=it%20is%20over");
    door.ask("DELETE", &path).token(&token).expect(200).await;
    door.ask("DELETE", &path).token(&token).expect(404).await;
    door.ask("DELETE", "/admin/v1/orders/x").token(&token).expect(404).await;
    let standing = door.get("/admin/v1/orders").token(&token).expect(200).await.json();
    assert_eq!(standing["orders"], json!([]));
    let all = door.get("/admin/v1/orders?past=true").token(&token).expect(200).await.json();
    let by = all["orders"][0]["revoked_by"].as_str().unwrap();
    assert!(by.starts_with("some operator (") && by.ends_with(')'), "{by}");
}

#[tokio::test]
async fn the_audit_trail_says_what_an_order_was_before_it_was_revoked() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    let order = json!({ "kind": "block", "who": "user:eve", "reason": "abuse" });
    let given = door.post("/admin/v1/orders", &order).token(&token).expect(201).await.json();
    let path = format!("/admin/v1/orders/{}?reason=over", given["order_id"]);
    door.ask("DELETE", &path).token(&token).expect(200).await;
    let lines = door.get("/admin/v1/audit?action=order.revoke").token(&token).expect(200).await.json();
    let before: Value = serde_json::from_str(lines["lines"][0]["before"].as_str().unwrap()).unwrap();
    assert_eq!(before["revoked_at"], Value::Null, "{before}");
}

#[tokio::test]
async fn an_override_has_a_rate_with_a_unit_as_a_rule_has() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    let order = json!({
        "kind": "override", "rule": "per-user", "who": "user:42", "rate": "600/m", "burst": 20, "reason": "launch"
    });
    door.post("/admin/v1/orders", &order).token(&token).expect(201).await;
}

#[tokio::test]
async fn a_version_that_none_can_come_before_is_not_found() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Viewer).await;
    let path = format!("/admin/v1/versions/{}/diff", i64::MIN);
    assert_eq!(door.get(&path).token(&token).expect(404).await.reason(), "not_found");
}

#[tokio::test]
async fn a_rule_that_a_path_would_hide_is_not_put_on_record() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    for name in ["export", "validate", "diff", "apply"] {
        let put = json!({ "rule": rule(name, 5) });
        let asking = door.ask("PUT", &format!("/admin/v1/rules/{name}")).json(&put).token(&token);
        assert_eq!(asking.field("if-match", "\"0\"").expect(400).await.reason(), "name_taken", "{name}");
        let several = json!({ "rules": [{ "rule": rule(name, 5) }], "base_version": 0 });
        let answer = door.post("/admin/v1/rules/apply", &several).token(&token).expect(400).await;
        assert_eq!(answer.reason(), "name_taken", "{name}");
        // One of a file is reached by another spelling.
        let encoded = format!("/admin/v1/rules/%{:02X}{}", name.as_bytes()[0], &name[1..]);
        assert_eq!(door.get(&encoded).token(&token).expect(404).await.reason(), "unknown_rule", "{name}");
    }
}
