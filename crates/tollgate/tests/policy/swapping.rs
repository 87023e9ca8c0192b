//! A9, P10: another policy is put in force, and every balance stays.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::world::{World, from_address, parse};

#[test]
fn a_swap_keeps_every_balance() {
    let world = World::of("{name: api, scope: ip, rate: 1/s, burst: 10}");
    assert_eq!(world.admitted(7, &from_address(1)), 7);
    world.limiter.swap(parse("{name: api, scope: ip, rate: 2/s, burst: 5000}")).unwrap();
    assert_eq!(world.admitted(100, &from_address(1)), 3, "room to refill into, not tokens");
    world.pass(1_000);
    assert_eq!(world.admitted(100, &from_address(1)), 2, "at the new rate from now on");
    world.limiter.swap(parse("{name: api, scope: ip, rate: 2/s, burst: 1}")).unwrap();
    assert_eq!(world.admitted(100, &from_address(2)), 1, "a smaller burst clamps");
}

#[test]
fn a_rule_that_comes_back_finds_its_buckets() {
    let world = World::of("{name: api, scope: ip, rate: 1/h, burst: 2}");
    assert_eq!(world.admitted(5, &from_address(1)), 2);
    world.limiter.swap(parse("{name: other, scope: ip, rate: 1/h, burst: 1}")).unwrap();
    assert_eq!(world.admitted(5, &from_address(1)), 1);
    world.limiter.swap(parse("{name: api, scope: ip, rate: 1/h, burst: 2}")).unwrap();
    assert_eq!(world.admitted(5, &from_address(1)), 0);
}

#[test]
fn another_algorithm_or_window_starts_anew_and_is_never_refused() {
    let world = World::of("{name: api, scope: ip, rate: 1/h, burst: 2}");
    let window = |length| {
        format!(
            "{{name: api, scope: ip, algorithm: sliding_window, algorithm_config: {{quota: 2, window: {length}}}}}"
        )
    };
    assert_eq!(world.admitted(5, &from_address(1)), 2);
    for policy in [window("1h"), window("2h")] {
        world.limiter.swap(parse(&policy)).unwrap();
        assert_eq!(world.admitted(5, &from_address(1)), 2);
    }
    world.limiter.swap(parse(&window("1h"))).unwrap();
    assert_eq!(world.admitted(5, &from_address(1)), 0, "what it had before means something again");
}

#[test]
fn whoever_checks_while_policies_are_swapped_gains_nothing() {
    let policies =
        ["{name: api, scope: ip, rate: 1/h, burst: 100}", "[{name: api, scope: ip, rate: 2/h, burst: 100}]"];
    let world = World::of(policies[0]);
    let (admitted, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    admitted.fetch_add(world.admitted(10, &from_address(1)), Ordering::Relaxed);
                }
            });
        }
        for swap in 0..2_000 {
            world.limiter.swap(parse(policies[swap % 2])).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(admitted.into_inner(), 100);
}

#[test]
fn a_request_that_a_swap_overtakes_is_told_no_more_than_its_own_policy_allows() {
    let world = World::of("{name: a, scope: ip, rate: 10/s, burst: 10}");
    let before = world.limiter.policy();
    world.limiter.swap(parse("{name: a, scope: ip, rate: 10/s, burst: 100}")).unwrap();
    assert!(world.check(&from_address(1)).is_admitted());
    world.pass(60_000);
    let decision = before.check(&from_address(1));
    let mut fields = Vec::new();
    world.limiter.each_header_of_admission(&decision, |name, value| fields.push(format!("{name}: {value}")));
    assert_eq!(fields, [r#"RateLimit-Policy: "a";q=10;w=1"#, r#"RateLimit: "a";r=10;t=0"#]);
}
