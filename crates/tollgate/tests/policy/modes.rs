//! P7: shadow, off, roll-out, allow, block and kill switches.

use tollgate::policy::{Facts, Policy};
use tollgate::{Limiter, Refused, TableFull};

use crate::world::{World, from_address, parse};

#[test]
fn a_shadow_rule_denies_nobody_and_is_counted() {
    let world = World::of(
        "
rules:
  - {name: watched, scope: ip, rate: 1/s, burst: 2, mode: shadow}
  - {name: enforced, scope: ip, rate: 1/s, burst: 5}
",
    );
    assert_eq!(world.admitted(10, &from_address(1)), 5);
    assert_eq!(world.limiter.rule_stats(0).shadow_denied, 8, "it sees all ten, in buckets of its own");
    assert_eq!(world.limiter.rule_stats(0).denied, 0);
    assert_eq!(world.limiter.rule_stats(1).denied, 5);
    assert!(world.check(&from_address(1)).rules().all(|rule| &*rule.name == "enforced"));
}

#[test]
fn a_policy_in_shadow_enforces_nothing_and_one_that_is_off_does_nothing() {
    for mode in ["shadow", "off"] {
        let world =
            World::of(&format!("{{mode: {mode}, rules: [{{name: a, scope: ip, rate: 1/s, burst: 1}}]}}"));
        assert_eq!(world.admitted(10, &from_address(1)), 10);
        let watched = if mode == "shadow" { 9 } else { 0 };
        assert_eq!(world.limiter.rule_stats(0).shadow_denied, watched);
    }
}

#[test]
fn a_roll_out_enforces_for_the_same_part_of_the_clients_every_time() {
    let world = World::of("{name: a, scope: ip, rate: 1/h, burst: 1, rollout_percent: 10}");
    let address =
        |n: u32| Facts { address: Some(std::net::Ipv4Addr::from(n).into()), ..Facts::new("GET", "/") };
    let enforced: Vec<u32> = (0..5_000).filter(|n| world.admitted(3, &address(*n)) == 1).collect();
    assert!((400..600).contains(&enforced.len()), "{} of 5,000", enforced.len());
    assert!(enforced.iter().all(|n| world.admitted(1, &address(*n)) == 0), "they stay denied");
}

#[test]
fn block_beats_allow_beats_limits() {
    let world = World::of(
        "
rules:
  - {name: ours, action: allow, match: {'ip:address': {cidr: [192.0.2.0/30]}}}
  - {name: banned, action: block, match: {'ip:address': 192.0.2.1}}
  - {name: each, scope: ip, rate: 1/h, burst: 1}
",
    );
    assert_eq!(world.admitted(10, &from_address(2)), 10, "allowed");
    assert_eq!(world.admitted(10, &from_address(9)), 1, "limited");
    let blocked = world.check(&from_address(1));
    assert!(!blocked.is_admitted());
    assert_eq!(blocked.refused(), Some(Refused::Blocked { rule: 1 }));
    assert_eq!(blocked.retry_after(), None, "waiting does not help");
}

#[test]
fn a_key_that_is_missing_is_refused_where_the_rule_says_so() {
    let world =
        World::of("{name: keyed, limit_keys: ['header:x-api-key'], missing: deny, rate: 1/s, burst: 5}");
    assert_eq!(world.check(&from_address(1)).refused(), Some(Refused::KeyMissing { rule: 0 }));
    let world =
        World::of("{name: keyed, limit_keys: ['header:x-api-key'], missing: skip, rate: 1/s, burst: 5}");
    assert_eq!(world.admitted(10, &from_address(1)), 10);
}

#[test]
fn a_kill_switch_refuses_until_it_expires() {
    let world = World::of(
        "
rules: [{name: each, scope: ip, rate: 1/h, burst: 2}]
kill_switches:
  - {name: stop-uploads, match: {path: /upload}, reason: the disk is full, until: '2027-01-15T08:00:10Z'}
",
    );
    let upload = Facts { address: Some([192, 0, 2, 1].into()), ..Facts::new("POST", "/upload") };
    assert_eq!(world.check(&upload).refused(), Some(Refused::Killed { switch: 0 }));
    assert!(world.check(&from_address(1)).is_admitted(), "others go on");
    world.pass(10_000);
    assert!(world.check(&upload).is_admitted(), "it was charged nothing while it was refused");
}

#[test]
fn the_longest_name_that_a_policy_may_have_can_be_put_in_force() {
    let policy = |length: usize, mode: &str| {
        format!("{{name: {}, scope: ip, rate: 1/s, burst: 1, mode: {mode}}}", "n".repeat(length))
    };
    let longest = (1..200).rev().find(|length| Policy::parse("p", &policy(*length, "enforce")).is_ok());
    for mode in ["enforce", "shadow"] {
        assert!(World::of(&policy(longest.unwrap(), mode)).check(&from_address(1)).is_admitted());
    }
}

#[test]
fn a_shadow_shares_its_buckets_with_no_rule_whatever_that_is_called() {
    for name in ["shadow api", "api shadow-0", "shadow-api", "api shadow-"] {
        let world = World::of(&format!(
            "
rules:
  - {{name: '{name}', scope: global, rate: 1/h, burst: 100}}
  - {{name: api, scope: global, rate: 1/h, burst: 2, mode: shadow}}
"
        ));
        assert_eq!(world.admitted(50, &from_address(1)), 50, "{name}");
        assert_eq!(world.limiter.rule_stats(1).shadow_denied, 48, "{name}");
    }
}

#[test]
fn a_shadow_rule_takes_no_room_from_rules_that_are_enforced() {
    let policy = "
rules:
  - {name: watched, limit_keys: ['query:x'], path: /y, rate: 1/h, burst: 1, mode: shadow}
  - {name: enforced, scope: ip, path: /, rate: 1/h, burst: 1}
";
    for table_full in [TableFull::Inherit, TableFull::DenyNew, TableFull::SharedOverflow] {
        let limiter =
            Limiter::builder().keys_max(256).table_full(table_full).build_with_policy(parse(policy)).unwrap();
        for value in 0..4_000 {
            assert!(limiter.check(&Facts::new("GET", &format!("/y?x={value}"))).is_admitted());
        }
        assert!((1..=100).all(|client| limiter.check(&from_address(client)).is_admitted()), "{table_full:?}");
    }
}
