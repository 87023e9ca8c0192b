//! O2: buckets by the names of their rules and keys, looked at, filled, and given tokens. In memory nothing is waited for.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tollgate::policy::{Facts, RuleBook};
use tollgate::{BucketError, Cost, Decision, Limiter, NamedBucket, NamedBuckets, NoBuckets, Span, StoreMode};

use crate::world::{World, from_address, parse};

/// Five of everything; every algorithm that a policy can name.
const FIVE: [(&str, &str); 6] = [
    ("token_bucket", "rate: 1/s, burst: 5"),
    ("leaky_bucket", "algorithm: leaky_bucket, rate: 1/s, queue: 5"),
    ("fixed_window", "algorithm: fixed_window, quota: 5, window: 1m"),
    ("sliding_window log", "algorithm: sliding_window, quota: 5, window: 1m"),
    ("sliding_window counter", "algorithm: sliding_window, quota: 5, window: 1m, variant: counter"),
    ("concurrency", "algorithm: concurrency, places: 5, timeout: 1m"),
];

/// What in memory is there at once.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(told) => told,
        Poll::Pending => panic!("nothing is waited for in memory"),
    }
}

/// The key of a request under the first rule of the policy that it meets.
fn key_of(policy: &str, facts: &Facts<'_>) -> Vec<u8> {
    let mut key = None;
    RuleBook::new(parse(policy)).rule_on(facts, 0, |hit| key = key.take().or(Some(hit.key.to_vec())));
    key.unwrap()
}

/// A policy of one rule, and the buckets of one of its clients.
fn world_of(limit: &str) -> (World, NamedBuckets) {
    let policy = format!("{{name: client, scope: ip, {limit}}}");
    let world = World::of(&policy);
    let buckets = world.limiter.buckets("client", &key_of(&policy, &from_address(1))).unwrap();
    (world, buckets)
}

/// Takes all that the client has; what it holds of places is held until this is dropped.
fn spend_all(world: &World) -> Vec<Decision> {
    let taken: Vec<Decision> =
        (0..9).map(|_| world.check(&from_address(1))).filter(Decision::is_admitted).collect();
    assert_eq!(taken.len(), 5);
    taken
}

#[test]
fn a_bucket_is_seen_as_it_stands_under_every_algorithm() {
    for (name, limit) in FIVE {
        let (world, buckets) = world_of(limit);
        let look = |cost| at_once(buckets.look(cost)).unwrap();
        let fresh = look(Cost::ONE);
        assert_eq!((fresh.limit.name(), fresh.balance, fresh.exists()), (name, fresh.limit.full(), false));
        assert_eq!((fresh.next_admit, fresh.full_in), (Some(Span::ZERO), Span::ZERO), "{name}");
        assert_eq!((look(Cost::tokens(6)).next_admit, fresh.mode), (None, StoreMode::Exact), "{name}");

        let held = spend_all(&world);
        let spent = look(Cost::ONE);
        assert!(spent.balance.whole() == 0 && spent.exists(), "{name}: {spent:?}");
        let denied = world.check(&from_address(1)).retry_after();
        assert_eq!(spent.next_admit.map(Into::into), denied, "{name}");
        assert_eq!(look(Cost::ONE), spent, "{name}: looking changes nothing");
        let (full_in, before) = (spent.full_in.as_nanos(), world.clock.now());
        world.clock.set(before + Span::from_nanos(full_in - 1));
        assert!(look(Cost::ONE).exists(), "{name}: a nanosecond before {}", spent.full_in);
        world.clock.set(before + spent.full_in);
        assert!(!look(Cost::ONE).exists(), "{name}: full in {}", spent.full_in);
        drop(held);
    }
}

#[test]
fn a_bucket_is_filled_and_given_tokens_under_every_algorithm_that_can() {
    for (name, limit) in FIVE {
        let (world, buckets) = world_of(limit);
        let held = spend_all(&world);
        let granted = at_once(buckets.grant(Cost::tokens(2)));
        if let "leaky_bucket" | "concurrency" = name {
            assert_eq!(granted, Err(BucketError::CannotGrant { algorithm: name }));
        } else {
            assert_eq!(granted.unwrap().balance.whole(), 2, "{name}");
            assert_eq!(world.admitted(5, &from_address(1)), 2, "{name}");
            let most = at_once(buckets.grant(Cost::tokens(100))).unwrap();
            assert_eq!(most.given.whole(), 5, "{name}: no fuller than full");
            assert_eq!(at_once(buckets.grant(Cost::micros(0))), Err(BucketError::ZeroGrant));
            spend_all(&world);
        }
        let filled = at_once(buckets.reset()).unwrap();
        assert_eq!(filled.balance.whole(), 5, "{name}");
        assert!(!at_once(buckets.look(Cost::ONE)).unwrap().exists(), "{name}");
        assert_eq!(spend_all(&world).len(), 5, "{name}");
        drop(held);
    }
}

#[test]
fn others_of_the_rule_are_left_alone() {
    let (world, buckets) = world_of("rate: 1/h, burst: 5");
    assert_eq!((world.admitted(9, &from_address(1)), world.admitted(9, &from_address(2))), (5, 5));
    at_once(buckets.reset()).unwrap();
    assert_eq!((world.admitted(9, &from_address(1)), world.admitted(9, &from_address(2))), (5, 0));
}

#[test]
fn a_rule_that_only_watches_has_a_shadow_and_one_that_is_rolled_out_has_both() {
    let (world, buckets) = world_of("rate: 1/h, burst: 5, mode: shadow");
    assert!(buckets.enforced().is_none() && buckets.shadow().is_some_and(NamedBucket::is_shadow));
    assert_eq!(world.admitted(9, &from_address(1)), 9);
    assert_eq!(at_once(buckets.look(Cost::ONE)).unwrap().balance.whole(), 0);
    at_once(buckets.reset()).unwrap();
    assert_eq!(world.admitted(9, &from_address(1)), 9);
    assert_eq!(world.limiter.rule_stats(0).shadow_denied, 8);

    let (world, buckets) = world_of("rate: 1/h, burst: 5, rollout_percent: 50");
    for client in 1..9 {
        let _ = world.admitted(9, &from_address(client));
    }
    let held = buckets.iter().map(|bucket| at_once(bucket.look(Cost::ONE)).unwrap().balance.whole());
    let mut held: Vec<u64> = held.collect();
    held.sort_unstable();
    assert_eq!(held, [0, 5], "the client is charged in one of them");
    assert!(buckets.enforced().is_some() && buckets.shadow().is_some());

    let (_, buckets) = world_of("rate: 1/h, burst: 5");
    assert!(buckets.enforced().is_some() && buckets.shadow().is_none());
}

#[test]
fn what_names_no_bucket_says_why() {
    let policy = "{rules: [{name: bad, action: block, match: {user: mallory}}, \
                  {name: client, scope: ip, rate: 1/s, burst: 5, mode: off}, \
                  {name: all, scope: global, rate: 1/s, burst: 5}]}";
    let world = World::of(policy);
    let fault = |rule: &str, key: &[u8]| world.limiter.buckets(rule, key).unwrap_err();
    assert_eq!(fault("bad", b"x"), NoBuckets::ChargesNothing { rule: "bad".into() });
    assert_eq!(fault("client", b"x"), NoBuckets::Off { rule: "client".into() });
    assert!(matches!(fault("all", b""), NoBuckets::Key(_)));
    assert!(matches!(fault("all", &[7; 513]), NoBuckets::Key(_)));
    let unknown = fault("nobody", b"x").to_string();
    assert!(unknown.ends_with("; it has `bad`, `client`, `all`"), "{unknown}");
}

#[test]
fn buckets_are_those_of_the_limit_in_force() {
    let (world, buckets) = world_of("rate: 1/h, burst: 5");
    assert_eq!(world.admitted(3, &from_address(1)), 3);
    world.limiter.swap(parse("{name: client, scope: ip, rate: 1/h, burst: 9}")).unwrap();
    let look = at_once(buckets.look(Cost::ONE)).unwrap();
    assert_eq!((look.balance.whole(), look.limit.full().whole()), (2, 9), "the balance is kept (A9)");
    assert_eq!(at_once(buckets.reset()).unwrap().balance.whole(), 5, "a larger burst is room to refill into");
    world.clock.advance(Span::from_secs(4 * 3_600));
    assert_eq!(at_once(buckets.look(Cost::ONE)).unwrap().balance.whole(), 9);
}

#[test]
fn a_decision_keeps_the_keys_by_which_rules_know_the_client_if_it_is_told_to() {
    let policy = "rules: [{name: client, scope: ip, rate: 1/h, burst: 1}, {name: all, scope: global, rate: 1/h, burst: 9}]";
    let limiter = Limiter::builder().keep_keys().build_with_policy(parse(policy)).unwrap();
    let mut keys = Vec::new();
    RuleBook::new(parse(policy)).rule_on(&from_address(1), 0, |hit| keys.push(hit.key.to_vec()));
    for denied in [[false, false], [true, false]] {
        let decision = limiter.check(&from_address(1));
        let clients: Vec<_> =
            decision.clients().map(|client| (client.rule, client.key.to_vec(), client.is_denied)).collect();
        assert_eq!(clients, [(0, keys[0].clone(), denied[0]), (1, keys[1].clone(), denied[1])]);
    }
    assert_eq!(World::of(policy).check(&from_address(1)).clients().count(), 0, "nobody asked for them");
}
