//! `/v1/check` with a request's facts, decided by the policy.

use serde_json::json;

use crate::server::Server;

#[test]
fn without_a_policy_each_client_has_ten_at_once() {
    let server = Server::new(&[]);
    let statuses = |ip: &str| -> Vec<u16> {
        (0..11).map(|_| server.post("/v1/check", &format!(r#"{{"ip": "{ip}"}}"#)).status).collect()
    };
    for ip in ["192.0.2.7", "2001:db8::7"] {
        let statuses = statuses(ip);
        assert!(statuses.starts_with(&[200; 10]), "{ip}: {statuses:?}");
    }
    for said in ["5/s, burst 10 per client (IPv4 address", "Limits apply per instance"] {
        assert!(server.said.iter().any(|line| line.contains(said)), "{said}");
    }
}

const PLANS: &str = "
rules:
  - group: plans
    combine: first
    rules:
      - {name: pro, scope: user, plan: pro, rate: 1/h, burst: 3}
      - {name: free, scope: user, rate: 1/h, burst: 1}
  - {name: search, scope: endpoint, path: /api/search, rate: 1/h, burst: 100}
";

#[test]
fn user_plan_path_and_host_choose_the_rules() {
    let (server, _scratch) = Server::with_policy(PLANS);
    let check = |body: &str| server.post("/v1/check", body);
    assert_eq!(check(r#"{"user": "ann", "path": "/"}"#).json()["limit"], 1);
    let denied = check(r#"{"user": "ann", "path": "/api//search?q=1"}"#);
    let violated = denied.json()["violated"].clone();
    assert_eq!((denied.status, violated.as_array().unwrap().len()), (429, 1));
    assert_eq!((&violated[0]["rule"], &violated[0]["scope"]), (&json!("free"), &json!("user")));
    assert_eq!(check(r#"{"user": "bob", "plan": "pro", "method": "post"}"#).json()["remaining"], 2);
    let both = check(r#"{"user": "bob", "plan": "pro", "path": "/api/search"}"#);
    assert_eq!(both.header("ratelimit-policy"), Some("\"pro\";q=3;w=10800"), "the tightest");
    assert_eq!(server.post("/v1/peek", r#"{"user": "eve", "path": "/api/search"}"#).json()["limit"], 1);
}

#[test]
fn header_fields_are_those_that_the_caller_describes() {
    let policy = "{name: keyed, limit_keys: [\"header:x-api-key\"], rate: 1/h, burst: 1}";
    let (server, _scratch) = Server::with_policy(policy);
    let check =
        |value: &str| server.post("/v1/check", &format!(r#"{{"headers": {{"X-Api-Key": {value}}}}}"#)).status;
    assert_eq!((check("\"k1\""), check("\"k1\""), check("\"k2\"")), (200, 429, 200));
    assert_eq!(
        (check("[\"k3\", \"k4\"]"), check("[\"k5\", \"k6\"]")),
        (200, 429),
        "two are none: one anonymous bucket"
    );
}

#[test]
fn a_cost_counts_where_a_rule_looks_for_one_and_is_refused_where_none_does() {
    let policy = "{name: tokens, scope: user, rate: 1/h, burst: 10, cost_source: \"header:x-cost\"}";
    let (server, _scratch) = Server::with_policy(policy);
    let check = |body: &str| server.post("/v1/check", body);
    assert_eq!(check(r#"{"user": "ann", "cost": 7, "headers": {"x-cost": "1"}}"#).json()["remaining"], 3);
    assert_eq!(check(r#"{"user": "ann", "cost": 4}"#).status, 429);
    let plain = Server::new(&[]);
    assert_eq!(plain.post("/v1/check", r#"{"cost": 2}"#).fault(), (400, "cost".to_owned()));
    assert_eq!(plain.post("/v1/check", r#"{"cost": 1}"#).status, 200);
}

#[test]
fn who_is_blocked_or_killed_is_told_so() {
    let policy = "
rules:
  - {name: bad, match: {\"ip:address\": {cidr: [192.0.2.0/24]}}, action: block}
  - {name: all, scope: global, rate: 1/s, burst: 5}
";
    let (server, _scratch) = Server::with_policy(policy);
    let blocked = server.post("/v1/check", r#"{"ip": "192.0.2.9"}"#);
    assert_eq!((blocked.status, blocked.json()["admitted"].as_bool()), (403, Some(false)));
    assert_eq!(server.post("/v1/check", r#"{"ip": "198.51.100.9"}"#).status, 200);
}

#[test]
fn a_retried_request_is_charged_once() {
    let (server, _scratch) = Server::with_policy(PLANS);
    for _ in 0..3 {
        let answer = server.post("/v1/check", r#"{"user": "ann", "idempotency_key": "order-1"}"#);
        assert_eq!((answer.status, &answer.json()["remaining"]), (200, &json!(0)));
    }
    assert_eq!(server.post("/v1/check", r#"{"user": "ann", "idempotency_key": "order-2"}"#).status, 429);
}

#[test]
fn without_header_fields_the_body_still_says_where_one_stands() {
    let policy =
        "answers: {headers: none, body: simple}\nrules: [{name: all, scope: global, rate: 1/h, burst: 1}]";
    let (server, _scratch) = Server::with_policy(policy);
    let admitted = server.post("/v1/check", "{}");
    assert_eq!((admitted.header("ratelimit"), &admitted.json()["limit"]), (None, &json!(1)));
    let denied = server.post("/v1/check", "{}").json();
    assert_eq!(denied["violated"][0]["rule"], "all", "programs get what the API promises: {denied}");
}
