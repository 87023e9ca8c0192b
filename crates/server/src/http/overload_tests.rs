//! Bodies and answers that are held take room, of which there is so much: whoever finds none is told so, and counted.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::watch;

use super::serve;
use crate::door::Door;
use crate::gatehouse::Gatehouse;
use crate::metrics;

const CHECK: &str = r#"{"key": "a", "rate": 1, "burst": 9}"#;

/// The client's end of a connection.
fn connect(gatehouse: &Arc<Gatehouse>) -> DuplexStream {
    let (theirs, ours) = duplex(64 * 1_024);
    let gatehouse = Arc::clone(gatehouse);
    tokio::spawn(async move {
        // The sender lives as long as the connection: nobody is told to stop.
        let (_stop, stops) = watch::channel(false);
        serve(&gatehouse, Door::Http, ours, None, stops).await;
    });
    theirs
}

/// Sends a head that announces `announced` bytes, and so many of them.
async fn begin(http: &mut DuplexStream, announced: usize, sent: usize) {
    let head = format!("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: {announced}\r\n\r\n");
    http.write_all(head.as_bytes()).await.unwrap();
    http.write_all(" ".repeat(sent).as_bytes()).await.unwrap();
    // Until the server waits for the rest.
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

async fn said(http: &mut DuplexStream) -> String {
    let mut said = vec![0; 4_096];
    let bytes = http.read(&mut said).await.unwrap();
    String::from_utf8(said[..bytes].to_vec()).unwrap()
}

fn shed(gatehouse: &Gatehouse) -> String {
    let page = metrics::page(&gatehouse.engine).unwrap();
    let line = page.lines().find(|line| line.starts_with("tollgate_requests_shed_total{door=\"http\"}"));
    line.unwrap().rsplit(' ').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_body_that_finds_no_room_is_503_and_counted_and_others_go_on() {
    let gatehouse = Gatehouse::with_room(1_000);
    let (mut first, mut second, mut third) = (connect(&gatehouse), connect(&gatehouse), connect(&gatehouse));
    begin(&mut first, 900 + CHECK.len(), 900).await;
    assert_eq!(shed(&gatehouse), "0");
    begin(&mut second, 300, 200).await;
    let refused = said(&mut second).await;
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("retry-after: 1\r\n"), "{refused}");
    assert!(
        refused.contains("#temporary-reduced-capacity\"") && refused.contains("send it again"),
        "{refused}"
    );
    assert_eq!(shed(&gatehouse), "1");
    // A body in one piece is not waited for.
    let whole =
        format!("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{CHECK}", CHECK.len());
    third.write_all(whole.as_bytes()).await.unwrap();
    assert!(said(&mut third).await.starts_with("HTTP/1.1 200 "));
    first.write_all(CHECK.as_bytes()).await.unwrap();
    assert!(said(&mut first).await.starts_with("HTTP/1.1 200 "), "what has its room keeps it");
    // And gives it back.
    begin(&mut third, 900, 800).await;
    assert_eq!(shed(&gatehouse), "1");
}

#[tokio::test(start_paused = true)]
async fn who_is_given_up_gives_its_room_back() {
    let gatehouse = Gatehouse::with_room(1_000);
    let mut slow = connect(&gatehouse);
    begin(&mut slow, 2_000, 1_000).await;
    assert!(said(&mut slow).await.starts_with("HTTP/1.1 408 "));
    let mut next = connect(&gatehouse);
    begin(&mut next, 1_000 + CHECK.len(), 1_000).await;
    next.write_all(CHECK.as_bytes()).await.unwrap();
    assert!(said(&mut next).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn every_open_request_of_http_2_takes_room() {
    let gatehouse = Gatehouse::with_room(2 * super::http2::REQUEST_BYTES);
    let (mut client, connection) = h2::client::handshake(connect(&gatehouse)).await.unwrap();
    tokio::spawn(connection);
    let mut open = Vec::new();
    for _ in 0..3 {
        client = client.ready().await.unwrap();
        let request = Request::post("http://test/v1/check").body(()).unwrap();
        open.push(client.send_request(request, false).unwrap());
    }
    let (refused, _) = open.pop().unwrap();
    let refused = refused.await.unwrap();
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].as_bytes()), (503, &b"1"[..]));
    assert_eq!(shed(&gatehouse), "1");
    for (answer, mut send) in open {
        send.send_data(Bytes::from_static(CHECK.as_bytes()), true).unwrap();
        assert_eq!(answer.await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn an_answer_that_the_client_does_not_take_holds_its_room() {
    const ROOM: usize = 64 * 1_024;
    let gatehouse = Gatehouse::with_room(ROOM);
    let mut builder = h2::client::Builder::new();
    // The client takes nothing at all.
    let (mut client, connection) =
        builder.initial_window_size(0).handshake::<_, Bytes>(connect(&gatehouse)).await.unwrap();
    tokio::spawn(connection);
    let mut statuses = Vec::new();
    for _ in 0..4 {
        client = client.ready().await.unwrap();
        let request = Request::get("http://test/openapi.json").body(()).unwrap();
        let response = client.send_request(request, true).unwrap().0.await.unwrap();
        statuses.push((response.status().as_u16(), response));
    }
    let held = statuses.iter().filter(|(status, _)| *status == 200).count();
    assert!(held >= 1 && statuses.iter().any(|(status, _)| *status == 503), "{statuses:?}");
}

/// A client that lets so many bytes of each answer be sent, and asks for many.
async fn asks_and_takes(gatehouse: &Arc<Gatehouse>, window: u32) -> (Vec<u16>, impl Sized) {
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(window);
    let (mut client, connection) = builder.handshake::<_, Bytes>(connect(gatehouse)).await.unwrap();
    let connection = tokio::spawn(connection);
    let (mut statuses, mut held) = (Vec::new(), Vec::new());
    for _ in 0..8 {
        client = client.ready().await.unwrap();
        let request = Request::get("http://test/openapi.json").body(()).unwrap();
        let response = client.send_request(request, true).unwrap().0.await.unwrap();
        statuses.push(response.status().as_u16());
        held.push(response);
    }
    (statuses, (client, connection, held))
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_taken_to_a_few_bytes_holds_its_room_until_it_is_given_up() {
    for window in [0, 1, 100] {
        let gatehouse = Gatehouse::with_room(64 * 1_024);
        let (statuses, _slow) = asks_and_takes(&gatehouse, window).await;
        assert!(statuses.contains(&200) && statuses.contains(&503), "{window}: {statuses:?}");
        // A second, and what the bytes of one answer take.
        tokio::time::sleep(Duration::from_secs(6)).await;
        let (statuses, _next) = asks_and_takes(&gatehouse, window).await;
        assert_eq!(statuses.first(), Some(&200), "{window}: the room is free again");
    }
}

#[tokio::test(start_paused = true)]
async fn who_takes_a_long_answer_drop_by_drop_is_given_up() {
    let gatehouse = Gatehouse::with_room(1_024 * 1_024);
    let mut slow = connect(&gatehouse);
    let checks = vec![r#"{"key": "a", "rate": 1, "burst": 1, "cost": 2}"#; 1_000].join(",");
    let body = format!("{{\"checks\": [{checks}]}}");
    let head = format!("POST /v1/check/batch HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", body.len());
    slow.write_all((head + &body).as_bytes()).await.unwrap();
    let (mut taken, mut piece) = (Vec::new(), [0; 2_000]);
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        match slow.read(&mut piece).await.unwrap() {
            0 => break,
            bytes => taken.extend_from_slice(&piece[..bytes]),
        }
    }
    let taken = String::from_utf8_lossy(&taken);
    let (head, body) = taken.split_once("\r\n\r\n").unwrap();
    let whole = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 ") && body.len() < whole.parse().unwrap(), "{head}");
}
