//! Any bytes, as what proxies ask: the body of the fuzz target `forward_auth` and of the replay of its corpus.
//!
//! ```text
//!  GET nginx                          method, and what stands behind /v1/forward-auth/
//!  X-Forwarded-Method: GET            header fields
//!  X-Forwarded-Uri: /search?q=1
//!                                     an empty line before the next request
//! ```
//! Every refusal says why in the proxy's own way, what is no admission charges nothing, the same is answered the same, and names
//! that the recipes do not set change nothing.

use tollgate_server::desk::{Answer, Desk};

use crate::problem_document::{is_described, is_problem, object, problem};

const POLICY: &str = "
client_address: {trusted_proxies: [10.0.0.0/8]}
answers: {jitter_percent: 0}
rules:
  - {name: bad, match: {'ip:address': 192.0.2.9}, action: block}
  - {name: ip, scope: ip, rate: 1/s, burst: 3}
  - {name: key, limit_keys: ['header:x-api-key', 'cookie:session'], path: '/key/**', rate: 1/s, burst: 2}
  - {name: post, limit_keys: [host], match: {method: POST}, rate: 1/s, burst: 2}
  - {name: strict, limit_keys: ['query:tenant'], path: /strict, missing: deny, rate: 1/s, burst: 1}
";
/// Most requests of one input.
const REQUESTS_MAX: usize = 20;
/// Most bytes of a head, with the body in a field for nginx; the recipe allows so much.
const HEAD_BYTES_MAX: usize = 8 * 1_024;
/// Fields that some proxies have for the same; who believes them lets clients choose their own path.
const OTHER_NAMES: [(&[u8], &[u8]); 4] = [
    (b"x-original-uri", b"/free"),
    (b"x-original-url", b"/free"),
    (b"x-original-method", b"GET"),
    (b"x-real-ip", b"198.51.100.1"),
];

/// Puts the requests to doors and compares what they say. Whether each was a request of HTTP, with its status.
///
/// # Panics
/// If anything in that panics or a promise is broken; that is what it is for.
pub(crate) fn run(bytes: &[u8]) -> Vec<Option<u16>> {
    let [first, second, third] = std::array::from_fn(|_| Desk::new(POLICY).unwrap());
    let mut told = Vec::new();
    let mut lines = bytes.split(|byte| *byte == b'\n');
    while let (Some(line), true) = (lines.next(), told.len() < REQUESTS_MAX) {
        let at = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        let (method, rest) = line.split_at(at);
        let rest = String::from_utf8_lossy(rest.get(1..).unwrap_or_default()).into_owned();
        let fields = lines.by_ref().take_while(|line| !line.is_empty());
        let fields: Vec<(&[u8], &[u8])> = fields.map(field).take(100).collect();
        let before = first.charged();
        // Of the peers one is a proxy that the policy knows.
        let peer = if told.len() % 2 == 0 { [10, 0, 0, 1] } else { [203, 0, 113, 5] };
        let ask = |desk: &Desk, fields: &[(&[u8], &[u8])]| {
            desk.forward_auth(method, &rest, fields, Some(peer.into()))
        };
        let answer = ask(&first, &fields);
        assert_eq!(answer, ask(&second, &fields), "the same is answered the same");
        let more = [&fields[..], &OTHER_NAMES].concat();
        assert_eq!(answer, ask(&third, &more), "other names for the same are not believed");
        if let Some(answer) = &answer {
            let name = rest.split(['/', '?', '#']).next().unwrap_or_default();
            if !look(name, answer) {
                assert_eq!(first.charged(), before, "{answer:?}");
            }
        }
        told.push(answer.map(|answer| answer.status));
    }
    told
}

fn field(line: &[u8]) -> (&[u8], &[u8]) {
    let at = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
    let (name, value) = line.split_at(at);
    (name, value.get(1..).unwrap_or_default().trim_ascii())
}

/// Looks at an answer; whether it is an admission.
fn look(proxy: &str, answer: &Answer) -> bool {
    for path in ["/v1/forward-auth/{proxy}", "/v1/forward-auth/{proxy}/{path}"] {
        assert!(is_described(path, answer.status), "{answer:?}");
    }
    let head: usize = answer.fields.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
    assert!(head < HEAD_BYTES_MAX, "{head} bytes");
    let is_known = ["nginx", "haproxy", "caddy", "traefik"].contains(&proxy);
    assert_eq!(answer.status == 404, !is_known, "{proxy}: {answer:?}");
    let true_status =
        answer.field("tollgate-status").map(|status| String::from_utf8_lossy(status).into_owned());
    if answer.status == 200 {
        assert!(true_status.as_deref() == Some("200") && answer.body.is_empty(), "{answer:?}");
        return true;
    }
    assert_eq!(answer.field("content-type"), Some(&b"application/problem+json"[..]), "{answer:?}");
    if !is_known {
        let json = object(&answer.body);
        assert!(json["status"] == 404 && json["detail"].is_string(), "{json}");
        return false;
    }
    if proxy == "nginx" {
        assert_eq!(answer.status, 403);
        let body = object(answer.field("tollgate-body").unwrap());
        is_problem_of_proxy(&body, true_status.unwrap().parse().unwrap());
    } else {
        assert_eq!(true_status, Some(answer.status.to_string()));
        is_problem_of_proxy(&problem(answer), answer.status);
    }
    false
}

/// A recipe that is at fault is told which field it does not set, or sets wrongly.
fn is_problem_of_proxy(json: &serde_json::Value, status: u16) {
    is_problem(json, status);
    if status == 400 {
        let field = json["field"].as_str().unwrap_or_default();
        assert!(["X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-Host"].contains(&field), "{json}");
    }
}
