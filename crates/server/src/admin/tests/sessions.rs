//! Sessions: from signing in to signing out, and what ends them otherwise.

use serde_json::json;
use tollgate_records::{Author, Role, Timestamp};

use super::door::{TestDoor, local_peer, other_peer};
use super::events::Listening;

const OURS: (&str, &str) = ("origin", "http://127.0.0.1:8082");

#[tokio::test]
async fn somebody_signs_in_acts_by_the_cookie_and_signs_out() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Operator).await;
    let answer =
        door.post("/admin/v1/session", &json!({})).token(&token).from(Some(other_peer())).expect(201).await;
    let set = answer.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200"), "{set}");
    let said = answer.json();
    assert_eq!((&said["name"], &said["role"]), (&json!("some operator"), &json!("operator")));
    let in_twelve_hours = (Timestamp::now().unix_seconds() + 12 * 3_600) * 1_000;
    assert!((said["expires_ms"].as_i64().unwrap() - in_twelve_hours).abs() < 60_000, "{said}");
    let cookie = set.split(';').next().unwrap();
    let id = cookie.split_once('=').unwrap().1;
    assert!(!answer.text.contains(id) && !answer.text.contains(&token));
    // From wherever, as the token itself.
    let who = door
        .get("/admin/v1/whoami")
        .field("cookie", cookie)
        .from(Some(other_peer()))
        .expect(200)
        .await
        .json();
    assert_eq!(
        who,
        json!({ "name": "some operator", "token": said["token"], "role": "operator", "session": true, "open": false })
    );
    let order = json!({ "kind": "block", "who": "user:eve", "reason": "test" });
    let give = || door.post("/admin/v1/orders", &order).field("cookie", cookie);
    give().field(OURS.0, OURS.1).expect(201).await;
    let lines = door.get("/admin/v1/audit").field("cookie", cookie).expect(200).await.json();
    assert!(lines["lines"][0]["who"].as_str().unwrap().starts_with("some operator ("), "{lines}");
    let out = door
        .ask("DELETE", "/admin/v1/session")
        .field("cookie", cookie)
        .field(OURS.0, OURS.1)
        .expect(204)
        .await;
    assert_eq!(
        out.headers["set-cookie"],
        "tollgate_session_8082=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
    );
    assert!(out.text.is_empty());
    // Whoever has kept the cookie has nothing of it.
    assert_eq!(
        door.get("/admin/v1/whoami").field("cookie", cookie).expect(401).await.reason(),
        "token_needed"
    );
    assert_eq!(give().field(OURS.0, OURS.1).expect(401).await.reason(), "token_needed");
}

#[tokio::test]
async fn who_asks_is_told_whether_by_a_session_and_whether_the_door_is_open() {
    let door = TestDoor::without_records(None).await;
    let open = json!({ "name": "local", "token": null, "role": "viewer", "session": false, "open": true });
    assert_eq!(door.get("/admin/v1/whoami").expect(200).await.json(), open);
    // A cookie of another day keeps nobody from looking.
    let stale = format!("tollgate_session_8082={}", "0".repeat(64));
    assert_eq!(door.get("/admin/v1/whoami").field("cookie", &stale).expect(200).await.json(), open);
    let far = door.get("/admin/v1/whoami").field("cookie", &stale).from(Some(other_peer())).expect(401).await;
    assert_eq!(far.reason(), "no_token_configured");
    let none = door.post("/admin/v1/session", &json!({})).expect(400).await;
    assert_eq!(none.reason(), "token_needed");
    let token = "0123456789abcdef0123456789abcdef";
    let door = TestDoor::without_records(Some(token)).await;
    let who =
        json!({ "name": "settings", "token": "settings", "role": "admin", "session": false, "open": false });
    assert_eq!(door.get("/admin/v1/whoami").token(token).expect(200).await.json(), who);
    let cookie = door.sign_in(token).await;
    let who = door.get("/admin/v1/whoami").field("cookie", &cookie).expect(200).await.json();
    assert_eq!((&who["name"], &who["session"]), (&json!("settings"), &json!(true)));
}

#[tokio::test]
async fn a_session_ends_with_its_token() {
    let door = TestDoor::open().await;
    let (admin, viewer) = (door.token(Role::Admin).await, door.token(Role::Viewer).await);
    let soon = Timestamp::from_unix_micros(Timestamp::now().unix_micros() + 300_000);
    let brief = door.token_until(Role::Viewer, Some(soon)).await;
    let (revoked, other, expired) =
        (door.sign_in(&viewer).await, door.sign_in(&admin).await, door.sign_in(&brief).await);
    let ask = |cookie: &str| door.get("/admin/v1/whoami").field("cookie", cookie);
    ask(&revoked).expect(200).await;
    ask(&expired).expect(200).await;
    let id = viewer.split('_').nth(1).unwrap();
    door.ask("DELETE", &format!("/admin/v1/tokens/{id}")).token(&admin).expect(200).await;
    while Timestamp::now() <= soon {
        tokio::task::yield_now().await;
    }
    for cookie in [&revoked, &expired] {
        let told = ask(cookie).expect(401).await;
        assert_eq!(told.reason(), "session_over");
        assert!(told.headers["set-cookie"].to_str().unwrap().ends_with("Max-Age=0"));
        assert!(told.headers.contains_key("www-authenticate"));
        assert_eq!(ask(cookie).expect(401).await.reason(), "token_needed", "nobody remembers it");
    }
    ask(&other).expect(200).await;
}

#[tokio::test]
async fn a_session_ends_within_a_second_when_its_token_is_revoked_elsewhere() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Viewer).await;
    let cookie = door.sign_in(&token).await;
    let ask = || door.get("/admin/v1/whoami").field("cookie", &cookie);
    ask().expect(200).await;
    let id = token.split('_').nth(1).unwrap();
    door.records.as_ref().unwrap().revoke_token(id, &Author::new("test"), None).await.unwrap();
    let over = async {
        while ask().answer().await.status == 200 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(5), over).await.unwrap();
}

#[tokio::test]
async fn who_signs_in_again_and_again_has_so_many_sessions_and_the_oldest_ends() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Viewer).await;
    let mut cookies = Vec::new();
    for _ in 0..17 {
        cookies.push(door.sign_in(&token).await);
    }
    let ask = |cookie: &str| door.get("/admin/v1/whoami").field("cookie", cookie);
    ask(&cookies[0]).expect(401).await;
    ask(&cookies[1]).expect(200).await;
    // Who comes with a cookie and signs in anew has the new one alone.
    let again = door.post("/admin/v1/session", &json!({})).token(&token).field("cookie", &cookies[1]);
    again.expect(201).await;
    ask(&cookies[1]).expect(401).await;
    ask(&cookies[2]).expect(200).await;
}

#[tokio::test]
async fn a_stream_of_events_is_heard_by_the_cookie_until_its_holder_signs_out() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Viewer).await;
    let (cookie, other) = (door.sign_in(&token).await, door.sign_in(&token).await);
    let mut listening =
        Listening::saying(&door, &format!("cookie: {cookie}\r\nsec-fetch-site: same-origin\r\n")).await;
    let mut stays = Listening::saying(&door, &format!("cookie: {other}\r\n")).await;
    assert!(
        listening.hears("event: hello").await && stays.hears("event: rates").await,
        "{}",
        listening.heard
    );
    door.ask("DELETE", "/admin/v1/session").field("cookie", &cookie).field(OURS.0, OURS.1).expect(204).await;
    assert!(listening.hears("event: bye").await, "{}", listening.heard);
    assert!(!stays.heard.contains("event: bye"), "{}", stays.heard);
}

#[tokio::test]
async fn a_session_asks_within_the_allowance_of_its_token_and_not_of_its_address() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Viewer).await;
    let cookie = door.sign_in(&token).await;
    let (peer, allowance) = (Some(local_peer()), &door.gatehouse.operations.allowance);
    let id = token.split('_').nth(1).unwrap();
    let ask = || door.get("/admin/v1/whoami").from(peer);
    let mut are_denied = [false; 2];
    for _ in 0..100 {
        // Faster than it refills, on whatever machine.
        while allowance.ask(peer).is_none() {}
        ask().field("cookie", &cookie).expect(200).await;
        while allowance.ask(peer).is_none() {}
        are_denied[0] |= ask().field("cookie", "tollgate_session_8082=x").answer().await.status == 429;
        while allowance.ask_with(id).is_none() {}
        are_denied[1] |= ask().field("cookie", &cookie).answer().await.status == 429;
        if are_denied == [true; 2] {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("they are let in: {are_denied:?}");
}

#[tokio::test]
async fn what_is_sent_to_sign_in_is_json_and_says_nothing() {
    let door = TestDoor::open().await;
    let token = door.token(Role::Viewer).await;
    let bare = door.ask("POST", "/admin/v1/session").token(&token).expect(415).await;
    assert_eq!(bare.reason(), "json_only");
    let empty = door.ask("POST", "/admin/v1/session").token(&token).field("content-type", "application/json");
    empty.expect(201).await;
    let more = door.post("/admin/v1/session", &json!({ "days": 365 })).token(&token).expect(400).await;
    assert_eq!(more.reason(), "bad_body");
    door.ask("GET", "/admin/v1/session").token(&token).expect(405).await;
}
