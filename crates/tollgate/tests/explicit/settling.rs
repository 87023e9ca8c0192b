//! Refunds, resets and reservations of explicit buckets: bounded, and settled once.

use tollgate::{Cost, Limit, Limiter, ReserveError, SettleError, Span, Tokens, Verdict};

use super::world::{per_second, roomy, tokens};

fn left(limiter: &Limiter, key: &str, limit: &Limit) -> u64 {
    limiter.explicit().peek(key, limit, Cost::micros(0)).remaining.whole()
}

#[test]
fn a_refund_never_overfills() {
    let (limiter, _) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(1, 5));
    assert_eq!(explicit.refund("new", &limit, tokens(9)).unwrap().given, Tokens::ZERO, "it is full");
    assert!(explicit.check("a", &limit, tokens(3)).is_admitted());
    let given = explicit.refund("a", &limit, tokens(2)).unwrap();
    assert_eq!((given.given.whole(), given.balance.whole()), (2, 4));
    let given = explicit.refund("a", &limit, tokens(100)).unwrap();
    assert_eq!((given.given.whole(), given.balance.whole()), (1, 5));
}

#[test]
fn a_reset_fills_the_bucket_by_any_limit() {
    let (limiter, _) = roomy();
    let explicit = limiter.explicit();
    assert!(explicit.check("a", &per_second(1, 5), tokens(5)).is_admitted());
    explicit.reset("a").unwrap();
    assert_eq!(left(&limiter, "a", &per_second(1, 5)), 5);
    assert_eq!(left(&limiter, "a", &per_second(1, 500)), 500);
    explicit.reset("never seen").unwrap();
    assert_eq!(left(&limiter, "never seen", &per_second(1, 5)), 5);
}

#[test]
fn a_reservation_is_committed_at_its_true_cost_or_cancelled() {
    let (limiter, _) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(1, 100));
    let reserve =
        |cost| explicit.reserve(&[explicit.charge("a", &limit, tokens(cost))], Span::from_secs(60)).unwrap();
    let (one, other) = (reserve(30), reserve(20));
    assert_eq!(left(&limiter, "a", &limit), 50);
    assert_eq!(one.commit(tokens(10)).unwrap().returned.whole(), 20);
    assert_eq!(limiter.reservation(other.id()).cancel().unwrap().returned.whole(), 20);
    assert_eq!(left(&limiter, "a", &limit), 90);
    assert_eq!(one.cancel(), Err(SettleError::Unknown), "it is settled");
}

#[test]
fn an_overrun_is_debt_that_is_repaid_first_and_bounded() {
    let (limiter, clock) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(1, 10));
    let reserved = explicit.reserve(&[explicit.charge("a", &limit, tokens(8))], Span::from_secs(60)).unwrap();
    let settled = reserved.commit(tokens(15)).unwrap();
    assert_eq!((settled.charged.whole(), settled.forgiven), (7, Tokens::ZERO));
    let told = explicit.check("a", &limit, Cost::ONE);
    assert_eq!((super::world::wait_of(&told), told.remaining), (Span::from_secs(6), Tokens::ZERO));
    let deeper = explicit.reserve(&[explicit.charge("b", &limit, tokens(10))], Span::from_secs(60)).unwrap();
    let settled = deeper.commit(tokens(1_000)).unwrap();
    assert_eq!((settled.charged.whole(), settled.forgiven.whole()), (10, 980));
    clock.advance(Span::from_secs(6));
    assert!(explicit.check("a", &limit, Cost::ONE).is_admitted());
}

/// Burst 10 at 1/s: had nothing been reserved, the bucket would have been full all the time.
#[test]
fn a_cancelled_reservation_leaves_no_more_than_if_it_had_never_been() {
    let (limiter, clock) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(1, 10));
    let reserved =
        explicit.reserve(&[explicit.charge("a", &limit, tokens(10))], Span::from_secs(60)).unwrap();
    clock.advance(Span::from_secs(4));
    assert!(explicit.check("a", &limit, tokens(4)).is_admitted());
    // Without it: 10, four spent, so 6.
    assert_eq!(reserved.cancel().unwrap().returned.whole(), 6);
    assert_eq!(left(&limiter, "a", &limit), 6);
}

#[test]
fn a_reset_forgives_once() {
    let (limiter, _) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(1, 10));
    let reserved =
        explicit.reserve(&[explicit.charge("a", &limit, tokens(10))], Span::from_secs(60)).unwrap();
    explicit.reset("a").unwrap();
    assert!(explicit.check("a", &limit, tokens(10)).is_admitted());
    assert_eq!(reserved.cancel().unwrap().returned, Tokens::ZERO);
    assert_eq!(left(&limiter, "a", &limit), 0);
}

#[test]
fn settling_after_the_limit_changed_takes_nothing_from_the_new_one() {
    let (limiter, clock) = roomy();
    let (explicit, small, large) = (limiter.explicit(), per_second(1, 10), per_second(1, 1_000));
    let reserved =
        explicit.reserve(&[explicit.charge("a", &small, tokens(5))], Span::from_secs(6_000)).unwrap();
    clock.advance(Span::from_secs(500));
    assert_eq!(explicit.check("a", &large, Cost::ONE).remaining.whole(), 504);
    assert_eq!(reserved.cancel().unwrap().returned, Tokens::ZERO, "by its own limit it was full long ago");
    assert_eq!(left(&limiter, "a", &large), 504);
}

#[test]
fn a_reservation_that_times_out_stands_at_its_estimate() {
    let (limiter, clock) = roomy();
    let limit = Limit::new(tollgate::Rate::per_hour(1), tollgate::Burst::tokens(10)).unwrap();
    let explicit = limiter.explicit();
    let reserved =
        explicit.reserve(&[explicit.charge("a", &limit, tokens(10))], Span::from_secs(60)).unwrap();
    clock.advance(Span::from_secs(60));
    assert_eq!(reserved.cancel(), Err(SettleError::Expired));
    assert_eq!(left(&limiter, "a", &limit), 0);
}

#[test]
fn several_buckets_are_reserved_all_or_nothing_and_settled_together() {
    let (limiter, _) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(1, 10));
    let charges = [("a", 3), ("b", 4)].map(|(key, cost)| explicit.charge(key, &limit, tokens(cost)));
    let reserved = explicit.reserve(&charges, Span::from_secs(60)).unwrap();
    assert_eq!(reserved.commit(tokens(1)), Err(SettleError::CostsDiffer { charge: 1 }));
    reserved.commit_each(&[tokens(1), tokens(6)]).unwrap();
    assert_eq!((left(&limiter, "a", &limit), left(&limiter, "b", &limit)), (9, 4));
    let charges = [("a", 3), ("b", 5)].map(|(key, cost)| explicit.charge(key, &limit, tokens(cost)));
    let Err(ReserveError::Denied(Verdict::Deny { denied, .. })) =
        explicit.reserve(&charges, Span::from_secs(60))
    else {
        panic!()
    };
    assert!(denied.contains(1) && !denied.contains(0));
    assert_eq!(left(&limiter, "a", &limit), 9);
    assert_eq!(explicit.reserve(&charges, Span::ZERO).unwrap_err(), ReserveError::ZeroTimeout);
}

#[test]
fn a_retry_is_charged_once_and_only_if_it_is_the_same_check() {
    let (limiter, clock) = roomy();
    let (explicit, limit) =
        (limiter.explicit(), Limit::new(tollgate::Rate::per_hour(1), tollgate::Burst::tokens(10)).unwrap());
    let lifetime = Span::from_secs(60);
    let check = |once: &str, cost| {
        explicit.check_once(once, lifetime, &[explicit.charge("a", &limit, tokens(cost))]).remaining.whole()
    };
    assert_eq!([check("x", 2), check("x", 2), check("y", 2), check("x", 3), check("x", 2)], [8, 8, 6, 3, 8]);
    assert_eq!(left(&limiter, "a", &limit), 3);
    // A rule's check with the same key is another one.
    assert!(limiter.default_rule().check_once("x", lifetime, "a", Cost::ONE).is_admitted());
    clock.advance(lifetime);
    assert_eq!(check("x", 2), 1, "the key's lifetime is over");
    let told = explicit.check_once("", lifetime, &[explicit.charge("a", &limit, Cost::ONE)]);
    assert_eq!(told.verdict, Verdict::Invalid(tollgate::CheckError::EmptyIdempotencyKey));
    let told = explicit.check_once("z", Span::ZERO, &[explicit.charge("a", &limit, Cost::ONE)]);
    assert_eq!(told.verdict, Verdict::Invalid(tollgate::CheckError::ZeroLifetime));
}
