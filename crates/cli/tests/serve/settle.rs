//! Reserve, commit, cancel, refund.

use serde_json::{Value, json};

use crate::server::Server;

/// Whole tokens that would be left by the smallest charge.
fn left(server: &Server, key: &str) -> Value {
    let body = format!(r#"{{"key": "{key}", "rate": 0.001, "burst": 10, "cost": 0.000001}}"#);
    server.post("/v1/peek", &body).json()["remaining"].clone()
}

fn settle(server: &Server, verb: &str, id: &Value, rest: &str) -> (u16, Value) {
    let answer = server.post(&format!("/v1/{verb}"), &format!(r#"{{"reservation": {id}{rest}}}"#));
    (answer.status, answer.json())
}

#[test]
fn an_estimate_is_corrected_to_the_true_cost_and_settled_once() {
    let server = Server::new(&[]);
    let reserve = || server.post("/v1/reserve", r#"{"key": "a", "rate": 0.001, "burst": 10, "cost": 6}"#);
    let made = reserve();
    assert_eq!(
        (made.status, &made.json()["remaining"], &made.json()["timeout_ms"]),
        (200, &json!(4), &json!(60_000))
    );
    let id = made.json()["reservation"].clone();
    assert_eq!(reserve().status, 429);
    let (status, settled) = settle(&server, "commit", &id, r#", "cost": 2.5"#);
    assert_eq!(
        (status, &settled["returned"], &settled["charged"]),
        (200, &json!(3.5), &json!(0)),
        "{settled}"
    );
    assert_eq!(left(&server, "a"), 7);
    assert_eq!(settle(&server, "commit", &id, r#", "cost": 1"#).0, 404, "once");
    assert_eq!(settle(&server, "cancel", &id, "").0, 404);
    let again = reserve().json()["reservation"].clone();
    assert_eq!(settle(&server, "cancel", &again, "").1["returned"], 6);
    assert_eq!(left(&server, "a"), 7);
}

#[test]
fn several_buckets_are_committed_each_at_its_own_cost() {
    let server = Server::new(&[]);
    let body = r#"{"buckets": [{"key": "x", "rate": 0.001, "burst": 10, "cost": 5}, {"key": "y", "rate": 0.001, "burst": 10, "cost": 2}],
        "timeout_ms": 5000}"#;
    let made = server.post("/v1/reserve", body).json();
    assert_eq!((&made["remaining"], &made["timeout_ms"]), (&json!(5), &json!(5_000)), "{made}");
    let id = made["reservation"].clone();
    assert_eq!(settle(&server, "commit", &id, r#", "cost": 1"#).1["field"], "cost");
    assert_eq!(settle(&server, "commit", &id, r#", "costs": [1]"#).1["field"], "costs");
    assert_eq!(settle(&server, "commit", &id, r#", "costs": [0, 6.5]"#).0, 200);
    assert_eq!((left(&server, "x"), left(&server, "y")), (json!(9), json!(3)));
}

#[test]
fn a_place_of_a_policy_is_taken_until_it_is_cancelled() {
    let (server, _scratch) =
        Server::with_policy("{name: jobs, scope: user, algorithm: concurrency, places: 1, timeout: 1h}");
    let made = server.post("/v1/reserve", r#"{"user": "ann"}"#);
    assert_eq!(made.status, 200, "{made:?}");
    let denied = server.post("/v1/reserve", r#"{"user": "ann"}"#);
    assert_eq!((denied.status, denied.json().get("reservation")), (429, None));
    assert_eq!(settle(&server, "cancel", &made.json()["reservation"], "").0, 200);
    assert_eq!(server.post("/v1/reserve", r#"{"user": "ann"}"#).status, 200);
}

#[test]
fn a_refund_gives_back_no_more_than_is_missing() {
    let server = Server::new(&[]);
    let ask = |verb: &str, cost: &str| {
        server.post(
            &format!("/v1/{verb}"),
            &format!(r#"{{"key": "r", "rate": 0.001, "burst": 10, "cost": {cost}}}"#),
        )
    };
    assert_eq!(ask("check", "4").status, 200);
    assert_eq!(ask("refund", "1").json()["remaining"], 7);
    let refunded = ask("refund", "9").json();
    assert_eq!(refunded["remaining"], 10);
    assert!(refunded["refunded"].as_f64().unwrap() <= 3.0, "{refunded}");
}

#[test]
fn what_cannot_be_settled_is_refused_with_the_field() {
    let server = Server::new(&[]);
    let fault = |path: &str, body: &str| server.post(path, body).fault();
    assert_eq!(fault("/v1/commit", "{}"), (400, "reservation".to_owned()));
    assert_eq!(fault("/v1/commit", r#"{"reservation": "x", "cost": 1}"#), (400, "reservation".to_owned()));
    let unknown = r#"{"reservation": "00000000000000000000000000000000", "cost": 1}"#;
    assert_eq!(fault("/v1/commit", unknown), (404, "reservation".to_owned()));
    assert_eq!(
        fault("/v1/commit", r#"{"reservation": "00000000000000000000000000000000"}"#),
        (400, "cost".to_owned())
    );
    assert_eq!(fault("/v1/cancel", unknown), (400, "cost".to_owned()));
    assert_eq!(fault("/v1/refund", r#"{"ip": "192.0.2.7"}"#), (400, "key".to_owned()));
    assert_eq!(
        fault("/v1/reserve", r#"{"key": "a", "rate": 1, "burst": 1, "timeout_ms": 0}"#),
        (400, "timeout_ms".to_owned())
    );
    assert_eq!(
        fault("/v1/reserve", r#"{"key": "a", "rate": 1, "burst": 1, "peek": true}"#),
        (400, "peek".to_owned())
    );
    assert_eq!(
        fault("/v1/check", r#"{"key": "a", "rate": 1, "burst": 1, "timeout_ms": 5}"#),
        (400, "timeout_ms".to_owned())
    );
}
