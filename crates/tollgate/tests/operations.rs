//! Refunds, grants, resets, reservations, idempotency keys, priorities, iteration: none of them mints a token.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use tollgate::{
    Algorithm, Burst, CheckError, Clock, Concurrency, Cost, FixedWindow, Limit, Limiter, LimiterBuilder,
    Moment, Path, Priority, Rate, ReserveError, SettleError, ShareError, Shares, SlidingCounter, SlidingLog,
    Span, Tokens, Verdict, Window,
};

const MINUTE: Span = Span::from_secs(60);

fn tokens(whole: u64) -> Tokens {
    Tokens::from_micros(whole * 1_000_000)
}

fn limit() -> Limit {
    Limit::new(Rate::per_second(10), Burst::tokens(50)).unwrap()
}

fn with(settings: LimiterBuilder) -> (Limiter, Clock) {
    let clock = Clock::manual(Moment::from_nanos(0));
    (settings.clock(clock.clone()).build(limit()).unwrap(), clock)
}

fn limiter() -> (Limiter, Clock) {
    with(Limiter::builder().keys_max(1_000))
}

fn balance(limiter: &Limiter) -> u64 {
    limiter.default_rule().balance("ann").unwrap().whole()
}

#[test]
fn a_refund_never_overfills() {
    let (limiter, clock) = limiter();
    let rule = limiter.default_rule();
    assert!(rule.check_n("ann", Cost::tokens(30)).is_admitted());
    assert_eq!(rule.refund("ann", Cost::tokens(10)).unwrap().balance, tokens(30));
    clock.advance(Span::from_secs(1));
    let refund = rule.refund("ann", Cost::tokens(100)).unwrap();
    assert_eq!((refund.given, refund.balance), (tokens(10), tokens(50)));
    assert_eq!(rule.refund("never seen", Cost::tokens(1)).unwrap().given, Tokens::ZERO);
    assert_eq!(rule.refund("ann", Cost::micros(0)), Err(CheckError::ZeroCost));
    assert_eq!(rule.grant("", Cost::ONE), Err(CheckError::EmptyKey));
    assert_eq!(balance(&limiter), 50);
}

#[test]
fn a_reset_fills_the_bucket_of_every_algorithm() {
    let algorithms: [Algorithm; 4] = [
        limit().into(),
        FixedWindow::new(Burst::tokens(50), Window::DAY).unwrap().into(),
        SlidingCounter::new(Burst::tokens(50), MINUTE).unwrap().into(),
        SlidingLog::new(Burst::tokens(50), MINUTE).unwrap().into(),
    ];
    let (limiter, _) = limiter();
    for algorithm in algorithms {
        let rule = limiter.rule(algorithm.name(), algorithm).unwrap();
        assert!(rule.check_n("ann", Cost::tokens(50)).is_admitted());
        assert_eq!(rule.reset("ann").unwrap().balance, tokens(50), "{}", algorithm.name());
        assert!(rule.check_n("ann", Cost::tokens(50)).is_admitted());
        assert_eq!(rule.grant("ann", Cost::tokens(5)).unwrap().balance, tokens(5), "{}", algorithm.name());
        assert_eq!(rule.refund("ann", Cost::tokens(500)).unwrap().given, tokens(45));
    }
    let places = limiter.rule("places", Concurrency::new(1, MINUTE).unwrap()).unwrap();
    let guard = places.enter("ann").unwrap();
    assert_eq!(places.reset("ann").unwrap().balance, tokens(1));
    let other = places.enter("ann").unwrap();
    drop(guard);
    assert!(places.enter("ann").is_err() || other.leave() == tollgate::Left::TooLate);
}

#[test]
fn a_reservation_is_settled_at_its_true_cost() {
    let (limiter, _) = limiter();
    let rule = limiter.default_rule();
    let reserve = |cost| rule.reserve("ann", Cost::tokens(cost), MINUTE).unwrap();
    let less = reserve(20).commit(Cost::tokens(5)).unwrap();
    assert_eq!((less.returned, less.charged, less.forgiven), (tokens(15), tokens(0), tokens(0)));
    assert_eq!(balance(&limiter), 45);
    reserve(20).cancel().unwrap();
    assert_eq!(balance(&limiter), 45);
    let more = reserve(20).commit(Cost::tokens(30)).unwrap();
    assert_eq!((more.returned, more.charged), (tokens(0), tokens(10)));
    assert_eq!(balance(&limiter), 15);
}

#[test]
fn an_overrun_is_debt_which_is_repaid_first_and_bounded() {
    let (limiter, clock) = with(Limiter::builder().debt_max(tokens(20)));
    let rule = limiter.default_rule();
    let settled = rule.reserve("ann", Cost::tokens(50), MINUTE).unwrap().commit(Cost::tokens(90)).unwrap();
    assert_eq!((settled.charged, settled.forgiven), (tokens(20), tokens(20)));
    let Verdict::Deny { wait, remaining, .. } = rule.check("ann") else { panic!() };
    assert_eq!((wait, remaining), (Span::from_millis(2_100), Tokens::ZERO));
    clock.advance(Span::from_secs(2));
    assert_eq!(balance(&limiter), 0);
    clock.advance(Span::from_millis(100));
    assert!(rule.check("ann").is_admitted());
}

/// PROTOCOLS 9: giving all of it back would be ten tokens over.
#[test]
fn a_late_cancellation_gives_no_more_than_if_nothing_had_been_reserved() {
    let (limiter, clock) = limiter();
    let rule = limiter.default_rule();
    let reservation = rule.reserve("ann", Cost::tokens(50), MINUTE).unwrap();
    clock.advance(Span::from_secs(2));
    assert!(rule.check_n("ann", Cost::tokens(20)).is_admitted());
    // Without the reservation the bucket would have been full, so 20 of the 50 are lost.
    assert_eq!(reservation.cancel().unwrap().returned, tokens(30));
    assert_eq!(balance(&limiter), 30);
}

#[test]
fn a_reservation_is_settled_once_and_in_time() {
    let (limiter, clock) = limiter();
    let rule = limiter.default_rule();
    let reservation = rule.reserve("ann", Cost::tokens(50), MINUTE).unwrap();
    assert_eq!(limiter.stats().reservations_open, 1);
    reservation.commit(Cost::tokens(50)).unwrap();
    assert_eq!(reservation.cancel(), Err(SettleError::Unknown));
    assert_eq!(reservation.commit(Cost::ONE), Err(SettleError::Unknown));
    clock.advance(Span::from_secs(5));
    let late = rule.reserve("ann", Cost::tokens(50), MINUTE).unwrap();
    clock.advance(MINUTE);
    assert_eq!(late.cancel(), Err(SettleError::Expired));
    let named = limiter.reservation(late.id().to_string().parse().unwrap());
    assert_eq!(named.cancel(), Err(SettleError::Unknown));
    assert_eq!(limiter.stats().reservations_open, 0);
}

#[test]
fn a_reservation_over_several_buckets_is_all_or_nothing_and_settled_together() {
    let (limiter, _) = limiter();
    let user = limiter.rule("user", limit()).unwrap();
    let log = limiter.rule("log", SlidingLog::new(Burst::tokens(40), MINUTE).unwrap()).unwrap();
    let both = |one, other| {
        let charges = [user.charge_n("ann", Cost::tokens(one)), log.charge_n("ann", Cost::tokens(other))];
        limiter.reserve(&charges, MINUTE)
    };
    let holdings = || [&user, &log].map(|rule| rule.balance("ann").unwrap().whole());
    let ReserveError::Denied(Verdict::Never { denied }) = both(10, 41).unwrap_err() else { panic!() };
    assert!(denied.contains(1) && !denied.contains(0));
    assert_eq!(holdings(), [50, 40]);
    let reservation = both(10, 20).unwrap();
    assert_eq!(reservation.commit(Cost::ONE), Err(SettleError::CostsDiffer { charge: 1 }));
    let one_cost = [Cost::ONE];
    assert_eq!(reservation.commit_each(&one_cost), Err(SettleError::WrongCount { charges: 2, costs: 1 }));
    assert_eq!(holdings(), [40, 20]);
    reservation.commit_each(&[Cost::tokens(1), Cost::tokens(30)]).unwrap();
    assert_eq!(holdings(), [49, 10]);
    both(5, 5).unwrap().cancel().unwrap();
    assert_eq!(holdings(), [49, 10]);
}

#[test]
fn a_place_is_reserved_and_given_back_by_either_settlement() {
    let (limiter, _) = limiter();
    let places = limiter.rule("places", Concurrency::new(1, MINUTE).unwrap()).unwrap();
    for commit in [true, false] {
        let reservation = places.reserve("ann", Cost::ONE, MINUTE).unwrap();
        assert!(places.reserve("ann", Cost::ONE, MINUTE).is_err());
        if commit {
            reservation.commit(Cost::ONE).unwrap()
        } else {
            reservation.cancel().unwrap()
        };
    }
    assert!(places.enter("ann").is_ok());
}

#[test]
fn no_more_reservations_are_open_than_may_be() {
    let (limiter, clock) = with(Limiter::builder().reservations_max(3));
    let rule = limiter.default_rule();
    let open: Vec<_> = (0..3).map(|_| rule.reserve("ann", Cost::ONE, MINUTE).unwrap()).collect();
    let error = rule.reserve("ann", Cost::ONE, MINUTE).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`reservations_max` is 3, and so many are open; settle them sooner, give them shorter timeouts, or allow more"
    );
    assert_eq!(balance(&limiter), 47, "nothing is charged for what is refused");
    assert_eq!(rule.reserve("ann", Cost::ONE, Span::ZERO).unwrap_err(), ReserveError::ZeroTimeout);
    open[0].cancel().unwrap();
    assert!(rule.reserve("ann", Cost::ONE, MINUTE).is_ok());
    clock.advance(MINUTE);
    let reserved = (0..200).filter(|_| rule.reserve("bob", Cost::micros(1), MINUTE).is_ok()).count();
    assert_eq!(reserved, 3);
}

#[test]
fn a_retried_check_is_charged_once_within_its_lifetime() {
    let (limiter, clock) = limiter();
    let rule = limiter.default_rule();
    let check = |id: &str| rule.check_once(id, MINUTE, "ann", Cost::tokens(20));
    let first = check("order-1");
    assert_eq!((first, check("order-1")), (first, first));
    assert!(check("order-2").is_admitted());
    assert!(!check("order-3").is_admitted(), "10 are left");
    assert!(rule.check_once("order-1", MINUTE, "ann", Cost::tokens(10)).is_admitted(), "not the same check");
    assert_eq!(balance(&limiter), 0);
    clock.advance(Span::from_secs(2));
    assert!(check("order-3").is_admitted(), "a denial is not remembered");
    assert_eq!(check("order-1"), first);
    clock.advance(Span::from_secs(58));
    assert_eq!(balance(&limiter), 50);
    assert!(check("order-1").is_admitted());
    assert_eq!(balance(&limiter), 30, "its lifetime is over");
    assert_eq!(check(""), Verdict::Invalid(CheckError::EmptyIdempotencyKey));
}

#[test]
fn a_retry_of_lower_priority_is_not_told_what_a_higher_one_was() {
    let (limiter, _) = limiter();
    let rule = limiter.default_rule();
    let bulk = rule.of_priority(Priority::Bulk, Shares::NONE.keep(Priority::Critical, 99).unwrap());
    assert!(rule.check_once("order-7", MINUTE, "ann", Cost::ONE).is_admitted());
    assert!(!bulk.check_once("order-7", MINUTE, "ann", Cost::ONE).is_admitted(), "bulk may not spend here");
    assert!(rule.check_once("order-7", MINUTE, "ann", Cost::ONE).is_admitted());
    assert_eq!(balance(&limiter), 49, "charged once");
}

#[test]
fn idempotency_keys_that_cannot_be_remembered_are_charged_and_counted() {
    let (limiter, _) = with(Limiter::builder().idempotency_keys_max(2));
    let rule = limiter.default_rule();
    for id in 0..5_u64 {
        for _ in 0..2 {
            assert!(rule.check_once(id, MINUTE, "ann", Cost::ONE).is_admitted());
        }
    }
    assert_eq!(balance(&limiter), 50 - 2 - 6);
    assert_eq!((limiter.stats().retries_unguarded, limiter.stats().idempotency_keys), (6, 2));
}

#[test]
fn critical_traffic_is_the_last_to_be_denied() {
    let (limiter, clock) = limiter();
    let shares = Shares::NONE.keep(Priority::Critical, 10).unwrap().keep(Priority::Important, 20).unwrap();
    let order = [Priority::Bulk, Priority::Normal, Priority::Important, Priority::Critical];
    let rules = order.map(|priority| limiter.default_rule().of_priority(priority, shares));
    let admitted = |rule: &tollgate::Rule| (0..100).filter(|_| rule.check("ann").is_admitted()).count();
    assert_eq!(rules.each_ref().map(admitted), [35, 0, 10, 5]);
    let Verdict::Deny { wait, remaining, .. } = rules[0].check("ann") else { panic!() };
    assert_eq!((wait, remaining), (Span::from_millis(1_600), Tokens::ZERO));
    clock.advance(wait);
    assert_eq!(rules[0].peek("ann").to_string(), "admitted, 0 left");
    let joint = limiter.check_all(&[rules[0].charge_n("ann", Cost::tokens(2))]);
    assert!(!joint.is_admitted());
    assert!(limiter.check_all(&[rules[0].charge("ann")]).is_admitted());
    assert!(matches!(rules[0].check_n("ann", Cost::tokens(36)), Verdict::Never { .. }));
    assert_eq!(Shares::NONE.keep(Priority::Critical, 100), Err(ShareError::TooMuch { percent: 100 }));
    assert_eq!(Shares::NONE.keep(Priority::Bulk, 1), Err(ShareError::OfBulk));
}

#[test]
fn parts_of_a_path_do_not_run_together() {
    let (limiter, _) = limiter();
    let rule = limiter.default_rule();
    let paths: [&[&str]; 5] = [&["ab", "c"], &["a", "bc"], &["abc"], &["ab", "c", ""], &["", "ab", "c"]];
    for path in paths {
        assert_eq!(rule.check(Path(path)).to_string(), "admitted, 49 left", "{path:?}");
    }
    assert_eq!(rule.check("abc").to_string(), "admitted, 49 left", "text is no path");
    let long = "x".repeat(600);
    assert!(matches!(rule.check(Path(&[&long])), Verdict::Invalid(CheckError::KeyTooLong { bytes: 602 })));
    assert_eq!(rule.check(Path(&[])), Verdict::Invalid(CheckError::EmptyKey));
}

#[test]
fn live_buckets_are_those_that_are_not_full() {
    let (limiter, clock) = limiter();
    let rule = limiter.default_rule();
    let pro = rule.tier("pro", Limit::new(Rate::per_second(1), Burst::tokens(500)).unwrap()).unwrap();
    let log = limiter.rule("log", SlidingLog::new(Burst::tokens(5), MINUTE).unwrap()).unwrap();
    assert!(rule.check_n("ann", Cost::tokens(20)).is_admitted());
    assert!(pro.check_n("bob", Cost::tokens(5)).is_admitted());
    assert!(log.check("cid").is_admitted());
    rule.reserve("dan", Cost::ONE, MINUTE).unwrap().commit(Cost::tokens(60)).unwrap();
    let seen = |limiter: &Limiter| {
        let mut seen: Vec<_> = limiter
            .live_buckets()
            .map(|bucket| (bucket.rule, bucket.tier, bucket.fingerprint, bucket.balance_micros, bucket.full))
            .collect();
        seen.sort();
        seen
    };
    let mut expected = vec![
        ("default".into(), String::new(), rule.fingerprint("ann").unwrap(), 30_000_000, tokens(50)),
        ("default".into(), "pro".into(), pro.fingerprint("bob").unwrap(), 495_000_000, tokens(500)),
        ("default".into(), String::new(), rule.fingerprint("dan").unwrap(), -10_000_000, tokens(50)),
        ("log".into(), String::new(), log.fingerprint("cid").unwrap(), 4_000_000, tokens(5)),
    ];
    expected.sort();
    assert_eq!(seen(&limiter), expected);
    clock.advance(MINUTE);
    assert_eq!(seen(&limiter), []);
}

#[test]
fn a_live_log_is_told_by_the_limit_in_force() {
    let (limiter, _) = limiter();
    let log = |quota| SlidingLog::new(Burst::tokens(quota), MINUTE).unwrap();
    let rule = limiter.rule("log", log(10)).unwrap();
    assert!(rule.check_n("ann", Cost::tokens(3)).is_admitted());
    for quota in [12, 2] {
        rule.set_limit(log(quota)).unwrap();
        let live = limiter.live_buckets().next().unwrap();
        assert_eq!((live.balance_micros, live.full), ((quota as i64 - 3) * 1_000_000, tokens(quota)));
    }
}

#[test]
fn the_balance_is_told_as_it_is_below_one_token_and_in_large_steps() {
    let half = Limit::new(Rate::per_hour(1), Burst::micros(500_000)).unwrap();
    let limiter = Limiter::builder().clock(Clock::manual(Moment::from_nanos(1 << 50))).build(half).unwrap();
    assert_eq!(limiter.default_rule().balance("ann").unwrap(), Tokens::from_micros(500_000));
    let million = SlidingCounter::new(Burst::tokens(1_000_000), Span::from_secs(60)).unwrap();
    let rule = limiter.rule("large", million).unwrap();
    assert_eq!(rule.balance("ann").unwrap().whole(), 1_000_000);
}
