//! What happens to a charge when the response is there: refunds, true costs, places.

use tollgate::policy::Facts;

use crate::world::{World, from_address, violated};

#[test]
fn a_place_is_held_until_the_decision_is_dropped() {
    let world = World::of(
        "
rules:
  - name: reports
    scope: ip
    algorithm: concurrency
    algorithm_config: {places: 2, timeout: 60s}
",
    );
    let (first, second) = (world.check(&from_address(1)), world.check(&from_address(1)));
    assert!(first.is_admitted() && second.is_admitted());
    assert!(!world.check(&from_address(1)).is_admitted());
    drop(first);
    assert!(world.check(&from_address(1)).is_admitted());
}

#[test]
fn a_refund_is_for_the_statuses_that_the_rule_names() {
    let world = World::of("{name: a, scope: ip, rate: 1/h, burst: 1, refund_on: [503, 304]}");
    for (status, again) in [(503, true), (304, true), (200, false)] {
        let decision = world.check(&from_address(1));
        assert!(decision.is_admitted(), "before {status}");
        world.limiter.settle(&decision, status, |_| None);
        assert_eq!(world.limiter.peek(&from_address(1)).is_admitted(), again, "after {status}");
    }
    let looked = world.limiter.peek(&from_address(2));
    assert_eq!(world.admitted(1, &from_address(2)), 1);
    world.limiter.settle(&looked, 503, |_| None);
    assert!(!world.limiter.peek(&from_address(2)).is_admitted(), "nor what only looked");
    let denied = world.check(&from_address(1));
    world.limiter.settle(&denied, 503, |_| None);
    assert!(!world.limiter.peek(&from_address(1)).is_admitted(), "what took nothing gets nothing back");
}

#[test]
fn a_refund_is_given_once() {
    let world = World::of("{name: a, scope: global, rate: 1/h, burst: 3, refund_on: [503]}");
    let decision = world.check(&from_address(1));
    assert_eq!(world.admitted(5, &from_address(2)), 2);
    for _ in 0..3 {
        world.limiter.settle(&decision, 503, |_| None);
    }
    assert_eq!(world.admitted(5, &from_address(2)), 1);
}

#[test]
fn an_estimate_is_corrected_to_what_the_response_says() {
    let policy = "
rules:
  - name: tokens
    scope: ip
    algorithm_config: {rps: 1, burst: 1000, cost_source: 'header:x-estimate', default_cost: 100, max_cost: 500}
    settle_header: x-tokens-used
";
    let world = World::of(policy);
    let left = |world: &World| {
        let decision = world.limiter.peek(&from_address(1));
        world.limiter.balances(&decision).next().map(tollgate::Tokens::whole)
    };
    let estimate = vec![("X-Estimate".to_owned(), "300".to_owned())];
    let facts = Facts { headers: &estimate, ..from_address(1) };
    let decision = world.check(&facts);
    assert_eq!(left(&world), Some(700));
    world.limiter.settle(&decision, 200, |name| (name == "x-tokens-used").then_some("120"));
    assert_eq!(left(&world), Some(880));
    drop(decision);
    assert_eq!(left(&world), Some(880), "settled once");

    drop(world.check(&facts));
    assert_eq!(left(&world), Some(580), "whoever never hears of the response has paid the estimate");
    let decision = world.check(&facts);
    world.limiter.settle(&decision, 200, |_| Some("a lot"));
    assert_eq!(left(&world), Some(280), "what is no number leaves the estimate as it is");
}

#[test]
fn a_place_beside_an_estimate_stays_taken_when_the_estimate_is_settled() {
    let world = World::of(
        "
rules:
  - {name: places, scope: global, algorithm: concurrency, places: 1, timeout: 60s}
  - {name: tokens, scope: global, rate: 1/h, burst: 100, default_cost: 40, settle_header: x-used}
",
    );
    let streaming = world.check(&from_address(1));
    assert!(streaming.is_admitted());
    world.limiter.settle(&streaming, 200, |_| Some("10"));
    let balances: Vec<u64> = world.limiter.balances(&streaming).map(tollgate::Tokens::whole).collect();
    assert_eq!(balances, [0, 90], "the tokens are corrected, the place is taken");
    assert_eq!(violated(&world.check(&from_address(2))), ["places"], "its body is still on the way");
    drop(streaming);
    assert!(world.check(&from_address(2)).is_admitted());
}

#[test]
fn a_shadow_rule_gives_places_back_refunds_and_settles_as_if_it_were_enforced() {
    let shadow = |rule: &str| World::of(&format!("{{rules: [{{mode: shadow, scope: global, {rule}}}]}}"));
    let would_deny = |world: &World| world.limiter.rule_stats(0).shadow_denied;

    let world = shadow("name: places, algorithm: concurrency, places: 1, timeout: 60s");
    let first = world.check(&from_address(1));
    assert!(first.awaits_response() && world.check(&from_address(2)).is_admitted());
    assert_eq!(would_deny(&world), 1, "one was at work");
    drop(first);
    assert!(world.check(&from_address(3)).is_admitted());
    assert_eq!(would_deny(&world), 1, "nobody was");

    let world = shadow("name: failures, rate: 1/h, burst: 1, refund_on: [200]");
    for (status, denied) in [(200, 0), (200, 0), (401, 0), (200, 1)] {
        let decision = world.check(&from_address(1));
        world.limiter.settle(&decision, status, |_| None);
        assert_eq!(would_deny(&world), denied);
    }

    let world = shadow("name: tokens, rate: 1/h, burst: 100, default_cost: 60, settle_header: x-used");
    for (used, denied) in [("10", 0), ("20", 0), ("70", 0), ("1", 1)] {
        let decision = world.check(&from_address(1));
        world.limiter.settle(&decision, 200, |_| Some(used));
        assert_eq!(would_deny(&world), denied, "{used}");
    }
}

#[test]
fn a_request_that_is_denied_anyway_costs_a_shadow_rule_nothing() {
    let world = World::of(
        "
rules:
  - {name: watched, scope: global, rate: 1/h, burst: 3, mode: shadow}
  - {name: enforced, scope: ip, rate: 1/h, burst: 1}
",
    );
    assert_eq!(world.admitted(10, &from_address(1)), 1);
    assert_eq!(world.limiter.rule_stats(0).shadow_denied, 0);
    assert_eq!((world.admitted(1, &from_address(2)), world.admitted(1, &from_address(3))), (1, 1));
    assert_eq!(world.limiter.rule_stats(0).shadow_denied, 0, "three were admitted");
    assert_eq!(world.admitted(1, &from_address(4)), 1);
    assert_eq!(world.limiter.rule_stats(0).shadow_denied, 1);
}
