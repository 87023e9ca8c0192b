//! A reservation that is cancelled late, or by a clock that was set back, gives no more than if it had never been made.

use tollgate::{Algorithm, Burst, Cost, Limit, Limiter, Rate, SlidingCounter, Span};

use super::{MINUTE, START, admitted, limit, slow, with};

fn counter(quota: u64, window: Span) -> SlidingCounter {
    SlidingCounter::new(Burst::tokens(quota), window).unwrap()
}

/// How many are admitted at the moments in `when`, in milliseconds after the start. With a reservation, it is made at first and
/// cancelled before the last.
fn admitted_at(algorithm: Algorithm, when: [u64; 3], reserved: Option<u64>) -> usize {
    let (limiter, clock) = with(Limiter::builder(), slow(1));
    let rule = limiter.rule("any", algorithm).unwrap();
    let [first, back, last] = when.map(|millis| START + Span::from_millis(millis));
    let held = reserved.map(|tokens| rule.reserve("ann", Cost::tokens(tokens), MINUTE).unwrap());
    clock.set(first);
    let before = admitted(&rule);
    clock.set(back);
    if let Some(held) = held {
        held.cancel().unwrap();
    }
    clock.set(last);
    before + admitted(&rule)
}

#[test]
fn a_cancellation_by_a_clock_set_back_gives_nobody_elses_tokens() {
    let cases: [(Algorithm, [u64; 3], u64); 2] = [
        (counter(100, Span::from_secs(1)).into(), [1_500, 999, 1_999], 50),
        (limit(1, 10).into(), [50_000, 0, 50_000], 10),
    ];
    for (algorithm, when, reserved) in cases {
        let (with, without) =
            (admitted_at(algorithm, when, Some(reserved)), admitted_at(algorithm, when, None));
        assert!(with <= without, "{with} with a cancelled reservation, {without} without");
    }
}

#[test]
fn who_is_in_debt_is_given_back_what_is_its_own() {
    let (limiter, _) = with(Limiter::builder(), limit(1, 10));
    let rule = limiter.default_rule();
    let [held, overrun] = [9, 1].map(|cost| rule.reserve("ann", Cost::tokens(cost), MINUTE).unwrap());
    assert_eq!(overrun.commit(Cost::tokens(11)).unwrap().charged.whole(), 10);
    assert_eq!(held.cancel().unwrap().returned.whole(), 9);
}

/// A counter's word knows its window modulo 65,535.
#[test]
fn a_cancellation_after_many_windows_gives_nothing() {
    for later in [65_500, 65_519, 65_530, 65_535, 65_540] {
        let (limiter, clock) = with(Limiter::builder(), slow(1));
        let rule = limiter.rule("counter", counter(100, Span::from_millis(1))).unwrap();
        let held = rule.reserve("ann", Cost::tokens(100), Span::from_secs(3_600)).unwrap();
        // In use meanwhile: a bucket left alone for so long would look as it was left.
        clock.advance(Span::from_millis(60_000));
        assert!(rule.check("ann").is_admitted());
        clock.advance(Span::from_millis(later - 60_000));
        assert_eq!(admitted(&rule), 100);
        held.cancel().unwrap();
        assert_eq!(admitted(&rule), 0, "{later} windows later");
    }
}

/// A mark lies on its meter modulo 2^64 micro-tokens: five hours at this rate.
#[test]
fn a_cancellation_after_the_meter_has_gone_round_gives_nothing() {
    let fast = |burst| Limit::new(Rate::per_second(1_000_000_000), Burst::tokens(burst)).unwrap();
    for changes in [false, true] {
        let (limiter, clock) = with(Limiter::builder(), fast(1_000));
        let rule = limiter.default_rule();
        let held = rule.reserve("ann", Cost::tokens(1_000), Span::from_secs(86_400)).unwrap();
        clock.advance(Span::from_secs(9_000));
        assert!(rule.check("ann").is_admitted());
        clock.advance(Span::from_secs(9_200));
        if changes {
            rule.set_limit(fast(1_001)).unwrap();
        }
        assert!(rule.check_n("ann", Cost::tokens(1_000)).is_admitted());
        assert_eq!(held.cancel().unwrap().returned.whole(), 0);
        assert!(!rule.check_n("ann", Cost::tokens(1_000)).is_admitted());
    }
}

#[test]
fn a_reservation_of_a_day_gives_back_what_a_slow_bucket_has_not_refilled() {
    let (limiter, clock) = with(Limiter::builder(), slow(100));
    let rule = limiter.default_rule();
    let held = rule.reserve("ann", Cost::tokens(100), Span::from_secs(2 * 86_400)).unwrap();
    clock.advance(Span::from_secs(86_400));
    assert_eq!(held.cancel().unwrap().returned.whole(), 76, "24 were minted beyond full");
}
