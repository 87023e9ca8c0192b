//! Checks never wait for those who ask what large rule sets come to.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate::Span;
use tollgate_records::Role;

use super::door::TestDoor;

/// Rules that take a while to put together.
fn many_rules() -> Value {
    let rule = |number: usize| {
        json!({ "rule": {
            "name": format!("r{number}"), "scope": "user", "limit_keys": ["user"], "rate": "1/s", "burst": 5
        } })
    };
    json!({ "rules": (0..400).map(rule).collect::<Vec<_>>(), "base_version": 0 })
}

#[tokio::test]
async fn nobody_waits_while_rules_are_put_together() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let rules = many_rules();
    let now = || door.gatehouse.engine.limiter.limiter().now();
    for path in ["validate", "diff", "apply"] {
        let began = now();
        let asking = door.post(&format!("/admin/v1/rules/{path}"), &rules).token(&token).expect(200);
        // All of this is on one thread, as checks would be.
        let mut longest = Span::ZERO;
        let mut asking = std::pin::pin!(asking);
        loop {
            let last = now();
            tokio::select! {
                _ = &mut asking => break,
                () = tokio::time::sleep(Duration::from_millis(1)) => longest = longest.max(now().since(last)),
            }
        }
        let whole = now().since(began);
        assert!(longest.as_nanos() < whole.as_nanos() / 2, "{path}: {longest:?} of {whole:?}");
    }
}

#[tokio::test]
async fn who_asks_while_many_do_is_told_to_come_back_and_changes_go_on() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    let operations = Arc::clone(&door.gatehouse.operations);
    let turn = operations.proposals.turn().await.unwrap();
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..7 {
        let operations = Arc::clone(&operations);
        waiting.spawn(async move { operations.proposals.turn().await.is_ok() });
    }
    tokio::task::yield_now().await;
    let rules = json!({ "rules": [] });
    let refused = door.post("/admin/v1/rules/validate", &rules).token(&token).expect(503).await;
    assert_eq!((refused.reason().as_str(), &refused.headers["retry-after"]), ("busy", &"1".parse().unwrap()));
    let order = json!({ "kind": "block", "who": "user:eve", "reason": "abuse" });
    door.post("/admin/v1/orders", &order).token(&token).expect(201).await;
    drop(turn);
    assert!(waiting.join_all().await.into_iter().all(|had_its_turn| had_its_turn));
    door.post("/admin/v1/rules/validate", &rules).token(&token).expect(200).await;
}
