//! What is answered where nothing is on record, or the database is away: never a wait for it, and never a check that notices.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use tollgate::policy::Facts;
use tollgate_records::{Records, RecordsOptions, RecordsUrl};

use super::door::TestDoor;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test]
async fn what_must_be_kept_is_409_with_the_cure_while_the_records_are_off() {
    let door = TestDoor::without_records(Some(TOKEN)).await;
    let order = json!({ "kind": "block", "who": "user:eve", "reason": "test" });
    let rule =
        json!({ "rule": { "name": "x", "scope": "user", "rate": "1/s", "burst": 1 }, "base_version": 0 });
    for asking in [
        door.get("/admin/v1/orders"),
        door.post("/admin/v1/orders", &order),
        door.ask("DELETE", "/admin/v1/orders/1?reason=x"),
        door.ask("PUT", "/admin/v1/rules/x").json(&rule),
        door.ask("DELETE", "/admin/v1/rules/x"),
        door.post("/admin/v1/rules/apply", &json!({ "base_version": 0 })),
        door.post("/admin/v1/rules/x/activate", &json!({ "base_version": 0 })),
        door.get("/admin/v1/rules/export"),
        door.get("/admin/v1/versions"),
        door.get("/admin/v1/versions/1"),
        door.get("/admin/v1/versions/1/diff"),
        door.post("/admin/v1/versions/1/rollback", &json!({ "base_version": 0 })),
        door.get("/admin/v1/audit"),
        door.get("/admin/v1/tokens"),
        door.post("/admin/v1/tokens", &json!({ "name": "x", "role": "viewer" })),
        door.ask("DELETE", "/admin/v1/tokens/x"),
    ] {
        let answer = asking.token(TOKEN).expect(409).await;
        assert_eq!(answer.reason(), "records_off");
        assert!(answer.text.contains("--records"), "{}", answer.text);
    }
    // What need not be kept goes on.
    door.post("/admin/v1/rules/validate", &json!({ "rules": [] })).token(TOKEN).expect(200).await;
    door.post("/admin/v1/reload", &json!({})).token(TOKEN).expect(200).await;
    let status = door.get("/admin/v1/status").token(TOKEN).expect(200).await.json();
    assert_eq!(status["records"]["state"], "off");
}

#[tokio::test]
async fn while_the_database_is_away_answers_are_503_at_once_and_checks_go_on() {
    // Nobody listens there.
    let url = RecordsUrl::parse("postgres://nobody:hush-hush@127.0.0.1:1/nothing").unwrap();
    let records = Records::open(&url, RecordsOptions::default());
    let door = TestDoor::with(records, Some(TOKEN), None).await;
    let order = json!({ "kind": "block", "who": "user:eve", "reason": "test" });
    let reset = json!({ "rule": "per-user", "key": "user:ann", "reason": "test" });
    for asking in [
        door.get("/admin/v1/orders"),
        door.post("/admin/v1/orders", &order),
        door.post("/admin/v1/buckets/reset", &reset),
        door.get("/admin/v1/audit"),
        door.get("/admin/v1/versions"),
    ] {
        let answer = timeout(Duration::from_secs(5), asking.token(TOKEN).answer()).await.unwrap();
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert_eq!(answer.reason(), "records_unavailable");
        assert!(answer.headers.contains_key("retry-after"));
        assert!(!answer.text.contains("hush-hush"), "{}", answer.text);
    }
    // A token that only the database knows cannot be judged.
    let answer = door.get("/admin/v1/status").token("tg_0123456789abcdef_AAAA").expect(503).await;
    assert_eq!(answer.reason(), "records_unavailable");
    let status = door.get("/admin/v1/status").token(TOKEN).expect(200).await;
    assert!(["connecting", "failing"].contains(&status.json()["records"]["state"].as_str().unwrap()));
    assert!(!status.text.contains("hush-hush"));
    door.get("/admin/v1/buckets?rule=per-user&key=user%3Aann").token(TOKEN).expect(200).await;
    let facts = Facts { user: Some("ann"), ..Facts::new("GET", "/") };
    assert!(door.gatehouse.engine.limiter.check(&facts).is_admitted());
}
