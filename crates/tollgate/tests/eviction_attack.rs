//! Attacks on a full table that several rules share (H5): floods of invented keys gain a throttled client nothing.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "eviction_attack/service.rs"]
mod service;

use std::collections::BTreeMap;

use service::{START, Service, extra_logins};
use tollgate::{Burst, Cause, Clock, Cost, Limit, Limiter, Rate, SlidingCounter, Span, TableFull, Verdict};
use tollgate_sim::checker::{Promise, judge_each};
use tollgate_sim::history::Event;
use tollgate_sim::seeds::{Rng, for_each_seed};

#[test]
fn flooding_other_rules_gains_no_login_at_1000_keys() {
    assert_eq!(extra_logins(1_000, 4_000), 0);
}

#[test]
fn new_clients_of_other_rules_are_served_during_a_flood() {
    let service = Service::new(1_000);
    for key in 0..8_000 {
        let _ = service.key.check(key);
    }
    assert!(service.limiter.stats().evicted > 0);
    // Newcomers displace flooded keys, of which others stay in the window.
    let admitted = (500_000..500_100).filter(|client| service.login.check(*client).is_admitted()).count();
    // A newcomer may inherit from a login bucket in its window that is used up; that is rare.
    assert!(admitted >= 95, "{admitted} of 100");
}

#[test]
fn flood_of_keys_that_stay_leaves_room_for_other_rules() {
    let clock = Clock::manual(START);
    let login = Limit::new(Rate::per_hour(5), Burst::tokens(5)).unwrap();
    let limiter = Limiter::builder().keys_max(1_000).clock(clock).build(login).unwrap();
    let counter = SlidingCounter::new(Burst::tokens(100), Span::from_secs(86_400)).unwrap();
    let counter = limiter.rule("counter", counter).unwrap();
    for key in 0..8_000 {
        let _ = counter.check(key);
    }
    assert!(limiter.stats().denied_new > 4_000, "{:?}", limiter.stats());
    let admitted = (0..200).filter(|client| limiter.check(*client).is_admitted()).count();
    assert!(admitted >= 190, "{admitted} of 200 found room beside buckets that cannot be displaced");
}

/// Clients that use up their own bucket bind no new client of their rule after a flood under another rule.
#[test]
fn flood_of_one_rule_binds_no_new_client_of_another() {
    let service = Service::new(1_000);
    for key in 0..8_000 {
        let _ = service.key.check(key);
    }
    assert!(service.limiter.stats().evicted > 0);
    let logins = (500_000..500_200).flat_map(|client| [client; 5]);
    let denied = logins.filter(|client| !service.login.check(*client).is_admitted()).count();
    assert!(denied <= 10, "{denied} of 1000 logins within the limit");
}

/// No bucket of a rule with `deny_new` was ever evicted, whatever mark the flooded rule has left in the windows.
#[test]
fn rule_that_never_evicts_is_not_bound() {
    let limit = Limit::new(Rate::per_hour(5), Burst::tokens(5)).unwrap();
    let clock = Clock::manual(START);
    let builder = Limiter::builder().keys_max(1_000).clock(clock.clone());
    let limiter = builder.table_full(TableFull::DenyNew).build(limit).unwrap();
    // Every fourth rule has the same mark as the first.
    let [quick, _, _, strict] = ["2", "3", "4", "5"].map(|name| limiter.rule(name, limit).unwrap());
    quick.set_limit(Limit::new(Rate::per_second(1_000), Burst::tokens(5)).unwrap()).unwrap();
    for flooded in [&quick, limiter.default_rule()] {
        flooded.set_table_full(Some(TableFull::Inherit));
    }
    for key in 0..4_000 {
        let (_, _) = (quick.check(key), limiter.check(key));
    }
    assert!(limiter.stats().evicted > 0);
    // The quick buckets are full by now and give way; the others are not.
    clock.advance(Span::from_secs(1));
    let logins = (0..200).flat_map(|client| [client; 5]);
    let denied = logins.filter(|client| !strict.check(*client).is_admitted()).count();
    assert!(denied <= 50, "{denied} of 1000 logins within the limit");
}

/// Buckets that are full soon make no room for those that stay, where these have taken their slots.
#[test]
fn wait_for_room_is_that_of_buckets_that_stay() {
    let quick = Limit::new(Rate::per_second(10), Burst::tokens(100)).unwrap();
    let limiter = Limiter::builder().keys_max(100).clock(Clock::manual(START)).build(quick).unwrap();
    let counter = SlidingCounter::new(Burst::tokens(100), Span::from_secs(86_400)).unwrap();
    let counter = limiter.rule("counter", counter).unwrap();
    for key in 0..2_000 {
        let _ = (counter.check(key), limiter.check_n(key, Cost::tokens(100)));
    }
    let waits = (2_000..2_100).filter_map(|key| counter.check(key).retry_after());
    let shortest = waits.min().unwrap();
    assert!(shortest.as_secs() > 80_000, "{shortest:?}");
}

/// A flood under one rule whose buckets cannot be displaced leaves room for other rules of that kind, whatever makes them so.
#[test]
fn flood_of_keys_that_stay_leaves_room_for_rules_of_its_kind() {
    let limit = Limit::new(Rate::per_hour(5), Burst::tokens(5)).unwrap();
    let builder = || Limiter::builder().keys_max(1_000).clock(Clock::manual(START));
    let counter = SlidingCounter::new(Burst::tokens(100), Span::from_secs(86_400)).unwrap();
    for kind in 0..2 {
        let limiter = builder().build(limit).unwrap();
        let flooded = limiter.rule("flooded", counter).unwrap();
        let tier = flooded.tier("gold", counter).unwrap();
        let other = match kind {
            0 => limiter.rule("counter", counter).unwrap(),
            _ => limiter.rule("strict", limit).unwrap(),
        };
        if kind == 1 {
            other.set_table_full(Some(TableFull::DenyNew));
        }
        for key in 0..8_000 {
            let _ = if key % 2 == 0 { flooded.check(key) } else { tier.check(key) };
        }
        let admitted = (0..100).filter(|client| other.check(*client).is_admitted()).count();
        assert!(admitted >= 95, "kind {kind}: {admitted} of 100");
        let admitted = (0..100).filter(|client| limiter.check(*client).is_admitted()).count();
        assert!(admitted >= 95, "kind {kind}: {admitted} of 100 beside both");
    }
}

#[test]
fn denial_for_lack_of_room_is_told_apart() {
    let clock = Clock::manual(START);
    let limit = Limit::new(Rate::per_hour(5), Burst::tokens(5)).unwrap();
    let causes = |mode: TableFull| {
        let limiter =
            Limiter::builder().keys_max(1).clock(clock.clone()).table_full(mode).build(limit).unwrap();
        let causes = (0..2_000).filter_map(|client| match limiter.check_n(client, Cost::tokens(5)) {
            Verdict::Deny { cause, .. } => Some((client, cause)),
            _ => None,
        });
        (causes.collect::<Vec<(u32, Cause)>>(), limiter)
    };
    for mode in [TableFull::Inherit, TableFull::DenyNew, TableFull::SharedOverflow] {
        let (denied, limiter) = causes(mode);
        assert!(denied.len() > 1_500, "{mode:?}");
        assert!(denied.iter().all(|(_, cause)| matches!(cause, Cause::TableFull(_))), "{mode:?}");
        // The same in a check over several buckets.
        let rule = limiter.default_rule();
        let charges = [denied[0].0, denied[1].0].map(|client| rule.charge(client));
        assert!(
            matches!(limiter.check_all(&charges), Verdict::Deny { cause: Cause::TableFull(_), .. }),
            "{mode:?}"
        );
        // A bucket in the table denies as any other.
        assert!(matches!(limiter.check(0), Verdict::Deny { .. }));
    }
}

#[test]
fn later_denials_of_an_inherited_bucket_are_ordinary() {
    let clock = Clock::manual(START);
    let limit = Limit::new(Rate::per_hour(5), Burst::tokens(5)).unwrap();
    let limiter = Limiter::builder().keys_max(1).clock(clock).build(limit).unwrap();
    for client in 0..2_000 {
        let _ = limiter.check_n(client, Cost::tokens(3));
    }
    let evicted = limiter.stats().evicted;
    let newcomer = (2_000..4_000).find(|client| limiter.check(*client).is_admitted()).unwrap();
    assert!(limiter.stats().evicted > evicted);
    let causes: Vec<Cause> = (0..3)
        .filter_map(|_| match limiter.check(newcomer) {
            Verdict::Deny { cause, .. } => Some(cause),
            _ => None,
        })
        .collect();
    assert!(!causes.is_empty() && causes.iter().all(|cause| *cause == Cause::Exceeded), "{causes:?}");
}

#[test]
fn mode_of_a_rule_holds_for_its_own_newcomers() {
    let clock = Clock::manual(START);
    let limit = Limit::new(Rate::per_hour(5), Burst::tokens(5)).unwrap();
    let limiter = Limiter::builder().keys_max(1).clock(clock).build(limit).unwrap();
    let [strict, shared] = ["strict", "shared"].map(|name| limiter.rule(name, limit).unwrap());
    strict.set_table_full(Some(TableFull::DenyNew));
    shared.set_table_full(Some(TableFull::SharedOverflow));
    for client in 0..2_000 {
        let _ = limiter.check(client);
    }
    let before = limiter.stats();
    let admitted = (0..1_000).filter(|client| strict.check(*client).is_admitted()).count() as u64;
    let denied = limiter.stats();
    assert_eq!((denied.evicted, denied.denied_new - before.denied_new), (before.evicted, 1_000 - admitted));
    for client in 0..1_000 {
        let _ = shared.check(client);
    }
    let overflowed = limiter.stats();
    assert_eq!((overflowed.evicted, overflowed.overflowed), (before.evicted, 5), "one burst for all of them");
    strict.set_table_full(None);
    assert!((1_000..2_000).any(|client| strict.check(client).is_admitted()), "it evicts again");
}

/// Clients that were evicted under `inherit` come back after a reload to `shared_overflow`: the shared bucket is no fuller than they are.
#[test]
fn evicted_clients_gain_no_burst_by_a_change_of_mode() {
    let limit = Limit::new(Rate::per_hour(5), Burst::tokens(5)).unwrap();
    for together in [false, true] {
        let limiter = Limiter::builder().keys_max(1).clock(Clock::manual(START)).build(limit).unwrap();
        let (rule, mut admitted) = (limiter.default_rule(), [0; 300]);
        for client in (0..300).cycle().take(6_000) {
            admitted[client] += u32::from(rule.check(client).is_admitted());
        }
        assert!(limiter.stats().evicted > 0);
        rule.set_table_full(Some(TableFull::SharedOverflow));
        let mut busiest_first: Vec<usize> = (0..300).collect();
        busiest_first.sort_by_key(|client| std::cmp::Reverse(admitted[*client]));
        for client in busiest_first.into_iter().flat_map(|client| [client; 10]) {
            let charges = [rule.charge(client)];
            let verdict = if together { limiter.check_all(&charges) } else { rule.check(client) };
            admitted[client] += u32::from(verdict.is_admitted());
        }
        assert!(admitted.iter().all(|admitted| *admitted <= 5), "together: {together}, {admitted:?}");
    }
}

/// The last bucket of a slow tier in a window changes to a fast one. A client that was evicted on the slow tier does not inherit from
/// the fast refill.
#[test]
fn evicted_client_inherits_nothing_from_a_faster_tier() {
    const STAYS_SLOW: usize = 20;
    let limit = |rate| Limit::new(rate, Burst::tokens(10)).unwrap();
    for _ in 0..30 {
        let clock = Clock::manual(START);
        let limiter =
            Limiter::builder().keys_max(1).clock(clock.clone()).build(limit(Rate::per_hour(1))).unwrap();
        let (slow, mut admitted) = (limiter.default_rule(), [0; 300]);
        let fast = slow.tier("fast", limit(Rate::per_second(1_000))).unwrap();
        for client in (0..300).cycle().take(6_000) {
            admitted[client] += u32::from(slow.check(client).is_admitted());
        }
        for client in (0..300).filter(|client| client % STAYS_SLOW != 0) {
            let _ = fast.check(client);
        }
        clock.advance(Span::from_secs(1));
        for client in (0..300).step_by(STAYS_SLOW).flat_map(|client| [client; 10]) {
            admitted[client] += u32::from(slow.check(client).is_admitted());
        }
        let most = (0..300).step_by(STAYS_SLOW).map(|client| admitted[client]).max().unwrap();
        assert!(most <= 10, "{most} of 10");
    }
}

/// Random floods over several rules with random modes, in tables that are far too small: the history of every client is kept
/// within burst + rate · d.
#[test]
fn random_floods_never_exceed_a_limit() {
    for_each_seed(0..60, |rng| {
        let (clock, limits) = (Clock::manual(START), [(5, 5), (1, 50), (1_000, 20), (20, 3)]);
        let limits = limits.map(|(rate, burst)| limit_of(rng, rate, burst));
        let builder = Limiter::builder().keys_max(1 + rng.usize(0..40)).clock(clock.clone());
        let limiter = builder.build(limits[0]).unwrap();
        let mut rules = vec![limiter.default_rule().clone()];
        rules.extend((1..limits.len()).map(|at| limiter.rule(&at.to_string(), limits[at]).unwrap()));
        for rule in &rules {
            rule.set_table_full(any_mode(rng));
        }
        let (mut now, mut events, mut numbers) = (START, Vec::new(), BTreeMap::new());
        for _ in 0..40 {
            // A flood under one rule: new keys, or keys that were asked about before.
            let (at, first) = (rng.usize(0..rules.len()), rng.u32(0..400));
            for client in first..first + rng.u32(1..120) {
                let called = now;
                let cost = Cost::tokens(rng.u64(1..4));
                let admitted = rules[at].check_n(client, cost).is_admitted();
                let next = numbers.len() as u64;
                let key = *numbers.entry((at, client)).or_insert(next);
                let cost = i64::try_from(cost.as_micros()).unwrap();
                events.push(Event { key, called, answered: now, cost, admitted });
            }
            let step = Span::from_millis(rng.u64(0..300));
            clock.advance(step);
            now = now + step;
            if rng.u8(0..10) == 0 {
                rules[rng.usize(0..rules.len())].set_table_full(any_mode(rng));
            }
        }
        let rule_of: BTreeMap<u64, usize> = numbers.iter().map(|((rule, _), key)| (*key, *rule)).collect();
        judge_each(events, |key| Promise::of(limits[rule_of[&key]])).assert_kept();
    });
}

fn limit_of(rng: &mut Rng, rate: u64, burst: u64) -> Limit {
    let rate = if rng.bool() { Rate::per_second(rate) } else { Rate::per_hour(rate) };
    Limit::new(rate, Burst::tokens(burst)).unwrap()
}

fn any_mode(rng: &mut Rng) -> Option<TableFull> {
    let modes = [None, Some(TableFull::Inherit), Some(TableFull::DenyNew), Some(TableFull::SharedOverflow)];
    modes[rng.usize(0..modes.len())]
}
