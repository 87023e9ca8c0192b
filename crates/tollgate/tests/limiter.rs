//! What a limiter promises its caller, one test for each promise, in virtual time.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::thread;

use tollgate::{
    BucketSet, Burst, Cause, Charge, CheckError, Clock, Cost, Key, Limit, Limiter, Moment, Rate, Rule, Span,
    Verdict,
};
use tollgate_sim::seeds::{Rng, for_each_seed};

const START: Moment = Moment::from_nanos(1_000_000_000_000);
const HOUR: Span = Span::from_secs(3_600);

fn per_second(tokens: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_second(tokens), Burst::tokens(burst)).unwrap()
}

/// A limiter whose clock stands at [`START`].
fn limiter(limit: Limit) -> (Limiter, Clock) {
    let clock = Clock::manual(START);
    (Limiter::builder().clock(clock.clone()).build(limit).unwrap(), clock)
}

/// What a bucket holds by the limiter's clock, in micro-tokens.
fn balance(limiter: &Limiter, rule: &Rule, key: impl Key) -> u64 {
    let verdict = rule.peek_at(key, Cost::micros(1), limiter.now());
    verdict.remaining().unwrap().as_micros() + u64::from(verdict.is_admitted())
}

fn tokens(tokens: u64) -> u64 {
    Cost::tokens(tokens).as_micros()
}

#[test]
fn the_burst_is_admitted_at_once_and_then_the_rate() {
    let (limiter, clock) = limiter(per_second(10, 50));
    assert_eq!((0..60).filter(|_| limiter.check("alice").is_admitted()).count(), 50);
    clock.advance(Span::from_secs(1));
    assert_eq!((0..60).filter(|_| limiter.check("alice").is_admitted()).count(), 10);
    assert!(limiter.check("bob").is_admitted(), "a bucket of his own");
}

#[test]
fn the_wait_is_exact_to_the_nanosecond() {
    let (limiter, clock) = limiter(per_second(3, 1));
    assert!(limiter.check("alice").is_admitted());
    let denied = limiter.check("alice");
    // A third of a second, rounded up.
    let wait = Span::from_nanos(333_333_334);
    assert_eq!(denied.retry_after(), Some(wait.into()));
    clock.set(START + Span::from_nanos(wait.as_nanos() - 1));
    assert!(!limiter.check("alice").is_admitted());
    clock.set(START + wait);
    assert!(limiter.check("alice").is_admitted());
}

#[test]
fn a_denied_check_spends_nothing() {
    let (limiter, _) = limiter(per_second(10, 50));
    assert!(limiter.check_n("alice", Cost::tokens(30)).is_admitted());
    for _ in 0..100 {
        assert!(!limiter.check_n("alice", Cost::tokens(21)).is_admitted());
        assert_eq!(limiter.check_n("alice", Cost::tokens(51)), Verdict::Never { denied: BucketSet::FIRST });
    }
    assert!(limiter.check_n("alice", Cost::tokens(20)).is_admitted());
}

#[test]
fn a_part_of_a_token_is_counted_exactly() {
    let (limiter, _) = limiter(per_second(1, 1));
    let half = Cost::micros(500_000);
    assert_eq!(limiter.check_n("alice", half).remaining().unwrap().as_micros(), 500_000);
    assert_eq!(limiter.check_n("alice", Cost::micros(499_999)).remaining().unwrap().as_micros(), 1);
    assert!(!limiter.check_n("alice", Cost::micros(2)).is_admitted());
    assert!(limiter.check_n("alice", Cost::micros(1)).is_admitted());
}

#[test]
fn keys_of_every_kind_name_buckets_of_their_own() {
    let (limiter, _) = limiter(per_second(1, 1));
    let mapped: IpAddr = "::ffff:0.0.0.42".parse().unwrap();
    assert!(limiter.check("42").is_admitted());
    assert!(limiter.check(42_u8).is_admitted());
    assert!(limiter.check(-42_i8).is_admitted());
    assert!(limiter.check(u128::MAX).is_admitted());
    assert!(limiter.check(Ipv4Addr::new(0, 0, 0, 42)).is_admitted());
    assert!(limiter.check(Ipv6Addr::from(42)).is_admitted());
    assert!(limiter.check([42_u8]).is_admitted());
    assert!(limiter.check(()).is_admitted());

    // Each of them once more, spelt in other ways.
    assert!(!limiter.check("42".to_owned()).is_admitted());
    assert!(!limiter.check(b"42").is_admitted());
    assert!(!limiter.check(&b"42"[..]).is_admitted());
    assert!(!limiter.check(42_u16).is_admitted());
    assert!(!limiter.check(42_u32).is_admitted());
    assert!(!limiter.check(42_u64).is_admitted());
    assert!(!limiter.check(42_i16).is_admitted());
    assert!(!limiter.check(42_i32).is_admitted());
    assert!(!limiter.check(42_i64).is_admitted());
    assert!(!limiter.check(-42_i128).is_admitted());
    assert!(!limiter.check(mapped).is_admitted());
    assert!(!limiter.check(IpAddr::V6(Ipv6Addr::from(42))).is_admitted());
    assert!(!limiter.check(vec![42_u8]).is_admitted());
    assert!(!limiter.check(()).is_admitted());
}

#[test]
fn rules_do_not_share_buckets() {
    let (limiter, _) = limiter(per_second(1, 1));
    let logins = limiter.rule("logins", per_second(1, 2)).unwrap();
    assert!(limiter.check("alice").is_admitted());
    assert_eq!((0..9).filter(|_| logins.check("alice").is_admitted()).count(), 2);
    assert!(!limiter.check("alice").is_admitted());
    assert_eq!(logins.name(), "logins");
}

#[test]
fn a_rule_declared_again_has_the_same_buckets_and_the_new_limit() {
    let (limiter, _) = limiter(per_second(1, 1));
    let logins = limiter.rule("logins", per_second(10, 50)).unwrap();
    assert!(logins.check_n("alice", Cost::tokens(30)).is_admitted());
    let again = limiter.rule("logins", per_second(10, 15)).unwrap();
    assert_eq!(logins.limit(), per_second(10, 15).into());
    assert_eq!(again.limit(), per_second(10, 15).into());
    assert_eq!((0..99).filter(|_| again.check("alice").is_admitted()).count(), 15, "20 were left; clamped");
    assert!(!logins.check("alice").is_admitted());
}

#[test]
fn the_default_rule_is_the_one_that_checks_apply() {
    let (limiter, _) = limiter(per_second(1, 3));
    assert_eq!(limiter.default_rule().name(), "default");
    assert!(limiter.check("alice").is_admitted());
    assert_eq!(limiter.default_rule().check("alice").remaining().unwrap().whole(), 1);
    let again = limiter.rule("default", per_second(1, 3)).unwrap();
    assert_eq!(again.check("alice").remaining().unwrap().whole(), 0);
}

#[test]
fn a_client_takes_its_balance_from_tier_to_tier_and_back() {
    let (limiter, clock) = limiter(per_second(10, 50));
    let free = limiter.default_rule();
    let pro = free.tier("pro", per_second(100, 500)).unwrap();
    assert!(free.check_n("alice", Cost::tokens(20)).is_admitted());

    assert_eq!(pro.check("alice").remaining().unwrap().whole(), 29, "30 were left, and no free burst");
    clock.advance(Span::from_secs(1));
    assert_eq!(balance(&limiter, &pro, "alice"), tokens(129), "refilled at the rate of the new tier");

    assert_eq!(free.check("alice").remaining().unwrap().whole(), 49, "clamped to the smaller burst");
    assert_eq!(pro.check("alice").remaining().unwrap().whole(), 48, "what was clamped is gone");
    clock.advance(Span::from_millis(100));
    assert_eq!(free.check("alice").remaining().unwrap().whole(), 49, "58 were clamped to 50");
    assert_eq!(limiter.stats().relabelled, 4);
}

#[test]
fn a_tier_declared_again_sets_its_limit() {
    let (limiter, _) = limiter(per_second(10, 50));
    let pro = limiter.default_rule().tier("pro", per_second(100, 500)).unwrap();
    assert!(pro.check("alice").is_admitted());
    limiter.default_rule().tier("pro", per_second(100, 40)).unwrap();
    assert_eq!(pro.limit(), per_second(100, 40).into());
    assert_eq!(balance(&limiter, &pro, "alice"), tokens(40));
    assert_eq!(limiter.default_rule().limit(), per_second(10, 50).into());
}

#[test]
fn a_raised_burst_is_room_and_not_tokens() {
    let (limiter, clock) = limiter(per_second(10, 50));
    let rule = limiter.default_rule();
    assert!(rule.check_n("alice", Cost::tokens(50)).is_admitted());
    clock.advance(HOUR);
    rule.set_limit(per_second(10, 5_000)).unwrap();
    for key in ["alice", "never seen"] {
        assert_eq!(balance(&limiter, rule, key), tokens(50), "{key}");
    }
    clock.advance(Span::from_secs(1));
    for key in ["alice", "never seen", "nor this one"] {
        assert_eq!(balance(&limiter, rule, key), tokens(60), "{key}");
    }
    clock.advance(HOUR);
    assert_eq!(balance(&limiter, rule, "alice"), tokens(5_000));
}

#[test]
fn a_new_rate_holds_from_its_change_on() {
    let (limiter, clock) = limiter(per_second(10, 100));
    let rule = limiter.default_rule();
    assert!(rule.check_n("alice", Cost::tokens(100)).is_admitted());
    clock.advance(Span::from_secs(2));
    rule.set_limit(per_second(1, 100)).unwrap();
    clock.advance(Span::from_secs(3));
    assert_eq!(balance(&limiter, rule, "alice"), tokens(2 * 10 + 3));
    rule.set_limit_at(per_second(20, 100), limiter.now()).unwrap();
    clock.advance(Span::from_secs(1));
    assert_eq!(balance(&limiter, rule, "alice"), tokens(2 * 10 + 3 + 20));
}

#[test]
fn a_smaller_burst_clamps_for_good() {
    let (limiter, _) = limiter(per_second(10, 100));
    let rule = limiter.default_rule();
    assert!(rule.check("alice").is_admitted());
    rule.set_limit(per_second(10, 20)).unwrap();
    assert_eq!(balance(&limiter, rule, "alice"), tokens(20));
    rule.set_limit(per_second(10, 100)).unwrap();
    assert_eq!(balance(&limiter, rule, "alice"), tokens(20));
    assert_eq!(balance(&limiter, rule, "never seen"), tokens(20));
}

#[test]
fn a_batch_is_told_what_one_by_one_would_be_told() {
    for_each_seed(0..20, |rng| {
        let (batched, clock) = limiter(per_second(10, 5));
        let (single, _) = limiter(per_second(10, 5));
        let tiers = |of: &Limiter| {
            let free = of.default_rule().clone();
            [free.tier("pro", per_second(20, 9)).unwrap(), of.rule("other", per_second(1, 2)).unwrap(), free]
        };
        let (batched_rules, single_rules) = (tiers(&batched), tiers(&single));
        for _ in 0..30 {
            clock.advance(Span::from_millis(rng.u64(0..300)));
            let now = clock.now();
            let asked: Vec<(usize, u8, u64)> = (0..rng.usize(0..50)).map(|_| any_charge(rng)).collect();
            let charge = |&(rule, key, cost): &(usize, u8, u64)| {
                batched_rules[rule].charge_n(key_text(key), Cost::micros(cost))
            };
            let charges: Vec<Charge> = asked.iter().map(charge).collect();
            let mut verdicts = vec![Verdict::Invalid(CheckError::NoCharges); 3];
            batched.check_each_at(&charges, now, &mut verdicts);
            let one_by_one = asked.iter().map(|&(rule, key, cost)| {
                single_rules[rule].check_at(key_text(key), Cost::micros(cost), now)
            });
            assert_eq!(verdicts, one_by_one.collect::<Vec<_>>());
        }
    });
}

/// A rule, a key and a cost in micro-tokens; now and then a bad one.
fn any_charge(rng: &mut Rng) -> (usize, u8, u64) {
    (rng.usize(0..3), rng.u8(0..12), rng.u64(0..8) * 500_000)
}

fn key_text(key: u8) -> String {
    "k".repeat(usize::from(key))
}

#[test]
fn a_batch_by_the_clock_is_decided_now() {
    let (limiter, clock) = limiter(per_second(1, 1));
    let charges = vec![limiter.default_rule().charge("alice"); 40];
    let mut verdicts = Vec::new();
    limiter.check_each(&charges, &mut verdicts);
    assert_eq!(verdicts.iter().filter(|verdict| verdict.is_admitted()).count(), 1);
    clock.advance(Span::from_secs(1));
    limiter.check_each(&charges, &mut verdicts);
    assert_eq!(verdicts.len(), 40);
    assert_eq!(verdicts.iter().filter(|verdict| verdict.is_admitted()).count(), 1);
}

#[test]
fn clones_share_everything() {
    let (limiter, clock) = limiter(per_second(1, 10));
    let clones = [limiter.clone(), limiter.clone()];
    thread::scope(|scope| {
        for clone in &clones {
            scope.spawn(|| assert_eq!((0..4).filter(|_| clone.check("alice").is_admitted()).count(), 4));
        }
    });
    assert_eq!(balance(&limiter, limiter.default_rule(), "alice"), tokens(2));
    clones[0].default_rule().clone().set_limit(per_second(1, 1)).unwrap();
    assert_eq!(limiter.default_rule().limit(), per_second(1, 1).into());
    assert_eq!(limiter.stats(), clones[1].stats());
    clock.advance(HOUR);
    assert_eq!(clones[0].now(), limiter.now());
}

#[test]
fn two_limiters_share_nothing() {
    let (one, _) = limiter(per_second(1, 1));
    let (other, _) = limiter(per_second(1, 1));
    assert!(one.check("alice").is_admitted());
    assert!(other.check("alice").is_admitted());
}

#[test]
fn a_peek_spends_nothing_and_leaves_no_trace() {
    let (limiter, clock) = limiter(per_second(10, 2));
    let pro = limiter.default_rule().tier("pro", per_second(10, 3)).unwrap();
    for _ in 0..100 {
        assert_eq!(limiter.peek("alice").remaining().unwrap().whole(), 1);
        assert_eq!(pro.peek("alice").remaining().unwrap().whole(), 2);
    }
    assert_eq!(limiter.stats().slots_taken, 0, "a peek takes no room");

    assert_eq!((0..9).filter(|_| limiter.check("alice").is_admitted()).count(), 2);
    let denied = limiter.check("alice");
    for _ in 0..100 {
        assert_eq!(limiter.peek("alice"), denied);
        assert_eq!(pro.peek("alice"), denied, "under another tier, too");
    }
    assert_eq!(limiter.stats().relabelled, 0, "nor does it move a client to another tier");
    clock.advance(Span::from_millis(100));
    assert_eq!(limiter.peek("alice"), limiter.check("alice"));
}

#[test]
fn the_table_counts_what_it_has_been_through() {
    let clock = Clock::manual(START);
    let settings = Limiter::builder().keys_max(5_000).clock(clock.clone());
    let limiter = settings.build(per_second(10, 50)).unwrap();
    let fresh = limiter.stats();
    assert_eq!(fresh.keys_max, 5_000);
    assert_eq!([fresh.slots_taken, fresh.reclaimed, fresh.evicted, fresh.relabelled], [0; 4]);
    for key in 0..1_000 {
        assert!(limiter.check(key).is_admitted());
        assert!(limiter.check(key).is_admitted());
    }
    let stats = limiter.stats();
    assert_eq!((stats.slots_taken, stats.reclaimed), (1_000, 0), "one slot for each client");
    assert_eq!([stats.evicted, stats.denied_new, stats.overflowed], [0; 3]);

    // All are full an hour later; then their room is anybody's.
    clock.advance(HOUR);
    for key in 1_000..50_000 {
        assert!(limiter.check(key).is_admitted());
        clock.advance(Span::from_millis(1));
    }
    let stats = limiter.stats();
    assert_eq!(stats.slots_taken + stats.reclaimed, 50_000);
    assert!(stats.reclaimed > 0);
    assert_eq!([stats.evicted, stats.denied_new, stats.overflowed], [0; 3]);
}

#[test]
fn a_verdict_says_in_words_what_became_of_the_check() {
    let (limiter, _) = limiter(per_second(10, 2));
    let say = |cost| limiter.check_n("alice", cost).to_string();
    assert_eq!(say(Cost::micros(500_000)), "admitted, 1.5 left");
    assert_eq!(say(Cost::tokens(2)), "denied, retry in 50ms");
    assert_eq!(say(Cost::tokens(3)), "denied for good: the cost is above what a full bucket gives");
    assert_eq!(
        say(Cost::micros(0)),
        "`cost` is 0, which would admit everything; use `peek` to look without spending"
    );
    let crowded = Verdict::Deny {
        wait: Span::from_secs(2),
        remaining: tollgate::Tokens::ZERO,
        denied: BucketSet::FIRST,
        cause: Cause::TableFull(BucketSet::FIRST),
    };
    assert_eq!(crowded.to_string(), "denied for want of room in the table, retry in 2s");
}

#[test]
fn a_verdict_without_a_wait_has_none_to_give() {
    let (limiter, _) = limiter(per_second(10, 2));
    assert_eq!(limiter.check("alice").retry_after(), None);
    assert_eq!(limiter.check_n("alice", Cost::tokens(3)).retry_after(), None);
    assert_eq!(limiter.check_n("alice", Cost::tokens(3)).remaining(), None);
    assert_eq!(limiter.check("").retry_after(), None);
}
