//! `/v1/check` and `/v1/peek` with buckets whose limits come with the call.

use serde_json::json;

use crate::server::Server;

#[test]
fn a_bucket_admits_its_burst_and_then_says_exactly_how_long_to_wait() {
    let server = Server::new(&[]);
    let mut http = server.http();
    for left in [2, 1, 0] {
        let answer = http.post("/v1/check", r#"{"key": "a", "rate": 0.001, "burst": 3}"#);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
        let told = answer.json();
        assert_eq!(
            (&told["admitted"], &told["limit"], &told["mode"]),
            (&json!(true), &json!(3), &json!("exact"))
        );
        assert_eq!(told["remaining"], left);
        let full_in = told["reset_after_ms"].as_u64().unwrap();
        assert!(full_in > 990_000 * (3 - left) && full_in <= 1_000_000 * (3 - left), "{told}");
        assert_eq!(answer.header("ratelimit-policy"), Some("\"a\";q=3;w=3000"));
    }
    let denied = http.post("/v1/check", r#"{"key": "a", "rate": 0.001, "burst": 3}"#);
    assert_eq!((denied.status, denied.header("content-type")), (429, Some("application/problem+json")));
    assert_eq!(denied.header("tollgate-reason"), Some("token_bucket_exceeded"));
    assert_eq!(denied.header("cache-control"), Some("no-store"));
    let told = denied.json();
    let wait_ms = told["retry_after_ms"].as_u64().unwrap();
    assert!((990_000..=1_000_000).contains(&wait_ms), "{told}");
    let retry_s: u64 = denied.header("retry-after").unwrap().parse().unwrap();
    assert!(retry_s >= wait_ms.div_ceil(1_000) && retry_s <= 1_500, "{retry_s}");
    assert_eq!(
        (&told["admitted"], &told["remaining"], &told["reason"]),
        (&json!(false), &json!(0), &json!("token_bucket_exceeded"))
    );
    assert_eq!(told["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert_eq!(told["violated"][0]["rule"], "a");
    assert_eq!(told["violated"][0]["scope"], "explicit");
    assert_eq!(told["violated"][0]["retry_after_ms"], wait_ms);
}

#[test]
fn a_cost_above_the_burst_is_denied_for_good_without_a_wait() {
    let server = Server::new(&[]);
    let answer = server.post("/v1/check", r#"{"key": "a", "rate": 1, "burst": 2.5, "cost": 2.6}"#);
    assert_eq!((answer.status, answer.header("retry-after")), (429, None));
    let told = answer.json();
    assert_eq!((&told["reason"], told.get("retry_after_ms")), (&json!("cost_exceeds_burst"), None));
    assert_eq!(told["remaining"], 2);
}

#[test]
fn of_several_buckets_all_are_charged_or_none() {
    let server = Server::new(&[]);
    let both = r#"{"buckets": [{"key": "u", "rate": 0.001, "burst": 2}, {"key": "org", "rate": 0.001, "burst": 9, "cost": 3}]}"#;
    assert_eq!(server.post("/v1/check", both).json()["remaining"], 1);
    assert_eq!(server.post("/v1/check", both).json()["remaining"], 0);
    let denied = server.post("/v1/check", both).json();
    assert_eq!(denied["violated"].as_array().unwrap().len(), 1, "{denied}");
    assert_eq!(denied["violated-policies"], json!(["u"]));
    let org = server.post("/v1/peek", r#"{"key": "org", "rate": 0.001, "burst": 9, "cost": 3}"#);
    assert_eq!((org.status, &org.json()["remaining"]), (200, &json!(0)), "the third was not charged");
}

#[test]
fn a_peek_charges_nothing_whichever_way_it_is_asked_for() {
    let server = Server::new(&[]);
    for _ in 0..5 {
        let told = server.post("/v1/peek", r#"{"key": "a", "rate": 1, "burst": 1}"#);
        assert_eq!((told.status, &told.json()["remaining"]), (200, &json!(0)));
        assert_eq!(
            server.post("/v1/check", r#"{"key": "a", "rate": 1, "burst": 1, "peek": true}"#).status,
            200
        );
    }
}

#[test]
fn a_retry_with_the_same_idempotency_key_costs_nothing() {
    let server = Server::new(&[]);
    let check = |once: &str| {
        let body = format!(r#"{{"key": "a", "rate": 0.001, "burst": 2, "idempotency_key": "{once}"}}"#);
        server.post("/v1/check", &body)
    };
    for _ in 0..4 {
        assert_eq!(check("order-1").json()["remaining"], 1);
    }
    assert_eq!(check("order-2").status, 200);
    assert_eq!(check("order-3").status, 429);
    assert_eq!(check("order-1").status, 200, "it was paid for");
}

#[test]
fn with_status_200_every_decision_is_200_and_what_makes_no_sense_is_not() {
    let server = Server::new(&[]);
    let check = |cost: &str| {
        server.post(
            "/v1/check?status=200",
            &format!(r#"{{"key": "a", "rate": 1, "burst": 1, "cost": {cost}}}"#),
        )
    };
    assert_eq!((check("1").status, check("1").json()["admitted"].as_bool()), (200, Some(false)));
    let never = check("2");
    assert_eq!((never.status, never.json()["status"].as_u64()), (200, Some(429)));
    assert!(never.header("tollgate-reason").is_some());
    assert_eq!(check("0").status, 400);
    assert_eq!(server.post("/v1/check?status=201", "{}").fault(), (400, "status".to_owned()));
}

#[test]
fn numbers_are_decimals_and_keys_are_any_text() {
    let server = Server::new(&[]);
    let check = |body: &str| server.post("/v1/check", body);
    for _ in 0..3 {
        assert_eq!(check(r#"{"key": "f", "rate": 0.001, "burst": 0.3, "cost": 0.1}"#).status, 200);
    }
    assert_eq!(check(r#"{"key": "f", "rate": 0.001, "burst": 0.3, "cost": 0.1}"#).status, 429);
    for key in [r#"a\"b\\c\n"#, "ключ 🔑", r"\u0000"] {
        let body = format!(r#"{{"key": "{key}", "rate": 0.001, "burst": 1}}"#);
        assert_eq!((check(&body).status, check(&body).status), (200, 429), "{key}");
    }
}

#[test]
fn half_of_the_next_request_does_not_delay_an_answer() {
    let server = Server::new(&[]);
    let mut http = server.http();
    http.send("GET /livez HTTP/1.1\r\nhost: a\r\n\r\nGET /liv");
    assert_eq!(http.answer().status, 200);
    http.send("ez HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(http.answer().status, 200);
}

#[test]
fn answers_to_pipelined_requests_come_in_order() {
    let server = Server::new(&[]);
    let mut http = server.http();
    let body = r#"{"key": "p", "rate": 0.001, "burst": 100}"#;
    let request =
        format!("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    http.send(request.repeat(100));
    for left in (0..100).rev() {
        assert_eq!(http.answer().json()["remaining"], left);
    }
}

#[test]
fn the_cost_that_the_caller_says_counts_whatever_the_client_wrote_into_its_request() {
    let (server, _scratch) = Server::with_policy(
        "{name: q, scope: global, path: /q, rate: 1/h, burst: 1000, cost_source: 'query:cost'}",
    );
    let mut left = 1000;
    for path in ["/q", "/q?cost=1", "/q?a=b&%63ost=1&cost=2", "/q#x", "/q?#cost=1"] {
        let answer = server.post("/v1/check", &format!(r#"{{"path": "{path}", "cost": 30}}"#));
        left -= 30;
        assert_eq!((answer.status, answer.json()["remaining"].as_u64()), (200, Some(left)), "{path}");
    }
}
