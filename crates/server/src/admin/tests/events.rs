//! The stream of events.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tollgate_records::Role;

use super::door::{TestDoor, local_peer};

/// Longest that anything may take.
const PATIENCE: Duration = Duration::from_secs(10);

struct Listening {
    stream: TcpStream,
    heard: String,
}

impl Listening {
    async fn begin(door: &TestDoor) -> Listening {
        let mut stream = door.connect(Some(local_peer())).await;
        let request = "GET /admin/v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        Listening { stream, heard: String::new() }
    }

    /// Until something was heard; false if the stream ends first.
    async fn hears(&mut self, text: &str) -> bool {
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
    let door = TestDoor::without_records(None).await;
    let mut all = Vec::new();
    for _ in 0..64 {
        let mut listening = Listening::begin(&door).await;
        assert!(listening.hears("event: hello").await);
        all.push(listening);
    }
    let answer = door.get("/admin/v1/events").expect(503).await;
    assert_eq!(answer.reason(), "too_many_subscribers");
    drop(all);
    // Those who left are noticed when they are told something.
    let back = async { while door.get("/admin/v1/events").head().await.status != 200 {} };
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
