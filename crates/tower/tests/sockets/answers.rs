//! What clients are told, on admits and on denials (H1, H2, H3, P7).

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tollgate::Span;

use crate::served::Served;

const PER_IP: &str = "{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 3}";

#[tokio::test]
async fn every_admit_says_what_is_left_and_the_denial_has_every_field() {
    let served = Served::new(PER_IP).await;
    for (left, full_in) in [(2, 1), (1, 2), (0, 3)] {
        let answer = served.get("/").await;
        assert_eq!((answer.status.as_u16(), answer.body.as_str()), (200, "hello"));
        assert_eq!(answer.header("ratelimit-policy"), r#""api";q=3;w=3"#);
        assert_eq!(answer.header("ratelimit"), format!(r#""api";r={left};t={full_in}"#));
        assert!(!answer.headers.contains_key("retry-after"));
        assert!(!answer.headers.contains_key("tollgate-reason"));
    }
    let denial = served.get("/").await;
    assert_eq!((denial.status.as_u16(), served.calls()), (429, 3), "the handler never saw it");
    let wait = denial.header("retry-after");
    assert!(["1", "2"].contains(&wait), "{wait}: the wait of 1 s, or with its jitter 2 s");
    assert_eq!(denial.header("ratelimit-policy"), r#""api";q=3;w=3"#);
    assert_eq!(denial.header("ratelimit"), format!(r#""api";r=0;t={wait}"#));
    assert_eq!(denial.header("cache-control"), "no-store");
    assert_eq!(denial.header("tollgate-reason"), "token_bucket_exceeded");
    assert_eq!(denial.header("content-type"), "application/problem+json");
    let problem: serde_json::Value = serde_json::from_str(&denial.body).unwrap();
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert_eq!(problem["violated-policies"], serde_json::json!(["api"]));
    assert_eq!(problem["retry_after_ms"], 1_000);
    assert_eq!(denial.header("content-length"), denial.body.len().to_string());

    served.clock.advance(Span::from_secs(1));
    assert!(served.get("/").await.is_admitted(), "at the exact wait it is admitted");
    assert_eq!(served.layer.stats().denied, 1);
}

#[tokio::test]
async fn profiles_and_bodies_are_those_of_the_policy() {
    let policy = "{answers: {headers: [legacy, x], body: simple, jitter_percent: 0, reason_header: X-Why}, \
                  rules: [{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 1}]}";
    let served = Served::new(policy).await;
    let admit = served.get("/").await;
    assert_eq!((admit.header("ratelimit-limit"), admit.header("x-ratelimit-remaining")), ("1", "0"));
    assert_eq!((admit.header("ratelimit-reset"), admit.header("x-ratelimit-reset")), ("1", "1699920001"));
    assert!(!admit.headers.contains_key("ratelimit"));
    let denial = served.get("/").await;
    assert_eq!((denial.header("x-why"), denial.header("retry-after")), ("token_bucket_exceeded", "1"));
    assert_eq!(denial.header("content-type"), "application/json");
    let body: serde_json::Value = serde_json::from_str(&denial.body).unwrap();
    assert_eq!((&body["error"], &body["retryAfter"]), (&"token_bucket_exceeded".into(), &1.into()));
}

#[tokio::test]
async fn without_profiles_an_admit_says_nothing() {
    let policy =
        "{answers: {headers: none}, rules: [{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 1}]}";
    let served = Served::new(policy).await;
    let admit = served.get("/").await;
    assert!(!admit.headers.keys().any(|name| name.as_str().contains("ratelimit")));
    let denial = served.get("/").await;
    assert_eq!(denial.status, 429);
    assert!(denial.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn a_handler_keeps_the_fields_that_it_sets_itself() {
    let own = async || ([("ratelimit", r#""own";r=7"#)], "hello");
    let served = Served::routes(PER_IP, Router::new().route("/", get(own))).await;
    let answer = served.get("/").await;
    assert_eq!(answer.header("ratelimit"), r#""own";r=7"#);
    assert!(!answer.headers.contains_key("ratelimit-policy"), "not half of ours beside it");
}

#[tokio::test]
async fn a_kill_switch_answers_503_and_ends_on_its_date() {
    let policy = "{kill_switches: [{name: stop, path: /export, reason: overload, until: 2023-11-14T00:01:00Z}], \
                  rules: [{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 3}]}";
    let served = Served::new(policy).await;
    let refused = served.get("/export").await;
    assert_eq!((refused.status.as_u16(), refused.header("tollgate-reason")), (503, "kill_switch"));
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((60..=90).contains(&wait), "{wait}");
    assert_eq!((served.get("/other").await.status.as_u16(), served.calls()), (200, 1));
    served.clock.advance(Span::from_secs(60));
    assert_eq!(served.get("/export").await.status, 200);
}

#[tokio::test]
async fn allowed_and_blocked_requests_pass_or_fail_whatever_the_buckets_hold() {
    let policy = "{rules: [{name: health, path: /healthz, action: allow}, {name: admin, path: /admin/*, action: block}, \
                  {name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 1}]}";
    let served = Served::new(policy).await;
    assert_eq!(served.admitted(5, "/healthz", &[]).await, 5);
    let blocked = served.get("/admin/x").await;
    assert_eq!((blocked.status.as_u16(), blocked.header("content-type")), (403, "application/problem+json"));
    assert_eq!(served.calls(), 5);
    assert_eq!(served.admitted(3, "/", &[]).await, 1);
}

#[tokio::test]
async fn a_denied_head_request_has_fields_and_no_body() {
    let served = Served::new(PER_IP).await;
    assert_eq!(served.admitted(3, "/", &[]).await, 3);
    let request = Request::head(format!("http://{}/", served.address));
    let denial = served.request(request.body(Full::<Bytes>::default()).unwrap()).await;
    assert_eq!((denial.status.as_u16(), denial.body.as_str()), (429, ""));
    assert!(denial.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn a_swapped_policy_is_in_force_with_the_next_request_and_keeps_balances() {
    let served = Served::new(PER_IP).await;
    assert_eq!(served.admitted(5, "/", &[]).await, 3);
    let policy = "{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 100}";
    let policy = tollgate_tower::Policy::parse("test.yaml", policy).unwrap();
    served.layer.limiter().swap(policy).unwrap();
    assert_eq!(served.admitted(5, "/", &[]).await, 0, "room to refill into, not tokens");
    served.clock.advance(Span::from_secs(4));
    assert_eq!(served.admitted(9, "/", &[]).await, 4);
}
