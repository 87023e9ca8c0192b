//! Ways past a limit, or into more memory than was allowed, that a hostile reader found; each is shut.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "ways_past_a_limit/old_receipts.rs"]
mod old_receipts;
#[path = "ways_past_a_limit/resets.rs"]
mod resets;
#[path = "ways_past_a_limit/without_room.rs"]
mod without_room;

use tollgate::{
    Breadth, Burst, Cause, CheckError, Clock, Concurrency, Cost, Hierarchy, LeakyBucket, Left, Limit,
    Limiter, LimiterBuilder, Moment, Priority, Rate, Rule, Shares, SlidingCounter, SlidingLog, Span,
    TableFull, Verdict,
};

const MINUTE: Span = Span::from_secs(60);
const DAY: Span = Span::from_secs(86_400);
const START: Moment = Moment::from_nanos(1_000_000_000_000);

fn limit(per_second: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_second(per_second), Burst::tokens(burst)).unwrap()
}

fn slow(burst: u64) -> Limit {
    Limit::new(Rate::per_hour(1), Burst::tokens(burst)).unwrap()
}

fn with(settings: LimiterBuilder, limit: Limit) -> (Limiter, Clock) {
    let clock = Clock::manual(START);
    (settings.clock(clock.clone()).build(limit).unwrap(), clock)
}

fn admitted(rule: &Rule) -> usize {
    std::iter::repeat_with(|| rule.check("ann")).take_while(Verdict::is_admitted).count()
}

/// A8, and the fifth defect of the peers: two nodes two seconds apart, for a minute.
#[test]
fn two_clocks_two_windows_apart_admit_no_more_than_one() {
    let (limiter, _) = with(Limiter::builder(), slow(1));
    let counter = SlidingCounter::new(Burst::tokens(10), Span::from_secs(1)).unwrap();
    let rule = limiter.rule("counter", counter).unwrap();
    let check = |tick: u64| {
        let back = Span::from_secs(2 * (tick % 2));
        rule.check_at("ann", Cost::ONE, START + Span::from_millis(10 * tick) - back).is_admitted()
    };
    let admitted = (0..6_000).filter(|tick| check(*tick)).count();
    assert!(admitted <= 10 + 600, "{admitted}");
}

#[test]
fn a_clock_set_back_frees_no_place() {
    let (limiter, clock) = with(Limiter::builder(), slow(1));
    let rule = limiter.rule("places", Concurrency::new(1, Span::from_secs(10)).unwrap()).unwrap();
    let held = rule.enter("ann").unwrap();
    clock.set(START - Span::from_secs(70));
    assert!(rule.enter("ann").is_err());
    drop(held);
    assert!(rule.enter("ann").is_ok());
}

#[test]
fn a_guard_from_before_a_reset_frees_nobody_elses_place() {
    let (limiter, _) = with(Limiter::builder(), slow(1));
    let rule = limiter.rule("places", Concurrency::new(1, MINUTE).unwrap()).unwrap();
    let before = rule.enter("ann").unwrap();
    assert_eq!(rule.reset("ann").unwrap().balance.whole(), 1);
    let after = rule.enter("ann").unwrap();
    assert_eq!(before.leave(), Left::TooLate);
    assert!(rule.enter("ann").is_err());
    assert_eq!(after.leave(), Left::InTime);
    assert!(rule.enter("ann").is_ok());
}

#[test]
fn who_leaves_a_queue_in_the_middle_does_not_make_those_behind_collide() {
    let (limiter, _) = with(Limiter::builder(), slow(1));
    let leaky = LeakyBucket::new(Rate::per_second(10), Burst::tokens(30)).unwrap();
    let rule = limiter.rule("leaky", leaky).unwrap();
    let reserve = || rule.reserve("ann", Cost::ONE, MINUTE);
    let delay_of = |reservation: &tollgate::Reservation| reservation.verdict().unwrap().delay().unwrap();
    let mut departures = Vec::new();
    for _ in 0..40 {
        let mut round: Vec<_> = std::iter::repeat_with(reserve).map_while(Result::ok).collect();
        let Some(last) = round.pop() else { break };
        departures.push(delay_of(&last));
        for reservation in round {
            reservation.cancel().unwrap();
        }
    }
    departures.sort();
    let apart = std::time::Duration::from_millis(100);
    assert!(departures.windows(2).all(|pair| pair[1] >= pair[0] + apart), "{departures:?}");
    // The last one of a queue may go: nobody knows of its place.
    let (limiter, _) = with(Limiter::builder(), slow(1));
    let rule = limiter.rule("leaky", leaky).unwrap();
    let last = rule.reserve("ann", Cost::tokens(5), MINUTE).unwrap();
    assert_eq!(last.cancel().unwrap().returned.whole(), 5);
}

#[test]
fn what_was_reserved_on_one_tier_is_not_given_back_on_another() {
    let (limiter, clock) = with(Limiter::builder(), slow(100));
    let big = limiter.default_rule();
    let small = big.tier("small", limit(10, 10)).unwrap();
    let reservations: Vec<_> =
        (0..10).map(|_| big.reserve("ann", Cost::tokens(10), MINUTE).unwrap()).collect();
    let mut total = admitted(&small);
    clock.advance(Span::from_secs(1));
    for reservation in &reservations {
        reservation.cancel().unwrap();
        total += admitted(&small);
    }
    assert!(total <= 20, "{total}");
}

#[test]
fn the_order_of_charges_to_one_overflow_bucket_does_not_open_the_share_of_others() {
    let (limiter, _) =
        with(Limiter::builder().keys_max(1).table_full(TableFull::SharedOverflow), slow(1_000));
    let filler = limiter.rule("filler", slow(5)).unwrap();
    for client in 0..500_u64 {
        let _ = filler.check(client);
    }
    let shares = Shares::NONE.keep(Priority::Critical, 80).unwrap();
    let rule = |priority| limiter.default_rule().of_priority(priority, shares);
    let (bulk, critical) = (rule(Priority::Bulk), rule(Priority::Critical));
    while bulk.check_n("bulk", Cost::tokens(10)).is_admitted() {}
    let charges = [critical.charge_n("critical", Cost::tokens(100)), bulk.charge_n("bulk", Cost::tokens(10))];
    let [one, other] = charges;
    assert!(!limiter.check_all(&[one, other]).is_admitted());
    assert!(!limiter.check_all(&[other, one]).is_admitted());
}

#[test]
fn logs_that_came_to_nothing_take_no_memory() {
    let (limiter, _) = with(Limiter::builder().log_entries_max(1_000), slow(1));
    let rule = limiter.rule("log", SlidingLog::new(Burst::tokens(5), DAY).unwrap()).unwrap();
    let resident_pages = || {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0)
    };
    let round = |keys: std::ops::Range<u64>| {
        for key in keys {
            rule.reserve(key, Cost::ONE, MINUTE).unwrap().cancel().unwrap();
            assert!(rule.check(key).is_admitted());
            rule.refund(key, Cost::ONE).unwrap();
        }
    };
    round(0..20_000);
    let before = resident_pages();
    round(20_000..120_000);
    // A hundred thousand forgotten logs would be 30 MB.
    assert!(resident_pages() < before + 1_000, "{} pages more", resident_pages() - before);
    assert_eq!(limiter.stats().log_entries, 0);
}

#[test]
fn a_full_side_table_ends_the_check_even_at_the_end_of_time() {
    let (limiter, _) = with(Limiter::builder().log_entries_max(1), slow(1));
    let rule = limiter.rule("log", SlidingLog::new(Burst::tokens(5), DAY).unwrap()).unwrap();
    let end = Moment::from_nanos(u64::MAX);
    assert!(rule.check_at("ann", Cost::ONE, end).is_admitted());
    assert!(!rule.check_at("bob", Cost::ONE, end).is_admitted());
    assert_eq!(limiter.live_buckets().count(), 1);
}

#[test]
fn one_check_takes_no_more_entries_than_there_may_be() {
    let (limiter, _) = with(Limiter::builder().log_entries_max(10), slow(1));
    let rule = limiter.rule("log", SlidingLog::new(Burst::tokens(5), DAY).unwrap()).unwrap();
    let charges: Vec<_> = (0..16_u64).map(|key| rule.charge(key)).collect();
    let Verdict::Deny { cause, denied, .. } = limiter.check_all(&charges) else { panic!() };
    assert_eq!((cause, limiter.stats().log_entries), (Cause::TableFull(denied), 0));
    assert!(limiter.check_all(&charges[..10]).is_admitted());
}

#[test]
fn a_path_that_does_not_fit_the_hierarchy_is_refused() {
    let (limiter, _) = with(Limiter::builder(), slow(1));
    let levels = [
        limiter.shared_rule("all", slow(10), Breadth::Everyone).unwrap(),
        limiter.rule("user", slow(1)).unwrap(),
    ];
    let hierarchy = Hierarchy::new(&levels).unwrap();
    let bad = |parts| Verdict::Invalid(CheckError::BadPath { parts, levels: 2 });
    assert_eq!(hierarchy.check(&["a", "b", "c", "d"]), bad(4));
    assert_eq!(hierarchy.check(&["a", ""]), bad(2));
    assert_eq!(hierarchy.check(&[]), Verdict::Invalid(CheckError::NoCharges));
    assert!(hierarchy.check(&["a"]).is_admitted());
}

#[test]
fn a_retry_without_a_lifetime_is_refused() {
    let (limiter, _) = with(Limiter::builder(), slow(1));
    let verdict = limiter.default_rule().check_once("order-1", Span::ZERO, "ann", Cost::ONE);
    assert_eq!(verdict, Verdict::Invalid(CheckError::ZeroLifetime));
}

#[test]
fn a_reset_says_what_it_did_for_a_displaced_client() {
    let (limiter, _) = with(Limiter::builder().keys_max(1), slow(10));
    let rule = limiter.default_rule();
    assert_eq!(admitted(rule), 10);
    for client in 0..500_u64 {
        while rule.check(client).is_admitted() {}
    }
    let reset = rule.reset("ann").unwrap();
    assert_eq!(admitted(rule) as u64, reset.balance.whole());
}
