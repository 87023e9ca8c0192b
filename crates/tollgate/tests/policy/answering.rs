//! What a decision is told to its client, with the policy's own settings and true figures.

use serde_json::Value;
use tollgate::Answer;
use tollgate::policy::Facts;

use crate::world::{World, from_address};

fn answer(world: &World, facts: &Facts<'_>) -> Answer {
    let decision = world.check(facts);
    world.limiter.answer(&decision, |answering| answering.render())
}

fn field<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.iter().find(|(field, _)| **field == *name).map(|(_, value)| &**value)
}

fn body(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body.as_ref().unwrap().1).unwrap()
}

#[test]
fn an_admission_tells_of_the_tightest_bucket_and_when_it_is_full() {
    let world = World::of(
        "
rules:
  - {name: wide, scope: global, rate: 1/s, burst: 100}
  - {name: narrow, scope: ip, rate: 2/s, burst: 10}
",
    );
    let told = answer(&world, &from_address(1));
    assert_eq!(told.status, 200);
    assert_eq!(field(&told, "RateLimit-Policy"), Some(r#""narrow";q=10;w=5"#));
    assert_eq!(field(&told, "RateLimit"), Some(r#""narrow";r=9;t=1"#));
    assert_eq!(told.body, None);
}

#[test]
fn the_fast_way_to_tell_of_an_admission_tells_the_same() {
    let rules = [
        "{name: 'the one', scope: ip, rate: 3/h, burst: 10}",
        "{name: half, scope: ip, rate: 0.5/s, burst: 2.5}",
        "{name: queue, scope: ip, algorithm: leaky_bucket, rate: 1/s, queue: 100}",
        "{name: window, scope: ip, algorithm: fixed_window, quota: 100, window: 1d}",
        "{name: log, scope: ip, algorithm: sliding_window, variant: log, quota: 100, window: 60s}",
        "{name: a, scope: ip, rate: 1/s, burst: 100}, {name: b, scope: global, rate: 1/s, burst: 50}",
        "{name: free, action: allow, match: {path: /}}",
    ];
    for headers in ["draft", "legacy", "x", "[draft, x]", "none"] {
        for rules in rules {
            let world = World::of(&format!("{{answers: {{headers: {headers}}}, rules: [{rules}]}}"));
            for _ in 0..2 {
                let decision = world.check(&from_address(1));
                assert!(decision.is_admitted());
                let (mut fast, mut full) = (Vec::new(), Vec::new());
                let field = |name: &str, value: &str| format!("{name}: {value}");
                world
                    .limiter
                    .each_header_of_admission(&decision, |name, value| fast.push(field(name, value)));
                world.limiter.answer(&decision, |answering| {
                    answering.each_header(|name, value| full.push(field(name, value)));
                });
                assert_eq!(fast, full, "{headers} {rules}");
                world.pass(700);
            }
        }
    }
}

#[test]
fn a_denial_names_every_rule_that_denied_and_how_long_each_would_have_it_wait() {
    let world = World::of(
        "
answers: {jitter_percent: 0}
rules:
  - {name: slow, scope: global, rate: 1/m, burst: 1}
  - {name: fast, scope: ip, rate: 1/s, burst: 1}
  - {name: idle, scope: user, rate: 1/s, burst: 9}
",
    );
    assert_eq!(answer(&world, &from_address(1)).status, 200);
    let told = answer(&world, &from_address(1));
    assert_eq!(told.status, 429);
    assert_eq!(field(&told, "Retry-After"), Some("60"));
    assert_eq!(field(&told, "Tollgate-Reason"), Some("token_bucket_exceeded"));
    let body = body(&told);
    assert_eq!(body["retry_after_ms"], 60_000);
    let violated: Vec<_> = body["violated"].as_array().unwrap().iter().collect();
    assert_eq!(violated.len(), 2);
    assert_eq!((&violated[0]["rule"], &violated[0]["retry_after_ms"]), (&"slow".into(), &60_000.into()));
    assert_eq!((&violated[1]["rule"], &violated[1]["retry_after_ms"]), (&"fast".into(), &1_000.into()));
}

#[test]
fn a_cost_above_the_burst_is_never_and_says_so() {
    let policy = |max_cost: u32| {
        format!(
            "{{name: a, scope: ip, algorithm_config: {{rps: 1, burst: 5, cost_source: 'header:x-cost', max_cost: {max_cost}}}}}"
        )
    };
    let dear = vec![("X-Cost".to_owned(), "1000000".to_owned())];
    let facts = Facts { headers: &dear, ..from_address(1) };
    let told = answer(&World::of(&policy(100)), &facts);
    assert_eq!(told.status, 429);
    assert_eq!(field(&told, "Tollgate-Reason"), Some("cost_exceeds_burst"));
    assert_eq!(field(&told, "Retry-After"), None, "waiting does not help");
    assert_eq!(body(&told).get("retry_after_ms"), None);

    let world = World::of(&policy(5));
    assert_eq!(answer(&world, &facts).status, 200, "clamped to `max_cost`, it empties the bucket");
    let told = answer(&world, &facts);
    assert_eq!(told.status, 429);
    assert!(field(&told, "Retry-After").is_some(), "waiting helps");
}

#[test]
fn a_kill_switch_says_why_and_when_it_ends() {
    let world = World::of(
        "
answers: {jitter_percent: 0}
rules: [{name: each, scope: ip, rate: 1/s, burst: 9}]
kill_switches:
  - {name: stop, match: {path: /upload}, reason: the disk is full, until: '2027-01-15T08:00:30Z'}
",
    );
    let told = answer(&world, &Facts::new("POST", "/upload"));
    assert_eq!((told.status, field(&told, "Retry-After")), (503, Some("30")));
    assert_eq!(field(&told, "Tollgate-Reason"), Some("kill_switch"));
    assert!(body(&told)["detail"].as_str().unwrap().contains("the disk is full"));
}

#[test]
fn a_rule_that_only_watches_is_never_told_of() {
    let world = World::of("{name: watched, scope: ip, rate: 1/h, burst: 1, mode: shadow}");
    for _ in 0..5 {
        let told = answer(&world, &from_address(1));
        assert_eq!((told.status, told.headers.len()), (200, 0));
    }
}

#[test]
fn a_sliding_window_tells_when_it_is_full_again_and_not_its_length() {
    let world = World::of(
        "{name: w, scope: ip, algorithm: sliding_window, algorithm_config: {variant: log, quota: 5, window: 60s}}",
    );
    assert_eq!(field(&answer(&world, &from_address(1)), "RateLimit"), Some(r#""w";r=4;t=60"#));
    world.pass(50_000);
    let decision = world.limiter.peek(&from_address(1));
    let standing = world.limiter.standings(&decision).next().unwrap();
    assert_eq!(standing.full_in().map(tollgate::Span::as_nanos), Some(10_000_000_000));
}

#[test]
fn clients_that_share_a_bucket_are_sent_away_for_different_times() {
    for rule in [
        "{name: all, scope: global, rate: 1/m, burst: 1}",
        "{name: net, limit_keys: ['ip:prefix/24'], rate: 1/m, burst: 1}",
        "{name: route, scope: endpoint, path: /, rate: 1/m, burst: 1}",
    ] {
        let world = World::of(&format!("{{rules: [{rule}]}}"));
        assert!(world.check(&from_address(0)).is_admitted());
        let mut told = std::collections::BTreeMap::new();
        for client in 1..=250 {
            let answer = answer(&world, &from_address(client));
            assert_eq!(
                field(&answer, "Retry-After"),
                field(&self::answer(&world, &from_address(client)), "Retry-After")
            );
            let seconds: u64 = field(&answer, "Retry-After").unwrap().parse().unwrap();
            *told.entry(seconds).or_insert(0) += 1;
        }
        assert!(told.keys().all(|seconds| (60..=90).contains(seconds)), "{rule} {told:?}");
        assert!(told.len() > 20 && told.values().all(|clients| *clients < 150), "{rule} {told:?}");
    }
}

#[test]
fn of_two_buckets_with_as_much_left_the_slower_is_told() {
    let world = World::of(
        "
rules:
  - {name: fast, scope: ip, rate: 10/s, burst: 10}
  - {name: slow, scope: ip, rate: 1/h, burst: 10}
",
    );
    assert_eq!(field(&answer(&world, &from_address(1)), "RateLimit"), Some(r#""slow";r=9;t=3600"#));
}

#[test]
fn a_denial_that_is_told_late_is_told_as_it_was_decided() {
    let world = World::of("{name: slow, scope: ip, rate: 1/m, burst: 1}");
    assert!(world.check(&from_address(1)).is_admitted());
    let denied = world.check(&from_address(1));
    world.pass(7);
    let answer = world.limiter.answer(&denied, |answering| answering.render());
    assert_eq!(body(&answer)["retry_after_ms"], 60_000);
    assert_eq!(body(&answer)["violated"][0]["retry_after_ms"], 60_000);
}
