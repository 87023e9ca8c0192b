//! What happens to a charge when the response is there: refunds, true costs, places.

use tollgate::policy::Facts;

use crate::world::{World, from_address};

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
