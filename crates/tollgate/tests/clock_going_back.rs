//! Time never gives twice (A8): a clock that steps back refunds nothing, whatever was forgotten meanwhile.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use std::collections::BTreeMap;

use tollgate::{Burst, Clock, Cost, Limit, Limiter, Moment, Rate, Span, TableFull};
use tollgate_sim::checker::worst_in_order;
use tollgate_sim::seeds::{Rng, for_each_seed};

const START: Moment = Moment::from_nanos(1_000_000_000_000);
const MODES: [TableFull; 3] = [TableFull::Inherit, TableFull::DenyNew, TableFull::SharedOverflow];

fn limit() -> Limit {
    Limit::new(Rate::per_second(10), Burst::tokens(10)).unwrap()
}

/// The smallest table there is.
fn tiny(table_full: TableFull, clock: &Clock) -> Limiter {
    Limiter::builder().keys_max(1).table_full(table_full).clock(clock.clone()).build(limit()).unwrap()
}

fn admitted_at(limiter: &Limiter, key: &str, now: Moment) -> usize {
    (0..100).filter(|_| limiter.check_at(key, Cost::ONE, now).is_admitted()).count()
}

#[test]
fn a_clock_that_steps_back_neither_refunds_nor_charges() {
    let clock = Clock::manual(START);
    let limiter = Limiter::builder().clock(clock.clone()).build(limit()).unwrap();
    let admitted = || (0..100).filter(|_| limiter.check("alice").is_admitted()).count();
    assert_eq!(admitted(), 10);
    clock.set(START - Span::from_secs(100));
    assert_eq!(admitted(), 0);
    clock.set(START);
    assert_eq!(admitted(), 0);
    clock.set(START + Span::from_millis(500));
    assert_eq!(admitted(), 5);
}

#[test]
fn a_moment_in_the_past_finds_no_tokens_that_were_spent() {
    let limiter = Limiter::builder().clock(Clock::manual(START)).build(limit()).unwrap();
    let later = START + Span::from_secs(100);
    assert_eq!(admitted_at(&limiter, "alice", later), 10);
    assert_eq!(admitted_at(&limiter, "alice", START), 0);
    assert_eq!(admitted_at(&limiter, "alice", later + Span::from_millis(100)), 1);
}

#[test]
fn a_client_forgotten_when_full_finds_nothing_in_the_past() {
    for table_full in MODES {
        let limiter = tiny(table_full, &Clock::manual(START));
        let full = START + Span::from_secs(2);
        assert_eq!(admitted_at(&limiter, "alice", START), 10);
        // Alice is full by now, and others take her place.
        for stranger in 0..1_000 {
            let _ = limiter.check_at(stranger, Cost::ONE, full);
        }
        assert!(limiter.stats().reclaimed > 0);
        assert_eq!(admitted_at(&limiter, "alice", START), 0, "{table_full:?}");
        assert_eq!(admitted_at(&limiter, "alice", START + Span::from_millis(900)), 0, "{table_full:?}");
        assert!(admitted_at(&limiter, "alice", full) <= 10);
    }
}

#[test]
fn a_limit_change_in_the_past_gives_nothing() {
    let limiter = Limiter::builder().clock(Clock::manual(START)).build(limit()).unwrap();
    let rule = limiter.default_rule();
    assert_eq!(admitted_at(&limiter, "alice", START), 10);
    let (past, faster) = (START - Span::from_secs(50), Limit::new(Rate::per_second(100), Burst::tokens(10)));
    rule.set_limit_at(faster.unwrap(), past).unwrap();
    rule.set_limit_at(limit(), past).unwrap();
    assert_eq!(admitted_at(&limiter, "alice", START), 0);
    assert_eq!(admitted_at(&limiter, "alice", START + Span::from_millis(100)), 1);
}

/// Whoever has no room has a bucket of its own as far as its promise goes, even if others drink from it.
#[test]
fn a_client_forgotten_when_full_finds_nothing_in_a_shared_bucket_of_the_past() {
    let limiter = tiny(TableFull::SharedOverflow, &Clock::manual(START));
    let strangers = limiter.rule("strangers", limit()).unwrap();
    assert_eq!(admitted_at(&limiter, "alice", START), 10);
    for stranger in 0..1_000 {
        let _ = strangers.check_at(stranger, Cost::ONE, START + Span::from_secs(2));
    }
    assert!(limiter.stats().reclaimed > 0);
    assert_eq!(admitted_at(&limiter, "alice", START), 0);
}

#[test]
fn moments_that_jump_about_admit_no_more_than_the_promise() {
    for table_full in MODES {
        for_each_seed(0..12, |rng| {
            let (admitted, _) = checks_that_jump_about(rng, table_full, |limiter, client, cost, now| {
                limiter.check_at(client, cost, now).is_admitted()
            });
            for (client, admitted) in admitted {
                let worst = worst_in_order(limit(), admitted).unwrap();
                assert!(worst <= 0, "client {client} is over by {worst} micro-tokens under {table_full:?}");
            }
        });
    }
}

/// A limiter that reads a clock takes the latest it has acted upon for the time: a clock that ran ahead was right then.
#[test]
fn a_clock_that_jumps_about_admits_no_more_than_its_latest_time_allows() {
    for table_full in MODES {
        for_each_seed(0..12, |rng| {
            let (admitted, latest) = checks_that_jump_about(rng, table_full, |limiter, client, cost, _| {
                limiter.check_n(client, cost).is_admitted()
            });
            for (client, admitted) in admitted {
                let spent: u64 = admitted.iter().map(|(_, cost)| cost.as_micros()).sum();
                let minted = latest.since(START).as_nanos() / 100;
                assert!(spent <= 10_000_000 + minted, "client {client} spent {spent} under {table_full:?}");
            }
        });
    }
}

type Admitted = BTreeMap<u32, Vec<(Moment, Cost)>>;

/// What each client was admitted, in order, of many checks in a table too small for them; and the latest time there was.
fn checks_that_jump_about(
    rng: &mut Rng,
    table_full: TableFull,
    is_admitted: impl Fn(&Limiter, u32, Cost, Moment) -> bool,
) -> (Admitted, Moment) {
    let clock = Clock::manual(START);
    let (limiter, mut admitted, mut latest) = (tiny(table_full, &clock), Admitted::new(), START);
    for _ in 0..4_000 {
        let now = jump(rng, clock.now());
        clock.set(now);
        latest = latest.max(now);
        let (client, cost) = (rng.u32(0..150), Cost::micros(rng.u64(1..=8) * 500_000));
        if is_admitted(&limiter, client, cost, now) {
            admitted.entry(client).or_default().push((now, cost));
        }
    }
    (admitted, latest)
}

/// Mostly a little on, sometimes far on or back, within the minute after [`START`]: before a limiter was made is no time.
fn jump(rng: &mut Rng, now: Moment) -> Moment {
    let micros = Span::from_micros;
    match rng.u8(0..40) {
        0 => START + micros(rng.u64(0..60_000_000)),
        1..5 => (now - micros(rng.u64(0..200_000))).max(START),
        _ => now + micros(rng.u64(0..50_000)),
    }
}
