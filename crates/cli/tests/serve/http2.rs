//! HTTP/2 with prior knowledge, at the same address as HTTP/1.1 (D1), by real clients: the crate h2, and curl.

use std::net::SocketAddr;
use std::process::Command;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use http::Request;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::server::{PATIENCE, Server};

/// Runs a client until it is done.
pub(crate) fn run<T>(client: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, client).await.unwrap() })
}

/// One connection, and how it ends.
pub(crate) async fn connect(
    address: SocketAddr,
) -> (SendRequest<Bytes>, tokio::task::JoinHandle<Result<(), h2::Error>>) {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    (client, tokio::spawn(connection))
}

/// Sends a request and its body, whole.
pub(crate) async fn ask(client: &SendRequest<Bytes>, path: &str, body: &str) -> ResponseFuture {
    let mut ready = client.clone().ready().await.unwrap();
    let method = if body.is_empty() { "GET" } else { "POST" };
    let request = Request::builder().method(method).uri(format!("http://test{path}")).body(()).unwrap();
    let (response, mut send) = ready.send_request(request, body.is_empty()).unwrap();
    if !body.is_empty() {
        send.send_data(Bytes::copy_from_slice(body.as_bytes()), true).unwrap();
    }
    response
}

/// Status and body of an answer.
pub(crate) async fn answer(response: ResponseFuture) -> (u16, String) {
    let mut response = response.await.unwrap();
    let mut all = Vec::new();
    while let Some(data) = response.body_mut().data().await {
        let data = data.unwrap();
        response.body_mut().flow_control().release_capacity(data.len()).unwrap();
        all.extend_from_slice(&data);
    }
    assert!(!response.headers().contains_key("connection"), "which is HTTP/1's: {response:?}");
    (response.status().as_u16(), String::from_utf8(all).unwrap())
}

#[test]
fn many_requests_of_one_connection_are_answered_as_those_of_http_1_are() {
    let server = Server::new(&[]);
    let body = r#"{"key": "h2", "rate": 0.001, "burst": 150}"#;
    assert_eq!(server.post("/v1/check", body).status, 200, "the first of them over HTTP/1.1");
    run(async {
        let (client, _) = connect(server.address("http")).await;
        let mut statuses = Vec::new();
        for _ in 0..3 {
            let mut asked = Vec::new();
            for _ in 0..70 {
                asked.push(ask(&client, "/v1/check", body).await);
            }
            for response in asked {
                let (status, body) = answer(response).await;
                let json: Value = serde_json::from_str(&body).unwrap();
                assert_eq!(json["admitted"].as_bool(), Some(status == 200), "{body}");
                statuses.push(status);
            }
        }
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 149, "{statuses:?}");
        assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 61, "{statuses:?}");
        let (status, body) = answer(ask(&client, "/readyz", "").await).await;
        assert!(status == 200 && body.contains("\"ready\":true"), "{body}");
        assert_eq!(answer(ask(&client, "/nowhere", "").await).await.0, 404);
        assert_eq!(answer(ask(&client, "/v1/check", "{").await).await.0, 400);
    });
    assert_eq!(server.http().get("/livez").status, 200);
}

#[test]
fn a_batch_that_is_longer_than_any_window_is_answered() {
    let server = Server::new(&[]);
    let check = format!(r#"{{"key": "{}", "rate": 1, "burst": 1}}"#, "k".repeat(500));
    let body = format!(r#"{{"checks": [{}]}}"#, vec![check; 1_000].join(","));
    run(async {
        let (client, _) = connect(server.address("http")).await;
        let (status, said) = answer(ask(&client, "/v1/check/batch", &body).await).await;
        let json: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((status, json["results"].as_array().unwrap().len()), (200, 1_000));
    });
}

#[test]
fn curl_speaks_it_at_every_http_door() {
    let server = Server::new(&[]);
    for (door, path) in [("http", "/livez"), ("admin", "/metrics")] {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--http2-prior-knowledge", "--max-time", "30", "--noproxy", "*", "-o"]);
        curl.args(["/dev/null", "-w", "%{http_version} %{http_code}"]);
        let output = curl.arg(format!("http://{}{path}", server.address(door))).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "2 200", "{output:?}");
    }
}

#[test]
fn told_to_end_it_finishes_what_is_open_and_says_goodbye() {
    let mut server = Server::new(&[]);
    let address = server.address("http");
    run(async {
        let (client, ended) = connect(address).await;
        let mut ready = client.clone().ready().await.unwrap();
        let request = Request::post("http://test/v1/check").body(()).unwrap();
        let (response, mut send) = ready.send_request(request, false).unwrap();
        send.send_data(Bytes::from_static(br#"{"key": "a", "#), false).unwrap();
        // Its head was read once another request, sent later, was answered.
        assert_eq!(answer(ask(&client, "/livez", "").await).await.0, 200);
        server.signal("TERM");
        server.wait_for("stopping");
        send.send_data(Bytes::from_static(br#""rate": 1, "burst": 1}"#), true).unwrap();
        assert_eq!(answer(response).await.0, 200);
        ended.await.unwrap().unwrap();
    });
    assert_eq!(server.ended().0.code(), Some(0));
}
