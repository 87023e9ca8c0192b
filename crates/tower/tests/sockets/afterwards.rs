//! What happens after a request was admitted: refunds, settling, places.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Query;
use axum::routing::any;
use bytes::Bytes;
use http::StatusCode;
use http_body::Frame;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::sync::mpsc;

use crate::served::Served;

fn left(answer: &crate::served::Answer) -> Option<&str> {
    answer.header("ratelimit").split(';').nth(1)
}

#[tokio::test]
async fn statuses_that_a_rule_refunds_cost_nothing() {
    let policy = "{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 3, refund_on: [404, 5xx]}";
    let handler = async |Query(status): Query<Vec<(String, u16)>>| StatusCode::from_u16(status[0].1).unwrap();
    let served = Served::routes(policy, Router::new().route("/", any(handler))).await;
    for status in [404, 500, 503, 404, 404, 599] {
        assert_eq!(served.get(&format!("/?status={status}")).await.status, status);
    }
    for (status, expected) in [(200, 200), (400, 400), (302, 302), (200, 429), (404, 429)] {
        assert_eq!(served.get(&format!("/?status={status}")).await.status, expected);
    }
}

#[tokio::test]
async fn an_estimate_is_settled_by_the_field_that_the_rule_names() {
    let policy = "{name: llm, limit_keys: [\"ip:address\"], rate: 1/s, burst: 100, fixed_cost: 10, settle_header: x-used}";
    let handler =
        async |Query(used): Query<Vec<(String, String)>>| ([("x-used", used[0].1.clone())], "hello");
    let served = Served::routes(policy, Router::new().route("/", any(handler))).await;
    let first = served.get("/?used=3").await;
    assert_eq!((left(&first), first.header("x-used")), (Some("r=90"), "3"), "told before it is settled");
    assert_eq!(left(&served.get("/?used=40").await), Some("r=87"), "100 − 3 − 10");
    assert_eq!(left(&served.get("/?used=nonsense").await), Some("r=47"), "100 − 3 − 40 − 10");
    assert_eq!(
        left(&served.get("/?used=10").await),
        Some("r=37"),
        "an estimate stands if nobody says better"
    );
}

/// A route whose first body lasts until the sender is dropped.
fn endless() -> (Router, mpsc::Sender<&'static str>) {
    let (sender, receiver) = mpsc::channel(4);
    let receiver = Arc::new(Mutex::new(Some(receiver)));
    let handler = async move || {
        let receiver = receiver.lock().unwrap().take();
        receiver.map_or_else(|| Body::from("short"), |receiver| Body::new(Lasting(receiver)))
    };
    (Router::new().route("/", any(handler)), sender)
}

/// A body of what is sent to it.
struct Lasting(mpsc::Receiver<&'static str>);

impl http_body::Body for Lasting {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|text| text.map(|text| Ok(Frame::data(Bytes::from_static(text.as_bytes())))))
    }
}

const ONE_PLACE: &str =
    "{name: exports, limit_keys: [\"ip:address\"], algorithm: concurrency, places: 1, timeout: 60s}";

#[tokio::test]
async fn a_place_is_held_until_the_body_has_ended() {
    let (routes, sender) = endless();
    let served = Served::routes(ONE_PLACE, routes).await;
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let uri: http::Uri = format!("http://{}/", served.address).parse().unwrap();
    sender.send("first").await.unwrap();
    let response = client.get(uri).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(served.get("/").await.status, 429, "the place is taken while the body lasts");
    drop(sender);
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "first");
    assert_eq!(until_admitted(&served).await, 200, "and free when it has ended");
}

#[tokio::test]
async fn a_place_is_given_back_when_the_client_goes_away() {
    let (routes, sender) = endless();
    let served = Served::routes(ONE_PLACE, routes).await;
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let uri: http::Uri = format!("http://{}/", served.address).parse().unwrap();
    sender.send("first").await.unwrap();
    let response = client.get(uri).await.unwrap();
    assert_eq!(served.get("/").await.status, 429);
    drop((response, client));
    assert_eq!(until_admitted(&served).await, 200);
    drop(sender);
}

/// The status once the server has noticed that a body is over.
async fn until_admitted(served: &Served) -> u16 {
    for _ in 0..200 {
        let status = served.get("/").await.status;
        if status != 429 {
            return status.as_u16();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    429
}
