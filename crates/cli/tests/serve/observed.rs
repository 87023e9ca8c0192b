//! Health, metrics, the API's description.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::http_client::Connection;
use crate::server::Server;

/// The samples of a page, by name and labels.
fn samples(server: &Server) -> BTreeMap<String, f64> {
    let answer = server.admin("/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    assert!(answer.body.ends_with("# EOF\n") && answer.body.matches("# EOF").count() == 1);
    let samples = answer.body.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            line.rsplit_once(' ').map(|(name, value)| (name.to_owned(), value.parse().unwrap())).unwrap()
        })
        .collect()
}

fn checks(rule: &str, verdict: &str, door: &str) -> String {
    format!("tollgate_checks_total{{rule=\"{rule}\",verdict=\"{verdict}\",door=\"{door}\"}}")
}

#[test]
fn checks_are_counted_by_rule_verdict_and_door_and_no_key_is_ever_shown() {
    let policy = "rules: [{name: user, scope: user, rate: 1/h, burst: 2}, {name: all, scope: global, rate: 1/h, burst: 9}]";
    let (server, _scratch) = Server::with_policy(policy);
    for _ in 0..3 {
        server.post("/v1/check", r#"{"user": "secret-user", "path": "/secret-path", "ip": "192.0.2.77"}"#);
    }
    server.post("/v1/check", r#"{"key": "secret-key", "rate": 1, "burst": 1, "cost": 2}"#);
    server.post("/v1/peek", r#"{"user": "secret-user"}"#);
    let found = samples(&server);
    for (sample, count) in [
        (checks("user", "admit", "http"), 2.0),
        (checks("user", "deny", "http"), 1.0),
        (checks("all", "admit", "http"), 2.0),
        (checks("all", "deny", "http"), 0.0),
        (checks("(explicit)", "never", "http"), 1.0),
        (checks("(explicit)", "admit", "resp"), 0.0),
        ("tollgate_check_duration_seconds_count{door=\"http\"}".to_owned(), 4.0),
        ("tollgate_policy_version".to_owned(), 1.0),
        ("tollgate_policy_rules".to_owned(), 2.0),
        ("tollgate_evictions_total".to_owned(), 0.0),
    ] {
        assert_eq!(found.get(&sample), Some(&count), "{sample} in {found:#?}");
    }
    assert!(found["tollgate_keys"] >= 2.0);
    assert!(found.keys().any(|name| name.starts_with("tollgate_build_info{version=")));
    let page = server.admin("/metrics").body;
    for secret in ["secret", "192.0.2.77"] {
        assert!(!page.contains(secret), "{page}");
    }
}

#[test]
fn admissions_that_leave_less_than_a_tenth_are_counted_for_the_tightest_rule() {
    let policy = "rules: [{name: user, scope: user, rate: 1/h, burst: 20}, {name: all, scope: global, rate: 1/h, burst: 900}]";
    let (server, _scratch) = Server::with_policy(policy);
    let near = || {
        let found = samples(&server);
        ["user", "all"]
            .map(|rule| found[&format!("tollgate_near_limit_total{{rule=\"{rule}\"}}")].to_string())
    };
    let check = || server.post("/v1/check", r#"{"user": "ann"}"#).status;
    for _ in 0..17 {
        assert_eq!(check(), 200);
    }
    assert_eq!(near(), ["0", "0"]);
    // First 2 tokens are left of 20, then 1, then none; a denial and a look are no admissions.
    assert_eq!([check(), check(), check(), check()], [200, 200, 200, 429]);
    server.post("/v1/peek", r#"{"user": "ann"}"#);
    assert_eq!(near(), ["2", "0"]);
}

#[test]
fn a_refusal_is_counted_for_the_rule_that_refuses() {
    let policy = "rules: [{name: bad, match: {\"ip:address\": 192.0.2.9}, action: block}, {name: b, scope: ip, path: /x, rate: 1/s, burst: 1}]";
    let (server, _scratch) = Server::with_policy(policy);
    for ip in ["192.0.2.9", "192.0.2.8"] {
        server.post("/v1/check", &format!(r#"{{"ip": "{ip}"}}"#));
    }
    let found = samples(&server);
    for sample in [checks("bad", "refuse", "http"), checks("(none)", "admit", "http")] {
        assert_eq!(found.get(&sample), Some(&1.0), "{sample} in {found:#?}");
    }
    assert!(!found.contains_key(&checks("b", "admit", "resp")), "no series that can never count");
}

#[test]
fn rules_that_are_gone_take_their_series_with_them() {
    let (mut server, scratch) = Server::with_policy("{name: old, scope: global, rate: 1/h, burst: 2}");
    server.post("/v1/check", "{}");
    assert!(samples(&server).contains_key(&checks("old", "admit", "http")));
    scratch.write("policy.yaml", "{name: new, scope: global, rate: 1/h, burst: 2}");
    server.wait_for("another policy is in force");
    let found = samples(&server);
    assert!(
        !found.contains_key(&checks("old", "admit", "http"))
            && found.contains_key(&checks("new", "admit", "http"))
    );
}

#[test]
fn health_is_told_on_both_doors_and_on_one_of_its_own() {
    let server = Server::new(&["--metrics", "127.0.0.1:0"]);
    for door in ["http", "admin", "metrics"] {
        let mut http = Connection::to(server.address(door));
        assert_eq!((http.get("/livez").status, http.get("/livez").body.as_str()), (200, "ok\n"));
        let ready = http.get("/readyz");
        assert_eq!((ready.status, ready.json()["ready"].as_bool()), (200, Some(true)));
        assert_eq!(ready.json()["policy"]["hash"].as_str().unwrap().len(), 12);
    }
    assert_eq!(Connection::to(server.address("metrics")).get("/metrics").status, 200);
    assert_eq!(
        server.http().get("/metrics").status,
        404,
        "whoever may ask for verdicts need not see figures"
    );
}

#[test]
fn the_description_lists_every_path_and_its_examples_are_answered_as_it_says() {
    let server = Server::new(&[]);
    let answer = server.http().get("/openapi.json");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let document = answer.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let mut asked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let statuses: Vec<&String> = operation["responses"].as_object().unwrap().keys().collect();
            let answers = |status: u16| statuses.iter().any(|known| **known == status.to_string());
            let path = path.replace("{proxy}", "traefik").replace("{path}", "api/search?q=1");
            let Some(body) = operation["requestBody"]["content"]["application/json"]["examples"].as_object()
            else {
                // The last answer, since that to HEAD has no body whatever its length.
                let last = [("connection", "close")];
                let status = server.http().request(&method.to_uppercase(), &path, &last).status;
                assert!(answers(status), "{method} {path}: {status}");
                asked += 1;
                continue;
            };
            for example in body.values() {
                let answer = server.post(&path, &example["value"].to_string());
                assert!(answers(answer.status), "{method} {path} {example}: {answer:?}");
                assert_ne!(answer.status, 400, "{path} {example}: {answer:?}");
                asked += 1;
            }
            let refused = server.post(&path, "[]");
            assert!(refused.status == 400 && answers(400), "{path}");
        }
    }
    assert!(asked >= 15, "{asked}");
}

#[test]
fn every_field_of_the_description_is_known_and_no_other() {
    let server = Server::new(&[]);
    let document = server.http().get("/openapi.json").json();
    let fields = |schema: &str| -> Vec<String> {
        let properties = document["components"]["schemas"][schema]["properties"].as_object();
        properties.unwrap().keys().cloned().collect()
    };
    // A server that is asked for a field of the wrong kind says so; one that does not know the field says that.
    let known = |path: &str, field: &str| -> bool {
        let answer = server.post(path, &format!("{{\"{field}\": {{\"no\": [true]}}}}"));
        let detail = answer.json()["detail"].as_str().unwrap_or_default().to_owned();
        assert_eq!(answer.status, 400, "{field}: {answer:?}");
        !detail.contains("unknown field")
    };
    for (schema, path) in [("Check", "/v1/check"), ("Settlement", "/v1/commit"), ("Batch", "/v1/check/batch")]
    {
        for field in fields(schema) {
            assert!(known(path, &field), "{path} does not know {field}");
        }
        assert!(!known(path, "nothing"));
        let refused: Value = server.post(path, r#"{"nothing": 1}"#).json();
        let listed = refused["detail"].as_str().unwrap().to_owned();
        for field in fields(schema) {
            assert!(listed.contains(&format!("`{field}`")), "{path}: {listed}");
        }
        assert_eq!(listed.matches('`').count() / 2, fields(schema).len() + 1, "{path}: {listed}");
    }
}
