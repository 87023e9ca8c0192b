//! What is written to the log: no token, and no text that is more than text.

use serde_json::json;
use tollgate_records::Role;

use super::door::TestDoor;
use crate::test_log::Log;

#[tokio::test]
async fn no_token_and_no_forged_line_is_ever_logged() {
    let (log, _listening) = Log::of_this_thread();
    let door = TestDoor::open().await;
    let start = door.start_token().to_owned();
    door.get("/admin/v1/status").token(&start).expect(200).await;
    let token = door.token(Role::Admin).await;
    door.get("/admin/v1/status").token(&start).expect(401).await;
    let forged = "x\nforged line \u{1b}[2J";
    let made = json!({ "name": forged, "role": "operator" });
    let secret =
        door.post("/admin/v1/tokens", &made).token(&token).expect(201).await.json()["secret"].clone();
    let secret = secret.as_str().unwrap();
    let reset = json!({ "rule": "per-user", "key": format!("user:{forged}"), "reason": forged });
    door.post("/admin/v1/buckets/reset", &reset).token(secret).expect(200).await;
    door.post("/admin/v1/reload", &json!({ "reason": forged })).token(secret).expect(200).await;
    let order = json!({ "kind": "block", "who": format!("user:{forged}"), "reason": forged });
    door.post("/admin/v1/orders", &order).token(secret).expect(201).await;
    door.get("/admin/v1/status").token("tg_0123456789abcdef_some-wrong-secret").expect(401).await;
    let cookie = door.sign_in(secret).await;
    door.get("/admin/v1/status").field("cookie", &cookie).expect(200).await;
    door.get("/admin/v1/status").field("cookie", "tollgate_session_8082=some-wrong-cookie").expect(401).await;
    let id = cookie.split_once('=').unwrap().1;
    let text = log.text();
    assert!(text.contains("reset of a bucket") && text.contains("reloaded as asked"), "{text}");
    for hidden in [start.as_str(), token.as_str(), secret, "some-wrong-secret", id, "some-wrong-cookie"] {
        let hidden = hidden.rsplit('_').next().unwrap();
        assert!(!text.contains(hidden), "{hidden} is in the log");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("forged")), "{text}");
}
