//! The stream of events.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tollgate::policy::Facts;
use tollgate_records::{Role, Timestamp};

use super::door::TestDoor;
use crate::door::Door;

/// Longest that anything may take.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Listening {
    stream: TcpStream,
    pub(super) heard: String,
}

impl Listening {
    async fn begin(door: &TestDoor) -> Listening {
        Listening::saying(door, "").await
    }

    async fn with_token(door: &TestDoor, token: &str) -> Listening {
        Listening::saying(door, &format!("authorization: Bearer {token}\r\n")).await
    }

    pub(super) async fn saying(door: &TestDoor, fields: &str) -> Listening {
        let mut stream = door.connect(None).await;
        let request = format!("GET /admin/v1/events HTTP/1.1\r\nhost: 127.0.0.1:8082\r\n{fields}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        Listening { stream, heard: String::new() }
    }

    /// Until something was heard; false if the stream ends first.
    pub(super) async fn hears(&mut self, text: &str) -> bool {
        let hearing = async {
            while !self.heard.contains(text) {
                let mut bytes = [0; 4_096];
                match self.stream.read(&mut bytes).await {
                    Ok(0) | Err(_) => return false,
                    Ok(count) => self.heard.push_str(&String::from_utf8_lossy(&bytes[..count])),
                }
            }
            true
        };
        timeout(PATIENCE, hearing).await.unwrap_or(false)
    }
}

#[tokio::test]
async fn whoever_listens_hears_rates_and_changes_and_when_it_ends() {
    let door = TestDoor::without_records(None).await;
    let mut listening = Listening::begin(&door).await;
    assert!(listening.hears("event: hello").await, "{}", listening.heard);
    assert!(listening.heard.contains("content-type: text/event-stream"), "{}", listening.heard);
    assert!(listening.hears("event: rates").await, "{}", listening.heard);
    door.gatehouse.operations.events.tell_change(&json!({ "what": "a\nb" }));
    assert!(listening.hears("event: change\ndata: {\"what\":\"a\\nb\"}\n\n").await, "{}", listening.heard);
    door.gatehouse.operations.close();
    assert!(listening.hears("event: bye").await, "{}", listening.heard);
    assert!(!listening.hears("event: never").await, "it goes on");
    door.get("/admin/v1/events").expect(503).await;
}

#[tokio::test]
async fn rates_are_the_same_for_all_and_history_has_them_too() {
    let door = TestDoor::without_records(None).await;
    let (mut one, mut other) = (Listening::begin(&door).await, Listening::begin(&door).await);
    // Checks before the first rates may count to no second.
    assert!(one.hears("event: rates").await && other.hears("event: rates").await);
    let engine = &door.gatehouse.engine;
    let facts = Facts { user: Some("ann"), ..Facts::new("GET", "/") };
    for _ in 0..8 {
        let decision = engine.limiter.check(&facts);
        engine.note_decision(Door::Http, &decision, engine.limiter.limiter().now());
    }
    let told = "\"total\":{\"admitted\":5,\"denied\":3,\"shadow\":0,\"refused\":0}";
    assert!(one.hears(told).await && other.hears(told).await, "{}", one.heard);
    let rates = |heard: &str| {
        let line = heard.lines().find(|line| line.contains(told)).unwrap().strip_prefix("data: ").unwrap();
        serde_json::from_str::<serde_json::Value>(line).unwrap()
    };
    let (of_one, of_other) = (rates(&one.heard), rates(&other.heard));
    assert_eq!(of_one, of_other);
    assert_eq!(of_one["violations_left_out"], 0);
    assert_eq!(of_one["rules"][0]["name"], "per-user");
    let names: Vec<&str> = of_one.as_object().unwrap().keys().map(String::as_str).collect();
    let wanted = ["at_ms", "ms", "total", "latency_us", "keys", "evicted", "store", "rules", "left_out"];
    assert!(wanted.iter().all(|name| names.contains(name)), "{names:?}");
    let history = door.get("/admin/v1/history?seconds=60").expect(200).await.json();
    let admitted = history["total"]["admitted"].as_array().unwrap();
    assert_eq!((admitted.len(), history["seconds"].as_u64()), (60, Some(60)));
    assert_eq!(admitted.iter().filter_map(serde_json::Value::as_u64).sum::<u64>(), 5, "{history}");
    assert!(admitted[0].is_null(), "the program did not run yet");
    assert!(history["rules"].as_array().unwrap().iter().any(|rule| rule["name"] == "per-address"));
    assert_eq!(history["total"]["shadow"].as_array().unwrap().len(), 60);
    for query in ["seconds=0", "seconds=901", "seconds=x", "seconds=-1", "minutes=1"] {
        let answer = door.get(&format!("/admin/v1/history?{query}")).expect(400).await;
        assert_eq!(answer.reason(), "bad_query", "{query}");
    }
    assert_eq!(door.get("/admin/v1/history").expect(200).await.json()["seconds"], 300);
}

#[tokio::test]
async fn another_policy_is_told_with_the_rates_of_that_second() {
    let door = TestDoor::without_records(None).await;
    let mut listening = Listening::begin(&door).await;
    assert!(listening.hears("event: rates").await, "{}", listening.heard);
    // The embedded one.
    door.gatehouse.engine.reload(true).unwrap();
    assert!(listening.hears("\"version\":2,\"what\":\"policy\"}").await);
    let after = listening.heard.split("event: change").nth(1).unwrap();
    assert!(after.contains("event: rates"), "{after}");
}

#[tokio::test]
async fn a_stream_outlives_the_patience_with_silent_connections() {
    let door = TestDoor::without_records(None).await.with_patience(Duration::from_millis(1_500));
    let mut listening = Listening::begin(&door).await;
    for _ in 0..5 {
        assert!(listening.hears("event: rates").await, "{}", listening.heard);
        listening.heard.clear();
    }
}

#[tokio::test]
async fn one_that_does_not_keep_up_is_told_how_much_it_missed() {
    let door = TestDoor::without_records(None).await;
    let mut listening = Listening::begin(&door).await;
    assert!(listening.hears("event: hello").await);
    let events = &door.gatehouse.operations.events;
    for number in 0..10_000 {
        events.tell_change(&json!({ "number": number }));
    }
    assert!(listening.hears("event: missed\ndata: {\"events\":").await);
    assert!(listening.hears("{\"number\":9999}").await);
}

#[tokio::test]
async fn there_are_so_many_subscribers_and_no_more() {
    let door = TestDoor::open().await;
    let mut all = Vec::new();
    for _ in 0..16 {
        // Four of each token.
        let token = door.token(Role::Viewer).await;
        for _ in 0..4 {
            let mut listening = Listening::with_token(&door, &token).await;
            assert!(listening.hears("event: hello").await);
            all.push(listening);
        }
    }
    let one_more = door.token(Role::Viewer).await;
    let answer = door.get("/admin/v1/events").token(&one_more).expect(503).await;
    assert_eq!(answer.reason(), "too_many_subscribers");
    drop(all);
    // Those who left are noticed when they are told something.
    let ask = || door.get("/admin/v1/events").token(&one_more);
    let back = async {
        while ask().head().await.status != 200 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, back).await.unwrap();
}

#[tokio::test]
async fn a_change_by_the_api_is_heard_by_all() {
    let door = TestDoor::open().await;
    let mut listening = Listening::begin(&door).await;
    assert!(listening.hears("event: hello").await);
    let token = door.token(Role::Operator).await;
    let order = json!({ "kind": "block", "who": "user:eve", "reason": "test" });
    door.post("/admin/v1/orders", &order).token(&token).expect(201).await;
    assert!(listening.hears("order.give").await, "{}", listening.heard);
}

#[tokio::test]
async fn a_token_that_is_revoked_or_over_hears_no_more() {
    let door = TestDoor::open().await;
    let admin = door.token(Role::Admin).await;
    let soon = Timestamp::from_unix_seconds(Timestamp::now().unix_seconds() + 2);
    let (viewer, brief) = (door.token(Role::Viewer).await, door.token_until(Role::Viewer, Some(soon)).await);
    let mut revoked = Listening::with_token(&door, &viewer).await;
    let mut expired = Listening::with_token(&door, &brief).await;
    let mut other = Listening::with_token(&door, &admin).await;
    for listening in [&mut revoked, &mut expired, &mut other] {
        assert!(listening.hears("event: hello").await, "{}", listening.heard);
    }
    let id = viewer.split('_').nth(1).unwrap();
    door.ask("DELETE", &format!("/admin/v1/tokens/{id}")).token(&admin).expect(200).await;
    assert!(revoked.hears("event: bye").await, "{}", revoked.heard);
    assert!(!revoked.hears("event: never").await);
    assert!(expired.hears("event: bye").await, "{}", expired.heard);
    assert!(!other.heard.contains("event: bye"));
}

#[tokio::test]
async fn only_admins_are_told_of_tokens() {
    let door = TestDoor::open().await;
    let (admin, operator) = (door.token(Role::Admin).await, door.token(Role::Operator).await);
    let mut of_admin = Listening::with_token(&door, &admin).await;
    let mut of_operator = Listening::with_token(&door, &operator).await;
    assert!(of_admin.hears("event: hello").await && of_operator.hears("event: hello").await);
    let new = json!({ "name": "a name", "role": "viewer" });
    door.post("/admin/v1/tokens", &new).token(&admin).expect(201).await;
    let order = json!({ "kind": "block", "who": "user:eve", "reason": "test" });
    door.post("/admin/v1/orders", &order).token(&operator).expect(201).await;
    assert!(of_admin.hears("order.give").await && of_operator.hears("order.give").await);
    assert!(of_admin.heard.contains("token.create"), "{}", of_admin.heard);
    assert!(!of_operator.heard.contains("token."), "{}", of_operator.heard);
    for (token, sees) in [(&admin, true), (&operator, false)] {
        for query in ["", "?action=token.create", "?limit=1&action=token.create"] {
            let lines = door.get(&format!("/admin/v1/audit{query}")).token(token).expect(200).await;
            assert_eq!(lines.text.contains("token.create"), sees, "{query}: {}", lines.text);
        }
        let lines = door.get("/admin/v1/audit").token(token).expect(200).await;
        assert!(lines.text.contains("order.give"), "{}", lines.text);
    }
}

#[tokio::test]
async fn one_caller_has_a_few_streams_and_others_have_theirs() {
    let door = TestDoor::open().await;
    let (greedy, other) = (door.token(Role::Viewer).await, door.token(Role::Operator).await);
    let mut all = Vec::new();
    for _ in 0..4 {
        let mut listening = Listening::with_token(&door, &greedy).await;
        assert!(listening.hears("event: hello").await);
        all.push(listening);
    }
    let answer = door.get("/admin/v1/events").token(&greedy).expect(429).await;
    assert_eq!(answer.reason(), "too_many_streams");
    assert!(answer.headers.contains_key("retry-after"));
    assert_eq!(door.get("/admin/v1/events").token(&other).head().await.status, 200);
}
