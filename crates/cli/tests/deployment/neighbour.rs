//! What both example middlewares promise, whatever they are written in.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::curl::{Answer, curl};
use crate::process::{PATIENCE, Process, tollgate};
use crate::scratch::Scratch;

/// One of the examples.
pub(crate) struct Neighbour {
    /// Starts the service, with somebody logged in whom the field `X-User` names: where Tollgate is, and whether it is to fail closed. Also says where the service is.
    pub(crate) start: fn(tollgate: &str, fail_closed: bool) -> (Process, String),
}

/// A policy that three requests of a client use up for a while.
const THREE: &str = "{name: client, scope: ip, rate: 1/m, burst: 3}\n";

/// Tollgate and its neighbour, with a policy.
struct Street {
    tollgate: Process,
    service: Process,
    url: String,
    _scratch: Scratch,
}

impl Street {
    fn new(neighbour: &Neighbour, policy: &str) -> Street {
        let scratch = Scratch::new();
        let tollgate = Process::serve(&format!("--policy {}", scratch.write("policy.yaml", policy)));
        let (service, url) = (neighbour.start)(&format!("http://{}", tollgate.door("http")), false);
        Street { tollgate, service, url, _scratch: scratch }
    }

    #[track_caller]
    fn get(&self) -> Answer {
        curl(&[&self.url])
    }

    /// Checks that Tollgate has decided.
    #[track_caller]
    fn checks(&self) -> usize {
        let metrics = curl(&[&format!("http://{}/metrics", self.tollgate.door("admin"))]).body;
        let counts = metrics.lines().filter(|line| line.starts_with("tollgate_checks_total{"));
        counts.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
    }
}

#[track_caller]
fn assert_hello(answer: &Answer) {
    assert_eq!((answer.status, answer.body.as_str()), (200, "hello\n"), "{answer:?}");
}

/// The end client sees what Tollgate says, on admissions and denials.
pub(crate) fn clients_see_what_tollgate_says(neighbour: &Neighbour) {
    let street = Street::new(neighbour, THREE);
    for left in [2, 1, 0] {
        let answer = street.get();
        assert_hello(&answer);
        assert_eq!(answer.header("ratelimit-policy"), Some("\"client\";q=3;w=180"));
        assert!(answer.header("ratelimit").unwrap().starts_with(&format!("\"client\";r={left};t=")));
        assert!(answer.header("content-type").unwrap().starts_with("text/"), "the service's own: {answer:?}");
        assert_eq!(answer.header("retry-after"), None);
    }
    let denied = street.get();
    assert_eq!(
        (denied.status, denied.header("content-type")),
        (429, Some("application/problem+json")),
        "{denied:?}"
    );
    let retry_s: u64 = denied.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=90).contains(&retry_s), "{denied:?}");
    assert_eq!(denied.header("ratelimit"), Some(format!("\"client\";r=0;t={retry_s}").as_str()));
    assert_eq!(denied.header("ratelimit-policy"), Some("\"client\";q=3;w=180"));
    assert_eq!(denied.header("tollgate-reason"), Some("token_bucket_exceeded"));
    assert_eq!(denied.header("cache-control"), Some("no-store"));
    assert_eq!(denied.header("content-length"), Some(denied.body.len().to_string().as_str()));
    let told = denied.json();
    assert_eq!((told["status"].as_u64(), told["violated"][0]["rule"].as_str()), (Some(429), Some("client")));
    let head = curl(&["--head", &street.url]);
    assert_eq!((head.status, head.body.as_str()), (429, ""));
}

/// Rules look at the method, the path, the query, the host, the address, the user and the fields that the middleware is told to
/// send.
pub(crate) fn the_policy_sees_the_request(neighbour: &Neighbour) {
    let policy = r#"
rules:
  - {name: login, scope: ip, method: POST, path: /login, rate: 1/m, burst: 1}
  - {name: key, limit_keys: ["header:x-api-key"], missing: skip, match: {path: /}, rate: 1/m, burst: 1}
  - {name: page, limit_keys: ["query:page"], missing: skip, rate: 1/m, burst: 1}
  - {name: user, limit_keys: [user], match: {user: [ada, bob, "42"]}, rate: 1/m, burst: 1}
  - {name: other-host, action: block, match: {host: other.example}}
  - {name: far, action: block, match: {not: {"ip:address": 127.0.0.1}}}
"#;
    let street = Street::new(neighbour, policy);
    let login = format!("{}login", street.url);
    let key = |key: &str| curl(&["-H", &format!("X-Api-Key: {key}"), &street.url]).status;
    let page = |page: &str| curl(&[&format!("{}?page={page}", street.url)]).status;
    for _ in 0..3 {
        assert_hello(&street.get());
    }
    assert_eq!(
        (curl(&["-d", "", &login]).body.as_str(), curl(&["-d", "", &login]).status),
        ("welcome\n", 429)
    );
    assert_eq!((key("a"), key("a"), key("b")), (200, 429, 200));
    assert_eq!((page("1"), page("1"), page("2")), (200, 429, 200));
    let user = |user: &str| curl(&["-H", &format!("X-User: {user}"), &street.url]).status;
    assert_eq!((user("ada"), user("ada"), user("bob")), (200, 429, 200));
    assert_eq!((user("42"), user("42")), (200, 429), "a number");
    let blocked = curl(&["-H", "Host: other.example", &street.url]);
    assert_eq!(blocked.json()["admitted"], false, "{blocked:?}");
}

/// Requests use one connection after the other.
pub(crate) fn connections_are_used_again(neighbour: &Neighbour) {
    let street = Street::new(neighbour, "{name: client, scope: ip, rate: 1000/s, burst: 1000}\n");
    for _ in 0..20 {
        assert_hello(&street.get());
    }
    let metrics = curl(&[&format!("http://{}/metrics", street.tollgate.door("admin"))]).body;
    let count =
        metrics.lines().find_map(|line| line.strip_prefix("tollgate_connections_total{door=\"http\"} "));
    let count: u64 = count.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap();
    // One that was idle for seconds, on a machine that is busy, is given up.
    assert!((1..=3).contains(&count), "{count} connections for 20 requests");
}

/// A leaky bucket's delay is kept.
pub(crate) fn delays_are_kept(neighbour: &Neighbour) {
    let policy = "{name: shaped, scope: ip, algorithm: leaky_bucket, rate: 30/m, queue: 5, max_wait: 5s}\n";
    let street = Street::new(neighbour, policy);
    assert_hello(&street.get());
    let second = curl(&["-w", "%{time_total}", &street.url]);
    let seconds: f64 = second.body.strip_prefix("hello\n").unwrap().parse().unwrap();
    // The second leaves two seconds after the first, which took part of that to come back.
    assert!(seconds > 1.0, "{seconds}");
}

/// Without Tollgate requests are let through and a line says so; when it is back, it decides again.
pub(crate) fn a_stopped_tollgate_stops_nobody(neighbour: &Neighbour) {
    let mut street = Street::new(neighbour, THREE);
    let door = street.tollgate.door("http");
    assert_hello(&street.get());
    street.tollgate.signal("TERM");
    let (mut service, url) = (street.service, street.url);
    assert!(street.tollgate.ended().0.success());
    for _ in 0..6 {
        let answer = curl(&[&url]);
        assert_hello(&answer);
        assert_eq!(answer.header("ratelimit"), None);
    }
    service.wait_for("tollgate unreachable, requests let through: ");
    street.tollgate = Process::serving(tollgate(&format!("serve --http {door} --resp off --admin off")));
    assert!(curl(&[&url]).header("ratelimit").is_some(), "it is asked again");
}

/// A Tollgate that hangs is not waited for.
pub(crate) fn a_hanging_tollgate_hangs_nobody(neighbour: &Neighbour) {
    let mut street = Street::new(neighbour, THREE);
    street.tollgate.signal("STOP");
    let answer = curl(&[&street.url]);
    assert_hello(&answer);
    street.service.wait_for("tollgate unreachable, requests let through: ");
    street.tollgate.signal("CONT");
    assert!(street.get().header("ratelimit").is_some(), "it is asked again");
}

/// With one switch, nobody passes without a verdict.
pub(crate) fn one_switch_fails_closed(neighbour: &Neighbour) {
    // Nobody is at a port that was just let go.
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (mut service, url) = (neighbour.start)(&format!("http://{nowhere}"), true);
    let refused = curl(&[&url]);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert_eq!(refused.json()["status"], 503);
    service.wait_for("tollgate unreachable, requests refused: ");
}

/// What Tollgate cannot make sense of is refused, though the middleware fails open.
pub(crate) fn nonsense_is_no_way_around(neighbour: &Neighbour) {
    let street = Street::new(neighbour, THREE);
    for _ in 0..5 {
        let answer = curl(&["--request-target", "nonsense", &street.url]);
        assert!(answer.status >= 400, "{answer:?}");
    }
    let other = curl(&["--request-target", "http://other.example/", &street.url]);
    assert_eq!(other.status, 400, "another host than the field `Host` names: {other:?}");
    let absolute = [(); 4].map(|()| curl(&["--request-target", &street.url, &street.url]).status);
    assert_eq!(absolute, [200, 200, 200, 429], "the absolute form is limited and served as any other");
}

/// A denial is remembered for a moment: a flood of the same request is no flood of checks.
pub(crate) fn denials_are_remembered(neighbour: &Neighbour) {
    let street = Street::new(neighbour, THREE);
    let before = street.checks();
    // On one connection, one after the other.
    let denied = curl(&[street.url.as_str(); 43]).all.matches("HTTP/1.1 429 ").count();
    let checks = street.checks() - before;
    assert_eq!(denied, 40);
    // A machine that is busy takes longer than a denial is remembered.
    assert!((4..=23).contains(&checks), "{checks} checks for 43 requests");
    assert_eq!(curl(&["-H", "X-User: ada", &street.url]).status, 429, "other facts are another check");
    assert!(street.checks() > before + checks, "it was sent");
}

/// A request beyond those that may wait gets 503, though the middleware fails open.
pub(crate) fn a_full_queue_refuses(neighbour: &Neighbour) {
    const REQUESTS: usize = 330;
    let street = Street::new(neighbour, THREE);
    street.tollgate.signal("STOP");
    let address = street.url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut connections: Vec<TcpStream> =
        (0..REQUESTS).map(|_| TcpStream::connect(&address).unwrap()).collect();
    for connection in &mut connections {
        connection.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    }
    // The first 64 are checks on their way, the next 256 wait.
    let mut refused = String::new();
    let last = connections.last_mut().unwrap();
    last.set_read_timeout(Some(PATIENCE)).unwrap();
    last.read_to_string(&mut refused).unwrap();
    let refused = refused.to_ascii_lowercase();
    assert!(refused.starts_with("http/1.1 503 ") && refused.contains("\r\nretry-after: 1\r\n"), "{refused}");
}

/// A Tollgate that refuses connections with 503 has replied: its refusal is the client's.
pub(crate) fn a_full_tollgate_refuses(neighbour: &Neighbour) {
    let scratch = Scratch::new();
    let policy = scratch.write("policy.yaml", THREE);
    let tollgate = Process::serve(&format!("--max-connections 1 --policy {policy}"));
    let address = tollgate.door("http");
    let mut held = TcpStream::connect(&address).unwrap();
    held.write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    held.read_exact(&mut [0]).unwrap();
    let (_service, url) = (neighbour.start)(&format!("http://{address}"), false);
    // Tollgate replies before or after the check is sent.
    for _ in 0..20 {
        let refused = curl(&[&url]);
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
        assert_eq!(refused.header("tollgate-status"), None, "{refused:?}");
    }
}

/// A reply without `Tollgate-Status` admits nothing, except a 502, 503 or 504: a proxy before Tollgate sends those.
pub(crate) fn strange_replies_admit_nothing(neighbour: &Neighbour) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (_service, url) = (neighbour.start)(&format!("http://{}", listener.local_addr().unwrap()), false);
    for (reply, status) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n{\"admitted\":true}", 503),
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}", 503),
        ("nonsense\r\n\r\n", 503),
        ("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 2\r\n\r\nno", 200),
    ] {
        let asking = std::thread::spawn({
            let url = url.clone();
            move || curl(&[&url]).status
        });
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 16]).unwrap();
        stream.write_all(reply.as_bytes()).unwrap();
        assert_eq!(asking.join().unwrap(), status, "{reply}");
    }
}

/// Makes the tests of one neighbour.
macro_rules! promises {
    ($name:literal, $neighbour:expr, [$($promise:ident),* $(,)?]) => {
        $(
            #[test]
            fn $promise() {
                if !crate::component::is_skipped($name) {
                    crate::neighbour::$promise(&$neighbour);
                }
            }
        )*
    };
}
pub(crate) use promises;
