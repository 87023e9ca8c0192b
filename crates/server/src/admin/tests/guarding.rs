//! Whom requests are meant for, where they come from, how often, and in which form.

use serde_json::json;
use tollgate_records::Role;

use super::door::{TestDoor, local_peer, other_peer};

#[tokio::test]
async fn a_page_whose_name_was_made_to_point_here_is_refused() {
    let door = TestDoor::open().await;
    for host in ["127.0.0.1:8082", "localhost:8082", "[::1]:8082", "tollgate.test"] {
        door.get("/admin/v1/status").field("host", host).expect(200).await;
    }
    for host in ["evil.example", "evil.example:8082", "127.0.0.1.evil.example", ""] {
        let answer = door.get("/admin/v1/status").field("host", host).expect(403).await;
        assert_eq!(answer.reason(), "host_not_allowed", "{host}");
    }
    // Health is asked by whoever watches over us, by whatever name.
    door.get("/livez").field("host", "evil.example").expect(200).await;
}

#[tokio::test]
async fn pages_of_other_sites_are_refused_and_told_nothing() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let ask = || door.get("/admin/v1/status").token(&token);
    ask().field("origin", "http://127.0.0.1:8082").field("sec-fetch-site", "same-origin").expect(200).await;
    for (field, value) in
        [("origin", "http://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")]
    {
        let answer = ask().field(field, value).expect(403).await;
        assert_eq!(answer.reason(), "foreign_origin");
        assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control")));
    }
    let preflight = door.ask("OPTIONS", "/admin/v1/orders").token(&token);
    preflight.field("access-control-request-method", "POST").expect(405).await;
}

#[tokio::test]
async fn what_is_sent_is_json_and_says_so() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    let order = json!({ "kind": "block", "who": "user:eve", "reason": "test" }).to_string();
    for media in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let asking = door.ask("POST", "/admin/v1/orders").token(&token).field("content-type", media);
        assert_eq!(asking.body(&order).expect(415).await.reason(), "json_only", "{media}");
    }
    let asking = door.ask("POST", "/admin/v1/orders").token(&token).body(&order);
    assert_eq!(asking.expect(415).await.reason(), "json_only");
    for body in ["[]", "[{}]", "null", "\"x\"", "{", "{\"kind\": 1}", "{\"a\": 1}", "\u{0}"] {
        let asking =
            door.ask("POST", "/admin/v1/orders").token(&token).field("content-type", "application/json");
        assert_eq!(asking.body(body).expect(400).await.reason(), "bad_body", "{body}");
    }
}

#[tokio::test]
async fn a_body_of_more_than_a_mebibyte_is_refused() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Admin).await;
    let long = json!({ "rules": [], "comment": "x".repeat(1_024 * 1_024) });
    door.post("/admin/v1/rules/validate", &long).token(&token).expect(413).await;
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back_and_others_are_served() {
    let door = TestDoor::open().await;
    let peer = Some(other_peer());
    let mut denied = None;
    for _ in 0..200 {
        let answer = door.get("/admin/v1/status").from(peer).answer().await;
        if answer.status == 429 {
            denied = Some(answer);
            break;
        }
        assert_eq!(answer.status, 401);
    }
    let denied = denied.expect("two hundred requests at once were served");
    assert!(denied.headers.contains_key("retry-after") && denied.headers.contains_key("ratelimit"));
    assert_eq!(denied.json()["violated"][0]["rule"], "admin-requests");
    door.get("/admin/v1/status").from(Some(local_peer())).token(door.start_token()).expect(200).await;
}

#[tokio::test]
async fn who_sends_wrong_tokens_is_slowed_down_and_a_right_one_is_never_locked_out() {
    let door = TestDoor::open().await;
    let good = door.token(Role::Viewer).await;
    let peer = Some(other_peer());
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(
            door.get("/admin/v1/status").from(peer).token("tg_0123456789abcdef_x").answer().await.status,
        );
    }
    assert_eq!(statuses.first(), Some(&401));
    assert_eq!(statuses.last(), Some(&429));
    door.get("/admin/v1/status").from(peer).token(&good).expect(200).await;
}

#[tokio::test]
async fn no_answer_is_kept_by_anybody_on_the_way() {
    let door = TestDoor::open().await;
    for answer in [
        door.get("/admin/v1/status").expect(200).await,
        door.get("/admin/v1/nothing").expect(404).await,
        door.get("/admin/v1/status").from(Some(other_peer())).expect(401).await,
    ] {
        assert_eq!(answer.headers["cache-control"], "no-store");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    }
}

#[tokio::test]
async fn who_is_not_let_in_does_not_learn_which_paths_there_are() {
    let door = TestDoor::open().await;
    door.token(Role::Viewer).await;
    for path in ["/admin/v1/status", "/admin/v1/nothing", "/admin/", "/admin/v1/tokens"] {
        assert_eq!(door.get(path).expect(401).await.reason(), "token_needed", "{path}");
    }
}

#[tokio::test]
async fn a_right_token_is_let_in_whatever_others_at_its_address_send() {
    let door = TestDoor::open().await;
    let (token, peer) = (door.token(Role::Operator).await, Some(local_peer()));
    let allowance = &door.gatehouse.operations.allowance;
    let ask = || door.get("/admin/v1/whoami").from(peer);
    let mut are_strangers_denied = [false; 2];
    for _ in 0..100 {
        // Faster than it refills, on whatever machine.
        while allowance.ask(peer).is_none() {}
        are_strangers_denied[0] |= ask().answer().await.status == 429;
        while allowance.ask(peer).is_none() {}
        are_strangers_denied[1] |= ask().token("tg_0123456789abcdef_x").answer().await.status == 429;
        while allowance.ask(peer).is_none() {}
        ask().token(&token).expect(200).await;
        if are_strangers_denied == [true; 2] {
            return;
        }
    }
    panic!("strangers are let in: {are_strangers_denied:?}");
}

#[tokio::test]
async fn wrong_secrets_do_not_lock_out_the_right_token() {
    let door = TestDoor::open().await;
    let (token, peer) = (door.token(Role::Operator).await, Some(local_peer()));
    let allowance = &door.gatehouse.operations.allowance;
    // The token was never used at this instance, as after a restart; its number stands in the audit log.
    let mut wrong = token.clone();
    let last = if wrong.pop() == Some('A') { 'B' } else { 'A' };
    wrong.push(last);
    for _ in 0..200 {
        door.get("/admin/v1/whoami").from(peer).token(&wrong).answer().await;
    }
    while allowance.ask(peer).is_none() {}
    door.get("/admin/v1/whoami").from(peer).token(&token).expect(200).await;
}

#[tokio::test]
async fn a_token_has_an_allowance_of_its_own() {
    let door = TestDoor::open().await;
    let (greedy, other) = (door.token(Role::Viewer).await, door.token(Role::Operator).await);
    let (peer, allowance) = (Some(local_peer()), &door.gatehouse.operations.allowance);
    let id = greedy.split('_').nth(1).unwrap();
    let ask = || door.get("/admin/v1/whoami");
    let mut is_denied = false;
    for _ in 0..100 {
        while allowance.ask_with(id).is_none() {}
        // From whatever address.
        is_denied |= ask().token(&greedy).answer().await.status == 429;
        ask().from(peer).token(&greedy).answer().await;
        ask().from(peer).token(&other).expect(200).await;
    }
    assert!(is_denied);
    // Nor is its address spent.
    ask().from(peer).expect(401).await;
}
