//! P2, P4, P5, P8, X2: who meets which bucket.

use serde_json::json;
use tollgate::policy::{Claims, Facts};

use crate::world::{World, by_user, from_address, violated};

const PER_ADDRESS: &str = r#"[{"name": "per-address", "limit_keys": ["ip:address"], "algorithm": "token_bucket",
  "algorithm_config": {"rps": 5, "burst": 10}}]"#;

const PLANS: &str = r#"[
  {"name": "enterprise", "limit_keys": ["header:x-api-key"], "match": {"jwt:plan": "enterprise"},
   "algorithm": "token_bucket", "algorithm_config": {"tokens_per_second": 1000, "burst": 2000}},
  {"name": "free", "limit_keys": ["header:x-api-key"],
   "algorithm": "token_bucket", "algorithm_config": {"tokens_per_second": 10, "burst": 20}}]"#;

const SCOPES: &str = "
rules:
  - {name: free, scope: user, plan: free, rate: 10/s, burst: 50}
  - {name: pro, scope: user, plan: pro, rate: 100/s, burst: 500}
  - {name: search, scope: endpoint, path: /api/search, rate: 1000/s, burst: 2000}
  - {name: everything, scope: global, rate: 50000/s, burst: 100000}
";

fn api_key(key: &str) -> Vec<(String, String)> {
    vec![("X-Api-Key".to_owned(), key.to_owned())]
}

#[test]
fn five_per_second_and_ten_at_once_for_each_address() {
    let world = World::of(PER_ADDRESS);
    assert_eq!(world.admitted(20, &from_address(1)), 10);
    assert_eq!(world.admitted(20, &from_address(2)), 10);
    world.pass(1_000);
    assert_eq!(world.admitted(20, &from_address(1)), 5);
}

#[test]
fn an_enterprise_key_bursts_2000_and_a_free_key_20() {
    let world = World::of(PLANS);
    let (theirs, ours, claims) = (api_key("big"), api_key("small"), json!({"plan": "enterprise"}));
    let big = Facts { headers: &theirs, claims: Claims::Verified(&claims), ..Facts::new("GET", "/") };
    let small = Facts { headers: &ours, ..Facts::new("GET", "/") };
    assert_eq!(world.admitted(3_000, &big), 2_000);
    assert_eq!(world.admitted(3_000, &small), 20);
    let forged = Facts { claims: Claims::Unverified(&claims), ..small };
    assert_eq!(world.admitted(3_000, &forged), 0, "a claim that nobody verified buys nothing");
}

#[test]
fn whoever_leaves_the_key_out_shares_one_bucket() {
    let world = World::of(PLANS);
    assert_eq!(world.admitted(30, &from_address(1)), 20);
    assert_eq!(world.admitted(30, &from_address(2)), 0);
}

#[test]
fn a_free_user_who_searches_touches_user_endpoint_and_global() {
    let world = World::of(SCOPES);
    let rules =
        |facts: &Facts<'_>| world.check(facts).rules().map(|rule| rule.name.to_string()).collect::<Vec<_>>();
    assert_eq!(rules(&by_user("ann", "free", "/api/search")), ["free", "search", "everything"]);
    assert_eq!(rules(&by_user("bob", "pro", "/api/other")), ["pro", "everything"]);
    assert_eq!(world.admitted(100, &by_user("cid", "free", "/api/search")), 50);
    assert_eq!(world.admitted(1_000, &by_user("dan", "pro", "/api/other")), 500);
}

#[test]
fn when_the_user_is_denied_global_is_unchanged_and_the_other_way_round() {
    let policy = "
rules:
  - {name: user, scope: user, rate: 1/s, burst: 3}
  - {name: all, scope: global, rate: 1/s, burst: 5}
";
    let world = World::of(policy);
    let (ann, bob) = (by_user("ann", "", "/"), by_user("bob", "", "/"));
    assert_eq!(world.admitted(100, &ann), 3);
    let denied = world.check(&ann);
    assert_eq!(violated(&denied), ["user"]);
    let held = |facts: &Facts<'_>| {
        let decision = world.limiter.peek(facts);
        world.limiter.balances(&decision).map(tollgate::Tokens::as_micros).collect::<Vec<_>>()
    };
    assert_eq!(held(&ann), [0, 2_000_000], "97 denials took nothing from the global bucket");
    assert_eq!(world.admitted(2, &bob), 2);
    assert_eq!(violated(&world.check(&bob)), ["all"]);
    assert_eq!(held(&bob), [1_000_000, 0], "and the global denials nothing from bob's");
}

#[test]
fn a_password_reset_is_five_then_one_in_333_seconds_and_does_not_forget() {
    let world = World::of("{name: reset, scope: ip, preset: password-reset}");
    assert_eq!(world.admitted(20, &from_address(1)), 5);
    world.pass(333_000);
    assert_eq!(world.admitted(20, &from_address(1)), 0, "0.999 tokens");
    world.pass(334);
    assert_eq!(world.admitted(20, &from_address(1)), 1);
    world.pass(20 * 60 * 1_000);
    assert_eq!(world.admitted(20, &from_address(1)), 3, "twenty minutes mint 3.6");
}

#[test]
fn a_flood_from_one_prefix_or_of_one_make_meets_one_bucket() {
    let world =
        World::of("{name: network, scope: network, limit_keys: ['ip:prefix/16,48'], rate: 1/s, burst: 100}");
    let flood = (0..10_000_u32).filter(|n| {
        let [_, _, third, fourth] = n.to_be_bytes();
        let address = [10, 0, third, fourth];
        world.check(&Facts { address: Some(address.into()), ..Facts::new("GET", "/") }).is_admitted()
    });
    assert_eq!(flood.count(), 100);

    let world = World::of("{name: make, scope: network, limit_keys: [fingerprint], rate: 1/s, burst: 100}");
    let headers = |n: u32| {
        vec![("User-Agent".to_owned(), format!("tool/{n}")), ("Accept".to_owned(), "*/*".to_owned())]
    };
    let flood = (0..10_000_u32).filter(|n| {
        let headers = headers(*n);
        let address = Some(std::net::Ipv4Addr::from(*n).into());
        world.check(&Facts { address, headers: &headers, ..Facts::new("GET", "/") }).is_admitted()
    });
    assert_eq!(flood.count(), 100);
}
