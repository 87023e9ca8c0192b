//! What no wait can cure, and what must not be let through though no bucket was asked.

use http::StatusCode;
use serde_json::{Value, json};
use tollgate::CHARGES_MAX;

use crate::served::Served;

#[tokio::test]
async fn a_cost_above_the_burst_is_429_without_a_wait_and_charges_nothing() {
    let policy = "{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 5, cost_source: \"header:x-cost\", \
                  max_cost: 100}";
    let served = Served::new(policy).await;
    for _ in 0..3 {
        let never = served.send("/", &[("x-cost", "6")]).await;
        assert_eq!(never.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(never.header("tollgate-reason"), "cost_exceeds_burst");
        assert!(!never.headers.contains_key("retry-after"), "no wait helps: {never:?}");
        assert_eq!(never.header("ratelimit-policy"), r#""api";q=5;w=5"#);
        assert_eq!(never.header("cache-control"), "no-store");
        assert_eq!(never.header("content-type"), "application/problem+json");
        let problem: Value = serde_json::from_str(&never.body).unwrap();
        assert_eq!((&problem["status"], &problem["reason"]), (&json!(429), &json!("cost_exceeds_burst")));
        assert_eq!((problem.get("retry_after_ms"), &problem["admitted"]), (None, &json!(false)));
        assert_eq!(problem["violated-policies"], json!(["api"]));
    }
    assert_eq!(served.calls(), 0, "the handler never saw them");
    let dearest = served.send("/", &[("x-cost", "5")]).await;
    assert_eq!(dearest.status, StatusCode::OK, "the bucket is as full as before");
    assert_eq!(served.layer.stats().denied, 3);
}

#[tokio::test]
async fn more_rules_than_can_be_enforced_together_are_503_and_nobody_passes() {
    let rule = |at: usize| format!("{{name: r{at}, limit_keys: [\"ip:address\"], rate: 1/s, burst: 5}}");
    let rules = |count: usize| (0..count).map(rule).collect::<Vec<_>>().join(", ");
    let served = Served::new(&format!("[{}]", rules(CHARGES_MAX))).await;
    assert_eq!(served.get("/").await.status, StatusCode::OK, "so many can be");

    let served = Served::new(&format!("[{}]", rules(CHARGES_MAX + 1))).await;
    let refused = served.get("/").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.header("tollgate-reason"), "too_many_rules");
    assert_eq!(refused.header("content-type"), "application/problem+json");
    assert_eq!((served.calls(), served.layer.stats().denied), (0, 1));
}

#[tokio::test]
async fn encoded_paths_lead_past_no_rule() {
    let served = Served::new("{name: login, scope: ip, path: /api/login, rate: 1/h, burst: 1}").await;
    assert_eq!(served.get("/api/login").await.status, StatusCode::OK);
    for path in ["/api%2flogin", "/api%5Clogin", "/api/login%20", "/api/login%00"] {
        assert_eq!(served.get(path).await.status, StatusCode::TOO_MANY_REQUESTS, "{path}");
    }
}

#[tokio::test]
async fn a_policy_that_refuses_encoded_paths_answers_400() {
    let policy = "{path_encoded: refuse, rules: [{name: all, scope: ip, rate: 1/h, burst: 100}]}";
    let served = Served::new(policy).await;
    let refused = served.get("/a%2fb").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert_eq!(refused.header("tollgate-reason"), "path_encoded");
    assert_eq!(refused.header("content-type"), "application/problem+json");
    assert_eq!(served.calls(), 0, "the handler never saw it");
    assert_eq!(served.get("/").await.status, StatusCode::OK);
}
