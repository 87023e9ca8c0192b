//! A reset forgives, once: what was taken before it is not given back as well.

use tollgate::{
    Algorithm, Burst, Concurrency, Cost, FixedWindow, Left, Limiter, Rule, SlidingCounter, SlidingLog, Span,
    Window,
};

use super::{DAY, MINUTE, admitted, slow, with};

/// Whose charges can be given back: all but places and a leaky bucket.
fn algorithms(quota: u64) -> [(&'static str, Algorithm); 4] {
    [
        ("bucket", slow(quota).into()),
        ("window", FixedWindow::new(Burst::tokens(quota), Window::DAY).unwrap().into()),
        ("counter", SlidingCounter::new(Burst::tokens(quota), DAY).unwrap().into()),
        ("log", SlidingLog::new(Burst::tokens(quota), DAY).unwrap().into()),
    ]
}

#[test]
fn a_reset_and_a_cancellation_do_not_give_the_same_tokens_twice() {
    for pause in [Span::ZERO, Span::from_millis(1)] {
        let (limiter, clock) = with(Limiter::builder(), slow(5));
        for (name, algorithm) in algorithms(5) {
            let rule = limiter.rule(name, algorithm).unwrap();
            let held = rule.reserve("ann", Cost::tokens(5), MINUTE).unwrap();
            clock.advance(pause);
            rule.reset("ann").unwrap();
            assert_eq!(admitted(&rule), 5, "{name}");
            assert_eq!(held.cancel().unwrap().returned.whole(), 0, "{name}");
            assert_eq!(admitted(&rule), 0, "{name}");
        }
    }
}

#[test]
fn a_reset_forgives_no_others_reservations_and_none_that_are_made_after_it() {
    let (limiter, _) = with(Limiter::builder(), slow(5));
    for (name, algorithm) in algorithms(5) {
        let rule = limiter.rule(name, algorithm).unwrap();
        let others = rule.reserve("bob", Cost::tokens(5), MINUTE).unwrap();
        rule.reset("ann").unwrap();
        let later = rule.reserve("ann", Cost::tokens(5), MINUTE).unwrap();
        assert_eq!(others.cancel().unwrap().returned.whole(), 5, "{name}");
        assert_eq!(later.cancel().unwrap().returned.whole(), 5, "{name}");
    }
}

#[test]
fn an_overrun_is_charged_also_after_a_reset() {
    let (limiter, _) = with(Limiter::builder(), slow(5));
    let rule = limiter.default_rule();
    let held = rule.reserve("ann", Cost::tokens(2), MINUTE).unwrap();
    rule.reset("ann").unwrap();
    assert_eq!(held.commit(Cost::tokens(4)).unwrap().charged.whole(), 2);
    assert_eq!(admitted(rule), 3);
}

fn places(limiter: &Limiter) -> Rule {
    limiter.rule("places", Concurrency::new(1, MINUTE).unwrap()).unwrap()
}

/// The bucket is forgotten while it is empty, and with it all that its word could say of the reset.
#[test]
fn a_guard_from_before_a_reset_frees_nobody_elses_place_in_a_busy_table() {
    let (limiter, _) = with(Limiter::builder().keys_max(1), slow(1));
    let rule = places(&limiter);
    let before = rule.enter("ann").unwrap();
    rule.reset("ann").unwrap();
    let others: Vec<_> = (0..500_u64).filter_map(|client| rule.enter(client).ok()).collect();
    drop(others);
    let after = rule.enter("ann").unwrap();
    assert_eq!(before.leave(), Left::TooLate);
    assert!(rule.enter("ann").is_err(), "two at work in one place");
    assert_eq!(after.leave(), Left::InTime);
}

#[test]
fn a_guard_from_before_a_reset_frees_nobody_elses_place_in_a_table_with_room() {
    let (limiter, _) = with(Limiter::builder().keys_max(1_000), slow(5));
    let rule = places(&limiter);
    let before: Vec<_> = (0..200_u64).map(|client| rule.enter(client).unwrap()).collect();
    for client in 0..200_u64 {
        rule.reset(client).unwrap();
    }
    for client in 0..500_u64 {
        assert!(limiter.check(client).is_admitted());
    }
    let after: Vec<_> = (0..200_u64).map(|client| rule.enter(client).unwrap()).collect();
    drop(before);
    assert!((0..200_u64).all(|client| rule.enter(client).is_err()), "two at work in one place");
    drop(after);
}

#[test]
fn a_lost_place_is_free_after_one_and_a_half_timeouts_however_often_it_was_reset() {
    let (limiter, clock) = with(Limiter::builder(), slow(1));
    let rule = places(&limiter);
    for _ in 0..40 {
        std::mem::forget(rule.enter("ann").unwrap());
        rule.reset("ann").unwrap();
    }
    std::mem::forget(rule.enter("ann").unwrap());
    clock.advance(MINUTE);
    assert!(rule.enter("ann").is_err());
    clock.advance(Span::from_secs(30));
    assert!(rule.enter("ann").is_ok());
}
