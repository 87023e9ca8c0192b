//! Any bytes, as what is posted to the routes: the body of the fuzz target `json` and of the replay of its corpus.
//!
//! ```text
//!  reserve {"key": "a", "rate": 1, "burst": 5}     one request on each line: the route and the body
//!  wait 500                                        so many milliseconds go by
//!  commit {"reservation": "$R", "cost": 2}         the reservation that was made last
//! ```
//! Every answer is JSON of a status that the route has, what is no admission charges nothing, and the same lines are answered
//! the same.

use serde_json::{Value, json};
use tollgate::Span;
use tollgate_server::desk::{Answer, Desk};

use crate::problem_document::{is_described, is_problem, object, problem};

/// Every way to be decided.
const POLICY: &str = "
answers: {jitter_percent: 0}
rules:
  - {name: bad, match: {'ip:address': 192.0.2.9}, action: block}
  - {name: ip, scope: ip, path: /ip, rate: 1/s, burst: 3}
  - {name: all, scope: global, rate: 100/s, burst: 200}
  - {name: cost, limit_keys: ['header:x-api-key'], path: /cost, cost_source: 'header:x-cost', max_cost: 20, rate: 1/s, burst: 10}
  - {name: query, limit_keys: [user], path: /query, cost_source: 'query:n', rate: 1/s, burst: 10}
  - {name: jobs, scope: user, path: /jobs, algorithm: concurrency, places: 2, timeout: 5m}
  - {name: even, scope: global, path: /print, algorithm: leaky_bucket, rate: 2/s, queue: 3}
  - {name: strict, limit_keys: ['header:x-tenant'], path: /strict, missing: deny, rate: 1/s, burst: 1}
";
/// Most requests of one input.
const LINES_MAX: usize = 40;

/// Posts the lines to two doors and compares what they say. The routes and the statuses.
///
/// # Panics
/// If anything in that panics or a promise is broken; that is what it is for.
pub(crate) fn run(bytes: &[u8]) -> Vec<(&'static str, u16)> {
    let (first, second) = (Desk::new(POLICY).unwrap(), Desk::new(POLICY).unwrap());
    let (mut of_first, mut of_second) = (String::new(), String::new());
    let mut told = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').take(LINES_MAX) {
        let at = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        let (verb, body) = line.split_at(at);
        let body = body.get(1..).unwrap_or_default();
        let path = match verb {
            b"wait" => {
                let millis =
                    std::str::from_utf8(body).ok().and_then(|text| text.parse().ok()).unwrap_or(0_u32);
                for desk in [&first, &second] {
                    desk.advance(Span::from_millis(millis.into()));
                }
                continue;
            }
            b"batch" => "/v1/check/batch",
            b"peek" => "/v1/peek",
            b"refund" => "/v1/refund",
            b"reserve" => "/v1/reserve",
            b"commit" => "/v1/commit",
            b"cancel" => "/v1/cancel",
            _ => "/v1/check",
        };
        let answer = ask(&first, path, body, &mut of_first);
        let again = ask(&second, path, body, &mut of_second);
        assert_eq!(
            (answer.status, &answer.fields, unnamed(&answer, &of_first)),
            (again.status, &again.fields, unnamed(&again, &of_second)),
            "the same is answered the same"
        );
        told.push((path, answer.status));
    }
    told
}

/// Posts a body and looks at the answer.
fn ask(desk: &Desk, path: &'static str, body: &[u8], reservation: &mut String) -> Answer {
    let body = &*with_reservation(body, reservation);
    let typed: Value = serde_json::from_slice(body).unwrap_or_default();
    let (before, seen_before) = (desk.charged(), looks(desk, &typed));
    let answer = desk.post(path, body);
    assert!(is_described(path, answer.status), "{path} {}", answer.status);
    if answer.status != 200 {
        problem(&answer);
    }
    if answer.status != 200 || path == "/v1/peek" || (path == "/v1/check" && typed["peek"] == true) {
        assert_eq!(desk.charged(), before, "{path} {typed}: {answer:?}");
        assert_eq!(looks(desk, &typed), seen_before, "{path} {typed}: {answer:?}");
    }
    if answer.status == 200 {
        assert_eq!(answer.field("content-type"), Some(&b"application/json"[..]), "{answer:?}");
        let json = object(&answer.body);
        is_answer(path, &typed, &json);
        if let Some(made) = json["reservation"].as_str() {
            made.clone_into(reservation);
        }
    }
    answer
}

/// What is promised of a body of status 200.
fn is_answer(path: &str, typed: &Value, json: &Value) {
    let is_number = |name: &str| json[name].as_f64().is_some_and(|number| number >= 0.0);
    match path {
        "/v1/check/batch" => {
            let (checks, results) =
                (typed["checks"].as_array().unwrap(), json["results"].as_array().unwrap());
            assert_eq!(checks.len(), results.len(), "{json}");
            for (at, result) in results.iter().enumerate() {
                let status = result["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap();
                match status {
                    200 => is_admission(result),
                    status => is_problem(result, status),
                }
                let field = result["field"].as_str().unwrap_or_default();
                assert!(field.is_empty() || field.starts_with(&format!("checks[{at}]")), "{result}");
            }
        }
        "/v1/refund" => assert!(is_number("refunded") && is_number("remaining"), "{json}"),
        "/v1/commit" | "/v1/cancel" => {
            assert!(["returned", "charged", "forgiven"].iter().all(|name| is_number(name)), "{json}");
        }
        _ => is_admission(json),
    }
}

fn is_admission(json: &Value) {
    assert!(json["admitted"] == true && json["mode"] == "exact", "{json}");
    if let (Some(limit), Some(remaining)) = (json["limit"].as_u64(), json["remaining"].as_u64()) {
        assert!(remaining <= limit, "{json}");
    }
}

/// What the explicit buckets of a body hold.
fn looks(desk: &Desk, typed: &Value) -> Vec<Answer> {
    let buckets = typed["buckets"].as_array().into_iter().flatten().chain([typed]);
    let named = buckets.filter(|bucket| bucket["key"].is_string()).take(20);
    let look = |bucket: &Value| {
        let body = json!({"key": bucket["key"], "rate": bucket["rate"], "burst": bucket["burst"]});
        desk.post("/v1/peek", body.to_string().as_bytes())
    };
    named.map(look).collect()
}

/// The body with the name of the reservation where one belongs. Nowhere else: what a name that is drawn does to broken JSON, or
/// to a text that is cut off when it is shown, differs from door to door.
fn with_reservation(body: &[u8], reservation: &str) -> Vec<u8> {
    if serde_json::from_slice::<Value>(body).is_err() {
        return body.to_vec();
    }
    let member = format!("\"reservation\": \"{reservation}\"");
    replaced(body, b"\"reservation\": \"$R\"", member.as_bytes())
}

/// The body without the name of the reservation, which is drawn.
fn unnamed(answer: &Answer, reservation: &str) -> Vec<u8> {
    replaced(&answer.body, reservation.as_bytes(), b"$R")
}

fn replaced(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut rest = text;
    let mut made = Vec::with_capacity(text.len());
    while let Some(at) = rest.windows(old.len().max(1)).position(|window| window == old) {
        made.extend_from_slice(&rest[..at]);
        made.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    made.extend_from_slice(rest);
    made
}
