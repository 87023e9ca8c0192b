//! Checks never wait for those who ask what large rule sets come to.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
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
    for path in ["validate", "diff", "apply"] {
        let began = Instant::now();
        let asking = door.post(&format!("/admin/v1/rules/{path}"), &rules).token(&token).expect(200);
        // All of this is on one thread, as checks would be.
        let mut longest = Duration::ZERO;
        let mut asking = std::pin::pin!(asking);
        loop {
            let last = Instant::now();
            tokio::select! {
                _ = &mut asking => break,
                () = tokio::time::sleep(Duration::from_millis(1)) => longest = longest.max(last.elapsed()),
            }
        }
        let whole = began.elapsed();
        assert!(longest < whole / 2, "{path}: {longest:?} of {whole:?}");
    }
}
