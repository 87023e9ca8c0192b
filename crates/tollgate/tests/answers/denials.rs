//! What a denied client is told.

use serde_json::json;
use tollgate::policy::{AnswerSettings, BodyProfile};
use tollgate::{
    Algorithm, Answering, BucketSet, Burst, Cause, Concurrency, FixedWindow, LeakyBucket, Outcome, Rate,
    SlidingCounter, SlidingLog, Span, Standing, StoreMode, Tokens, Violation, Window,
};

use crate::told::{NOW, bucket, plain, profiles, tell, violation};

fn denied<'a>(wait_ms: u64, violated: &'a [Violation<'a>]) -> Outcome<'a> {
    Outcome::Denied { wait: Span::from_millis(wait_ms), cause: Cause::Exceeded, violated }
}

#[test]
fn a_denial_is_429_with_everything_a_client_needs() {
    let violated = [violation("user", bucket(10, 50), 900_000, 1_200)];
    let told = tell(&profiles(true, true, true), denied(1_200, &violated), "ann");
    assert_eq!(told.status(), 429);
    let expected = [
        ("Retry-After", "2"),
        ("RateLimit-Policy", r#""user";q=50;w=5"#),
        ("RateLimit", r#""user";r=0;t=2"#),
        ("RateLimit-Limit", "50"),
        ("RateLimit-Remaining", "0"),
        ("RateLimit-Reset", "2"),
        ("X-RateLimit-Limit", "50"),
        ("X-RateLimit-Remaining", "0"),
        ("X-RateLimit-Reset", "1700000002"),
        ("Cache-Control", "no-store"),
        ("Tollgate-Reason", "token_bucket_exceeded"),
    ];
    let fields: Vec<(&str, &str)> =
        told.answer.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(fields, expected);
    assert_eq!(told.answer.body.as_ref().unwrap().0, "application/problem+json");
    assert_eq!(
        told.json(),
        json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Request cannot be satisfied as assigned quota has been exceeded",
            "status": 429,
            "detail": "Rule `user` has 0 of 50 left. Retry in 1200 ms.",
            "violated-policies": ["user"],
            "admitted": false,
            "mode": "exact",
            "reason": "token_bucket_exceeded",
            "remaining": 0,
            "retry_after_ms": 1200,
            "violated": [{"rule": "user", "scope": "user", "retry_after_ms": 1200}],
        })
    );
}

#[test]
fn defect_9_the_wait_is_neither_nothing_nor_a_second_too_much() {
    for (wait_ms, seconds) in [(0, 1), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (60_000, 60)] {
        let violated = [violation("user", bucket(10, 50), 0, wait_ms)];
        let told = tell(&plain(), denied(wait_ms, &violated), "ann");
        assert_eq!(told.retry_after_s(), Some(seconds), "{wait_ms} ms");
        assert_eq!(told.header("RateLimit"), Some(&*format!(r#""user";r=0;t={seconds}"#)));
        assert_eq!(told.json()["retry_after_ms"], wait_ms);
    }
}

#[test]
fn defect_9_jitter_lengthens_what_is_told_and_leaves_the_exact_wait_alone() {
    for (wait_ms, range) in [(1_000, 1..=2), (2_000, 2..=3)] {
        let mut counts = [0; 4];
        for client in 0..1_000 {
            let violated = [violation("user", bucket(10, 50), 0, wait_ms)];
            let settings =
                AnswerSettings { headers: profiles(true, true, true).headers, ..AnswerSettings::default() };
            let told = tell(&settings, denied(wait_ms, &violated), &format!("user:{client}"));
            let seconds = told.retry_after_s().unwrap();
            assert!(range.contains(&seconds), "{seconds} s for {wait_ms} ms");
            assert_eq!(told.header("RateLimit"), Some(&*format!(r#""user";r=0;t={seconds}"#)));
            assert_eq!(told.header("RateLimit-Reset"), Some(&*seconds.to_string()));
            assert_eq!(told.header("X-RateLimit-Reset"), Some(&*(1_700_000_000 + seconds).to_string()));
            assert_eq!(told.json()["retry_after_ms"], wait_ms);
            counts[usize::try_from(seconds).unwrap()] += 1;
        }
        for seconds in range {
            let count = counts[usize::try_from(seconds).unwrap()];
            assert!(count > 0 && count <= 600, "{count} of 1,000 clients are told {seconds} s");
        }
    }
}

#[test]
fn defect_10_remaining_is_what_the_bucket_holds_on_denials_too() {
    let violated = [violation("user", bucket(1, 50), 7_900_000, 2_100)];
    let told = tell(&profiles(true, true, true), denied(2_100, &violated), "ann");
    assert_eq!(told.header("RateLimit"), Some(r#""user";r=7;t=3"#));
    assert_eq!(told.header("RateLimit-Remaining"), Some("7"));
    assert_eq!(told.header("X-RateLimit-Remaining"), Some("7"));
    assert_eq!(told.json()["remaining"], 7);
}

#[test]
fn of_several_rules_all_are_named_and_the_longest_wait_is_told() {
    let (user, global) = (bucket(10, 50), bucket(1_000, 2_000));
    let violated = [violation("user", user, 0, 100), violation("global", global, 3_000_000, 4_000)];
    let told = tell(&plain(), denied(4_000, &violated), "ann");
    assert_eq!(told.retry_after_s(), Some(4));
    assert_eq!(told.header("RateLimit-Policy"), Some(r#""user";q=50;w=5, "global";q=2000;w=2"#));
    assert_eq!(told.header("RateLimit"), Some(r#""global";r=3;t=4"#));
    let body = told.json();
    assert_eq!(body["violated-policies"], json!(["user", "global"]));
    assert_eq!(body["violated"][0]["retry_after_ms"], 100);
    assert_eq!(body["violated"][1]["retry_after_ms"], 4_000);
}

#[test]
fn never_is_told_apart_and_promises_no_time() {
    let violated = [violation("user", bucket(10, 50), 50_000_000, 0)];
    let settings = AnswerSettings { body: BodyProfile::Problem, ..profiles(true, true, true) };
    let told = tell(&settings, Outcome::Never { violated: &violated }, "ann");
    assert_eq!((told.status(), told.header("Retry-After")), (429, None));
    assert_eq!(told.header("RateLimit"), Some(r#""user";r=50"#));
    assert_eq!((told.header("RateLimit-Reset"), told.header("X-RateLimit-Reset")), (None, None));
    assert_eq!(told.header("Tollgate-Reason"), Some("cost_exceeds_burst"));
    let body = told.json();
    assert_eq!(
        body["detail"],
        "The request costs more than rule `user` ever holds, which is 50. No wait will help."
    );
    assert_eq!(body.get("retry_after_ms"), None);
    assert_eq!(body["violated"], json!([{"rule": "user", "scope": "user"}]));
}

#[test]
fn each_algorithm_has_its_own_reason() {
    let (burst, minute) = (Burst::tokens(5), Span::from_secs(60));
    let reasons: [(Algorithm, &str); 6] = [
        (*bucket(1, 5), "token_bucket_exceeded"),
        (LeakyBucket::new(Rate::per_second(1), burst).unwrap().into(), "leaky_bucket_full"),
        (FixedWindow::new(burst, Window::DAY).unwrap().into(), "fixed_window_exceeded"),
        (SlidingLog::new(burst, minute).unwrap().into(), "sliding_window_exceeded"),
        (SlidingCounter::new(burst, minute).unwrap().into(), "sliding_window_exceeded"),
        (Concurrency::new(5, minute).unwrap().into(), "concurrency_exceeded"),
    ];
    for (algorithm, reason) in reasons {
        let violated = [violation("r", &algorithm, 0, 1_000)];
        let told = tell(&plain(), denied(1_000, &violated), "ann");
        assert_eq!(told.header("Tollgate-Reason"), Some(reason));
        assert_eq!(told.json()["reason"], reason);
    }
}

#[test]
fn a_rule_may_call_and_explain_its_denials_itself() {
    let limit = bucket(1, 5);
    let own = Violation {
        reason: Some("slow_down"),
        message: Some("Only five at once, s'il vous plaît.\r\n\"Merci\""),
        ..violation("r", limit, 0, 1_000)
    };
    let settings = AnswerSettings { reason_header: "X-Why".into(), ..plain() };
    let told = tell(&settings, denied(1_000, &[own]), "ann");
    assert_eq!(told.header("X-Why"), Some("slow_down"));
    assert_eq!(told.json()["detail"], "Only five at once, s'il vous plaît.\r\n\"Merci\"");
}

#[test]
fn the_simple_body_is_just_its_five_members() {
    let violated = [violation("free-users", bucket(10, 50), 0, 1_200)];
    let settings = AnswerSettings { body: BodyProfile::Simple, ..plain() };
    let told = tell(&settings, denied(1_200, &violated), "ann");
    assert_eq!(told.answer.body.as_ref().unwrap().0, "application/json");
    assert_eq!(
        told.json(),
        json!({
            "error": "token_bucket_exceeded",
            "message": "Rule `free-users` has 0 of 50 left. Retry in 1200 ms.",
            "retryAfter": 2,
            "retry_after_ms": 1200,
            "violated_tier": "user",
        })
    );
    let never = tell(&settings, Outcome::Never { violated: &violated }, "ann").json();
    assert_eq!((never.get("retryAfter"), never.get("retry_after_ms")), (None, None));
}

#[test]
fn a_crowded_table_is_told_apart() {
    let wait = Span::from_millis(300);
    let outcome = Outcome::Denied { wait, cause: Cause::TableFull(BucketSet::FIRST), violated: &[] };
    let told = tell(&plain(), outcome, "ann");
    assert_eq!((told.status(), told.retry_after_s()), (429, Some(1)));
    assert_eq!(told.header("Tollgate-Reason"), Some("table_full"));
    assert_eq!(
        (told.json()["retry_after_ms"].as_u64(), told.json()["violated"].clone()),
        (Some(300), json!([]))
    );
}

#[test]
fn the_body_says_what_the_verdict_rests_on() {
    let (limit, settings) = (bucket(1, 5), plain());
    let standing = Standing::new("r", "ip", limit, Tokens::ZERO, NOW);
    let violated = [Violation::new(standing, Span::from_secs(1))];
    for (mode, name) in
        [(StoreMode::Exact, "exact"), (StoreMode::Leased, "leased"), (StoreMode::Fallback, "fallback")]
    {
        let answer = Answering::new(&settings, denied(1_000, &violated), b"ann", NOW).in_mode(mode).render();
        assert!(answer.body.unwrap().1.contains(&format!(r#""mode":"{name}""#)));
    }
}
