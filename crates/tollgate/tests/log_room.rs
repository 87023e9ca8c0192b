//! Exact sliding windows under attack (H6): bounded per rule and per client, and no rule's flood denies another rule's clients.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use tollgate::{Burst, Cause, Clock, Cost, Limiter, Moment, Rule, SlidingLog, Span, Verdict};
use tollgate_sim::checker::most_within;
use tollgate_sim::history::Event;
use tollgate_sim::seeds::for_each_seed;

const START: Moment = Moment::from_nanos(1_000_000_000_000_000);
const DAY: Span = Span::from_secs(86_400);

fn limiter(entries: usize) -> (Limiter, Clock) {
    let clock = Clock::manual(START);
    let builder = Limiter::builder().keys_max(1_000).log_entries_max(entries).clock(clock.clone());
    (builder.build(log(5)).unwrap(), clock)
}

fn log(quota: u64) -> SlidingLog {
    SlidingLog::new(Burst::tokens(quota), DAY).unwrap()
}

/// How many of `times` checks are admitted, a millisecond apart.
fn ask(rule: &Rule, clock: &Clock, key: u32, times: u32) -> u32 {
    let admitted = |_| {
        clock.advance(Span::from_millis(1));
        u32::from(rule.check(key).is_admitted())
    };
    (0..times).map(admitted).sum()
}

/// C05: invented keys under one rule; clients of another rule are served.
#[test]
fn flood_under_one_rule_denies_no_client_of_another() {
    let (limiter, clock) = limiter(10_000);
    let [a, b] = ["a", "b"].map(|name| limiter.rule(name, log(5)).unwrap());
    assert_eq!(ask(&a, &clock, 1, 1), 1);
    let admitted: u32 = (0..10_500).map(|key| ask(&b, &clock, key, 1)).sum();
    assert_eq!(admitted, 10_000);
    let denied = b.check(20_000);
    assert!(matches!(denied, Verdict::Deny { cause: Cause::TableFull(_), .. }), "{denied}");
    assert_eq!(b.peek(20_000).retry_after(), denied.retry_after());
    assert_eq!(ask(&a, &clock, 1, 5), 4, "an old client of the other rule");
    assert_eq!(
        (2..50).map(|key| ask(&a, &clock, key, 5)).sum::<u32>(),
        48 * 5,
        "new clients of the other rule"
    );
    assert_eq!(ask(&b, &clock, 7, 5), 4, "an old client of the flooded rule goes on");
}

/// C02: the entries stay within the bound of the rule, whatever comes.
#[test]
fn entries_stay_within_the_bound() {
    let (limiter, clock) = limiter(500);
    let rule = limiter.rule("x", log(50)).unwrap();
    for key in 0..3_000 {
        let _ = ask(&rule, &clock, key % 700, 3);
    }
    assert_eq!(rule.log_entries(), (500, 500));
    assert_eq!(limiter.stats().log_entries, 500);
}

/// C07: as many honest clients as use up the room with all their quota; further clients are served.
#[test]
fn honest_clients_that_use_up_the_room_lock_no_client_out() {
    let (limiter, clock) = limiter(10_000);
    let rule = limiter.rule("x", log(100)).unwrap();
    assert_eq!((0..100).map(|key| ask(&rule, &clock, key, 100)).sum::<u32>(), 10_000);
    assert_eq!(rule.log_entries(), (10_000, 10_000));
    assert_eq!((100..300).map(|key| ask(&rule, &clock, key, 10)).sum::<u32>(), 2_000);
    assert!(rule.log_entries().0 <= 10_000);
    // Merged charges still count: no client gets more than its quota.
    assert_eq!((0..100).map(|key| ask(&rule, &clock, key, 1)).sum::<u32>(), 0);
    clock.advance(DAY);
    assert_eq!(
        (0..100).map(|key| ask(&rule, &clock, key, 1)).sum::<u32>(),
        100,
        "a window later all is back"
    );
}

/// A new client that is denied, by a bucket or for lack of room, costs no other client a part of its log.
#[test]
fn denied_new_client_merges_no_charges() {
    let (limiter, clock) = limiter(100);
    let [rule, other] = ["x", "y"].map(|name| limiter.rule(name, log(50)).unwrap());
    assert_eq!((0..2).map(|key| ask(&rule, &clock, key, 50)).sum::<u32>(), 100);
    assert_eq!(ask(&other, &clock, 1, 50), 50);
    for key in 1_000..1_050 {
        let verdict = limiter.check_all(&[rule.charge(key), other.charge(1_u32)]);
        assert!(matches!(verdict, Verdict::Deny { cause: Cause::Exceeded, .. }), "{verdict}");
    }
    assert_eq!(rule.log_entries().0, 100, "denied by the other rule");

    rule.set_log_entries_max(20);
    for key in 1_000..1_050 {
        let verdict = rule.check(key);
        assert!(matches!(verdict, Verdict::Deny { cause: Cause::TableFull(_), .. }), "{verdict}");
        assert_eq!(rule.peek(key).retry_after(), verdict.retry_after());
    }
    assert_eq!(rule.log_entries().0, 100, "denied for lack of room");

    rule.set_log_entries_max(100);
    assert!(rule.peek(1_000_u32).is_admitted());
    assert_eq!(rule.log_entries().0, 100, "only looked at");
    assert_eq!(ask(&rule, &clock, 1_000, 1), 1);
    assert_eq!(rule.log_entries().0, 76, "admitted");
}

/// The wait of a new client without room is by the logs of its own rule, however soon those of other rules are empty.
#[test]
fn wait_for_room_is_that_of_the_rule() {
    let (limiter, clock) = limiter(1_000);
    let [full, busy] = [DAY, Span::from_secs(2)].map(|window| {
        let log = SlidingLog::new(Burst::tokens(5), window).unwrap();
        limiter.rule(&window.as_nanos().to_string(), log).unwrap()
    });
    assert_eq!((0..1_000).map(|key| ask(&full, &clock, key, 1)).sum::<u32>(), 1_000);
    assert_eq!((0..1_000).map(|key| ask(&busy, &clock, key, 1)).sum::<u32>(), 1_000);
    for key in 2_000..2_100 {
        let wait = full.check(key).retry_after().unwrap();
        assert!((86_390..=86_400).contains(&wait.as_secs()), "{wait:?}");
    }
    let wait = full.check(5_000).retry_after().unwrap();
    clock.advance(Span::from_nanos(u64::try_from(wait.as_nanos()).unwrap()));
    assert!(full.check(5_000).is_admitted(), "there is room after the wait");
}

/// Charges that no longer count are not in the figures, also while no check comes.
#[test]
fn figures_leave_out_charges_that_no_longer_count() {
    let (limiter, clock) = limiter(1_000);
    let rule = limiter.rule("x", log(5)).unwrap();
    assert_eq!((0..300).map(|key| ask(&rule, &clock, key, 2)).sum::<u32>(), 600);
    assert_eq!((rule.log_entries(), limiter.stats().log_entries), ((600, 1_000), 600));
    clock.advance(DAY);
    assert_eq!(limiter.stats().log_entries, 0);
    assert_eq!((0..300).map(|key| ask(&rule, &clock, key, 2)).sum::<u32>(), 600);
    clock.advance(DAY);
    assert_eq!(rule.log_entries(), (0, 1_000));
}

#[test]
fn log_of_one_client_is_bounded_and_strict() {
    let (limiter, clock) = limiter(1_000_000);
    let rule = limiter.rule("x", log(10_000)).unwrap();
    assert_eq!(ask(&rule, &clock, 1, 10_100), 10_000);
    assert_eq!(rule.log_entries().0, 4_096);
    assert_eq!(ask(&rule, &clock, 1, 1), 0);
}

#[test]
fn bound_of_a_rule_may_be_its_own_and_may_change() {
    let (limiter, clock) = limiter(1_000);
    let rule = limiter.rule("x", log(5)).unwrap();
    rule.set_log_entries_max(10);
    let admitted = |keys: std::ops::Range<u32>| keys.map(|key| ask(&rule, &clock, key, 1)).sum::<u32>();
    assert_eq!(admitted(0..20), 10);
    rule.set_log_entries_max(30);
    assert_eq!(admitted(20..60), 20);
}

/// Random checks in rooms that are far too small: no window of any client admits more than the quota.
#[test]
fn merged_charges_never_admit_more() {
    for_each_seed(0..40, |rng| {
        let (limiter, clock) = limiter(rng.usize(1..60));
        let (quota, mut now, mut events) = (rng.u64(1..30), START, Vec::new());
        let rule = limiter.rule("x", log(quota)).unwrap();
        for _ in 0..1_500 {
            let (key, cost) = (rng.u64(0..25), rng.u64(1..=quota.min(4)));
            let admitted = rule.check_n(key, Cost::tokens(cost)).is_admitted();
            let cost = i64::try_from(cost).unwrap();
            events.push(Event { key, called: now, answered: now, cost, admitted });
            let step = Span::from_secs(rng.u64(0..6_000));
            clock.advance(step);
            now = now + step;
        }
        let most = most_within(events, DAY).map_or(0, |busiest| busiest.admitted);
        assert!(most <= i128::from(quota), "{most} of {quota}");
    });
}
