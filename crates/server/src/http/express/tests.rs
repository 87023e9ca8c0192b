//! What the lane says is what hyper says, and nothing is lost on the way from one to the other.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, DuplexStream, duplex};
use tollgate::{Clock, Limiter, Moment};

use super::super::http1;
use super::*;
use crate::door::Door;
use crate::engine::Engine;
use crate::policy_source::{PolicySource, PolicyText};

const POLICY: &str = r#"{"rules": [{"name": "client", "scope": "ip", "rate": "1/h", "burst": 3},
    {"name": "bad", "match": {"ip:address": "192.0.2.9"}, "action": "block"}]}"#;

/// A gatehouse where time stands still.
fn gatehouse() -> Arc<Gatehouse> {
    let text = PolicyText { name: "the policy".to_owned(), text: POLICY.to_owned() };
    let clock = Clock::manual(Moment::from_nanos(1_000_000_000_000_000_000));
    let limiter = Limiter::builder().keys_max(1_000).explicit_keys_max(1_000).clock(clock);
    let engine = Engine::of(PolicySource::Embedded, text, limiter, None).unwrap();
    Arc::new(Gatehouse::with_engine(engine))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The whole way: the lane first.
    Lane,
    Hyper,
}

/// The client's end of a connection, and what tells the server to stop.
fn connect(gatehouse: &Arc<Gatehouse>, by: By) -> (DuplexStream, watch::Sender<bool>) {
    let (theirs, mut ours) = duplex(64 * 1_024);
    let gatehouse = Arc::clone(gatehouse);
    let (stop, mut stops) = watch::channel(false);
    tokio::spawn(async move {
        match by {
            By::Lane => crate::http::serve(&gatehouse, Door::Http, ours, None, stops).await,
            By::Hyper => {
                let heard = Arc::new(AtomicBool::new(false));
                http1::serve(&gatehouse, Door::Http, &mut ours, None, &heard, &mut stops).await;
            }
        }
    });
    (theirs, stop)
}

fn post(path: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// The next answer: status line, fields in order of their names, body.
async fn answer(stream: &mut DuplexStream) -> (String, Vec<String>, String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.trim_end().lines().map(str::to_owned);
    let status = lines.next().unwrap();
    let mut fields: Vec<String> = lines.collect();
    let length = fields.iter().find_map(|field| field.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    // hyper looks at another clock.
    let dates = fields.extract_if(.., |field| field.starts_with("date: ")).count();
    assert_eq!(dates, 1, "{fields:?}");
    fields.sort();
    (status, fields, String::from_utf8(body).unwrap())
}

#[tokio::test]
async fn what_is_said_is_what_hyper_says() {
    let checks = r#"{"key": "a", "rate": 0.01, "burst": 2}"#;
    let client = r#"{"method": "GET", "path": "/", "ip": "192.0.2.7"}"#;
    let mut questions = vec![
        post("/v1/check", r#"{"ip": "192.0.2.9"}"#),
        post("/v1/check", r#"{"ip": "192.0.2.9", "path": "/a"}"#),
        post("/v1/check/batch", &format!(r#"{{"checks": [{checks}, {client}, {{}}]}}"#)),
        post("/v1/peek", checks),
        post("/v1/reserve", &checks.replace(r#""a""#, r#""r", "timeout_ms": 1000"#)),
        post("/v1/commit", r#"{"reservation": "00112233445566778899aabbccddeeff", "cost": 1}"#),
        post("/v1/refund", checks),
        post("/v1/check", &checks.replace("2}", "2, \"cost\": 9}")),
        post("/v1/check?status=200", &checks.replace("2}", "2, \"cost\": 9}")),
        post("/v1/check?status=201", checks),
    ];
    for body in ["", "{", "[]", "{}", "null", r#"{"key": "a"}"#, r#"{"ke": "a"}"#, "\u{1f}", "{\"key\": 1}"] {
        questions.push(post("/v1/check", body));
    }
    for _ in 0..4 {
        questions.extend([post("/v1/check", checks), post("/v1/check", client)]);
        questions.push(post("/v1/check?status=200", checks));
    }
    let (lanes, hypers) = (gatehouse(), gatehouse());
    let mut statuses = Vec::new();
    for question in questions {
        // Who left the lane once would not come back.
        let (mut lane, _lane_stop) = connect(&lanes, By::Lane);
        let (mut hyper, _hyper_stop) = connect(&hypers, By::Hyper);
        lane.write_all(question.as_bytes()).await.unwrap();
        hyper.write_all(question.as_bytes()).await.unwrap();
        let (by_lane, by_hyper) = (answer(&mut lane).await, answer(&mut hyper).await);
        // Names of reservations are drawn.
        if !question.contains("/reserve") {
            assert_eq!(by_lane, by_hyper, "{question}");
        }
        statuses.push(by_lane.0);
    }
    for status in ["200 OK", "400 Bad Request", "403 Forbidden", "404 Not Found", "429 Too Many Requests"] {
        assert!(statuses.contains(&format!("HTTP/1.1 {status}")), "{status}: {statuses:?}");
    }
}

/// All that is answered to these bytes and to the end of the connection, without dates.
async fn all_said(gatehouse: &Arc<Gatehouse>, by: By, bytes: &[u8]) -> String {
    let (mut stream, _stop) = connect(gatehouse, by);
    stream.write_all(bytes).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).await.unwrap();
    let said = String::from_utf8(said).unwrap();
    said.split_inclusive("\r\n").filter(|line| !line.starts_with("date: ")).collect()
}

/// Bytes that mean something in a request.
const PIECES: [&str; 22] = [
    "\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    ":",
    "?",
    "0",
    "5",
    "37",
    "\0",
    "\u{e9}",
    "POST",
    "GET",
    "HTTP/1.0",
    "host: b\r\n",
    "content-length: 0\r\n",
    "Content-Length: 37\r\n",
    "transfer-encoding: chunked\r\n",
    "connection: close\r\n",
    "expect: 100-continue\r\n",
    "?status=200",
];

#[tokio::test]
async fn whatever_is_sent_is_answered_as_hyper_answers_it() {
    let mut random = fastrand::Rng::with_seed(27);
    // Nothing is spent, so that every answer is the same whatever came before it.
    let check = post("/v1/peek", r#"{"key":"a","rate":1e6,"burst":1e6}   "#);
    let gatehouse = gatehouse();
    let mut answered = 0;
    for case in 0..4_000 {
        let mut bytes = [check.as_bytes(), check.as_bytes()].concat();
        for _ in 0..random.u32(..4) {
            let at = random.usize(..bytes.len());
            let until = (at + random.usize(..12)).min(bytes.len());
            let piece = if random.bool() { PIECES[random.usize(..PIECES.len())] } else { "" };
            bytes.splice(if random.bool() { at..at } else { at..until }, piece.bytes());
        }
        let by_lane = all_said(&gatehouse, By::Lane, &bytes).await;
        let by_hyper = all_said(&gatehouse, By::Hyper, &bytes).await;
        let fields = |said: &str| {
            let mut lines: Vec<String> = said.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(fields(&by_lane), fields(&by_hyper), "{case}: {}", String::from_utf8_lossy(&bytes));
        answered += usize::from(by_lane.contains("200 OK"));
    }
    assert!((500..3_500).contains(&answered), "{answered}");
}

#[tokio::test]
async fn questions_one_behind_the_other_are_answered_in_order_wherever_they_are_cut() {
    let check = |cost: u32| {
        post("/v1/check", &format!(r#"{{"key": "a", "rate": 0.001, "burst": 100, "cost": {cost}}}"#))
    };
    let all = [check(1), check(2), "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n".to_owned(), check(4)].concat();
    for cut in (0..all.len()).step_by(3) {
        let gatehouse = gatehouse();
        let (mut stream, _stop) = connect(&gatehouse, By::Lane);
        stream.write_all(&all.as_bytes()[..cut]).await.unwrap();
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        stream.write_all(&all.as_bytes()[cut..]).await.unwrap();
        for remaining in [Some(99), Some(97), None, Some(93)] {
            let (status, _, body) = answer(&mut stream).await;
            assert_eq!(status, "HTTP/1.1 200 OK", "{cut}");
            let body: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
            assert_eq!(body["remaining"].as_u64(), remaining, "{cut}: {body}");
        }
    }
}

#[tokio::test]
async fn who_asks_nothing_when_the_program_ends_is_closed_at_once_and_who_asks_is_answered() {
    let gatehouse = gatehouse();
    let check = post("/v1/check", r#"{"key": "a", "rate": 1, "burst": 9}"#);
    let (mut idle, stop_idle) = connect(&gatehouse, By::Lane);
    idle.write_all(check.as_bytes()).await.unwrap();
    answer(&mut idle).await;
    stop_idle.send(true).unwrap();
    let closed = tokio::time::timeout(Duration::from_secs(5), idle.read(&mut [0])).await;
    assert!(matches!(closed, Ok(Ok(0))));

    let (mut asking, stop_asking) = connect(&gatehouse, By::Lane);
    asking.write_all(check.as_bytes()).await.unwrap();
    answer(&mut asking).await;
    asking.write_all(check.as_bytes()).await.unwrap();
    stop_asking.send(true).unwrap();
    let (status, fields, _) = answer(&mut asking).await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(fields.contains(&"connection: close".to_owned()), "{fields:?}");
}

#[test]
fn the_date_is_written_as_http_wants_it_and_anew_every_second() {
    let mut date = Date::default();
    assert_eq!(date.text_at(Duration::ZERO), "Thu, 01 Jan 1970 00:00:00 GMT");
    assert_eq!(date.text_at(Duration::from_millis(784_111_777_999)), "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(date.text_at(Duration::from_secs(784_111_778)), "Sun, 06 Nov 1994 08:49:38 GMT");
}
