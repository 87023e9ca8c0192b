//! Corners of the algorithms that were wrong once, each by its smallest case; and what their documentation says of itself.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use tollgate_core::{
    Algorithm, Burst, COUNTER_TOKENS_MAX, Concurrency, Cost, Demand, FixedWindow, LeakyBucket, Limit, Log,
    Mark, Moment, Rate, Ruler, SlidingCounter, SlidingLog, Span, Spend, Start, Tokens, Window,
};
use tollgate_sim::seeds::{any_magnitude, for_each_seed};

const NOW: Moment = Moment::from_nanos(1_000);
const START: Start = Start { now: NOW, offset: 0, origin: 0 };

fn ruler(algorithm: impl Into<Algorithm>) -> Ruler {
    Ruler::new(algorithm.into(), START)
}

fn one_of_each() -> [Ruler; 5] {
    let (ten, second) = (Burst::tokens(10), Span::from_secs(1));
    [
        ruler(Limit::new(Rate::per_second(1), ten).unwrap()),
        ruler(LeakyBucket::new(Rate::per_second(1), ten).unwrap()),
        ruler(FixedWindow::new(ten, Window::DAY).unwrap()),
        ruler(SlidingCounter::new(ten, second).unwrap()),
        ruler(Concurrency::new(10, second).unwrap()),
    ]
}

fn paid(ruler: &Ruler, mark: Mark, demand: Demand, now: Moment) -> Mark {
    match ruler.reading(now).spend(mark, demand) {
        Spend::Paid { mark, .. } => mark,
        short @ Spend::Short { .. } => panic!("{short:?}"),
    }
}

#[test]
fn a_share_to_keep_beyond_every_burst_admits_nobody() {
    for ruler in one_of_each() {
        let reading = ruler.reading(NOW);
        for keep in [u64::MAX, 1 << 63, (1 << 63) + 1].map(Tokens::from_micros) {
            let demand = Demand { cost: Cost::micros(1), keep };
            assert!(ruler.never_admits(demand));
            let answer = reading.spend(reading.full_mark(), demand);
            assert!(matches!(answer, Spend::Short { held: Tokens::ZERO, .. }), "{answer:?} of {ruler:?}");
        }
    }
}

#[test]
fn what_cannot_be_met_once_rounded_up_is_never_admitted() {
    // 1,048,577 micro-tokens are counted in hundredths of a token: 104 of them.
    let counter = ruler(SlidingCounter::new(Burst::micros(1_048_577), Span::from_secs(1)).unwrap());
    assert_eq!(counter.full(), Tokens::from_micros(1_040_000));
    assert!(counter.never_admits(Demand::of(Cost::micros(1_048_577))));
    assert!(!counter.never_admits(Demand::of(Cost::micros(1_040_000))));
    // One and a half places are two, and half a place to keep is one.
    let places = ruler(Concurrency::new(2, Span::from_secs(1)).unwrap());
    let demand = Demand { cost: Cost::micros(1_500_000), keep: Tokens::from_micros(500_000) };
    assert!(places.never_admits(demand));
    assert!(!places.never_admits(Demand { keep: Tokens::ZERO, ..demand }));
}

#[test]
fn the_debt_of_the_largest_sliding_counter_saturates() {
    let counter = ruler(SlidingCounter::new(Burst::tokens(COUNTER_TOKENS_MAX), Span::from_secs(1)).unwrap());
    let mut mark = counter.reading(NOW).full_mark();
    for window in 0..3 {
        let reading = counter.reading(NOW + Span::from_secs(window));
        mark = reading.adjust(mark, i64::MIN);
        mark = reading.adjust(mark, i64::MIN);
        assert!(reading.balance(mark) < 0 && !reading.is_full(mark));
    }
}

#[test]
fn a_log_counts_a_charge_until_the_end_of_time() {
    let limit = SlidingLog::new(Burst::micros(10), Span::from_secs(1)).unwrap();
    let (mut log, end) = (Log::default(), Moment::from_nanos(u64::MAX));
    log.charge(10, end - Span::from_nanos(5));
    assert_eq!(log.forget(&limit, end), 0);
    assert_eq!(log.balance(&limit, end), 0);
}

#[test]
fn a_log_forgets_a_debt_beyond_all_words_and_nothing_else_with_it() {
    let limit = SlidingLog::new(Burst::micros(10), Span::from_nanos(100)).unwrap();
    let mut log = Log::default();
    log.charge(u64::MAX, NOW);
    log.charge(7, NOW + Span::from_nanos(1));
    let later = NOW + Span::from_nanos(100);
    assert_eq!(log.balance(&limit, NOW), i64::MIN);
    assert_eq!(log.balance(&limit, later), 3);
    log.forget(&limit, later);
    assert_eq!(log.balance(&limit, later), 3);
}

#[test]
fn a_bucket_that_moves_to_a_longer_queue_takes_its_place_in_it_along() {
    let queue = |tokens| LeakyBucket::new(Rate::per_second(1), Burst::tokens(tokens)).unwrap();
    let (short, mark) = (ruler(queue(10)), ruler(queue(10)).reading(NOW).full_mark());
    let mark = paid(&short, mark, Demand::of(Cost::tokens(4)), NOW);
    for tokens in [100, 5, 3] {
        let other = short.sibling(queue(tokens).into(), Start { offset: 77, ..START }).unwrap();
        let moved = other.carry_over(mark, &short, NOW);
        assert_eq!(other.delay(moved, NOW), Span::from_secs(4), "in a queue of {tokens}");
        assert_eq!(other.reading(NOW).balance(moved), tokens.cast_signed() * 1_000_000 - 4_000_000);
    }
}

#[test]
fn nobody_waits_in_an_empty_queue_by_a_clock_behind_the_last_change() {
    let queue = |rate| LeakyBucket::new(Rate::per_second(rate), Burst::tokens(9)).unwrap();
    let changed = ruler(queue(1)).change(queue(2).into(), NOW + Span::from_nanos(50)).unwrap();
    let mark = changed.reading(NOW).full_mark();
    assert_eq!(changed.delay(mark, NOW), Span::ZERO);
}

/// As documented: those admitted before keep the departure that they were told.
#[test]
fn after_a_raise_of_the_rate_later_ones_may_leave_before_earlier_ones() {
    let queue = |rate| LeakyBucket::new(Rate::per_second(rate), Burst::tokens(100)).unwrap();
    let slow = ruler(queue(1));
    let mark = paid(&slow, slow.reading(NOW).full_mark(), Demand::of(Cost::tokens(60)), NOW);
    assert_eq!(slow.delay(mark, NOW), Span::from_secs(60));
    let fast = slow.change(queue(10).into(), NOW).unwrap();
    assert_eq!(fast.delay(mark, NOW), Span::from_secs(6), "the backlog is kept, and drains at the new rate");
}

#[test]
fn a_raised_quota_is_room_in_this_window_and_all_there_in_the_next() {
    let day = |tokens| Algorithm::from(FixedWindow::new(Burst::tokens(tokens), Window::DAY).unwrap());
    let old = ruler(day(10));
    let mark = paid(&old, old.reading(NOW).full_mark(), Demand::of(Cost::tokens(7)), NOW);
    let (raised, tomorrow) = (old.change(day(50), NOW).unwrap(), NOW + Span::from_secs(86_400));
    assert_eq!(raised.reading(NOW).balance(mark), 3_000_000);
    assert_eq!(raised.reading(tomorrow).balance(mark), 50_000_000);
    let raised_tomorrow = old.change(day(50), tomorrow).unwrap();
    assert_eq!(raised_tomorrow.reading(tomorrow).balance(mark), 10_000_000, "idle since yesterday");
    let lowered = raised.change(day(2), NOW).unwrap();
    assert_eq!(lowered.reading(NOW).balance(mark), 2_000_000);
}

#[test]
fn burst_credit_is_what_the_rate_mints_in_that_time_rounded_down() {
    for_each_seed(0..20_000, |rng| {
        let rate =
            Rate::new(any_magnitude(rng, 1_000_000_000), Span::from_nanos(any_magnitude(rng, 1 << 54)));
        let credit = Span::from_nanos(any_magnitude(rng, 1 << 50));
        let Ok(any) = Limit::new(rate, Burst::micros(1)) else { return };
        let [micros, nanos, _] = any.terms();
        let exact = u128::from(credit.as_nanos()) * u128::from(micros) / u128::from(nanos);
        match Limit::with_credit(rate, credit) {
            Ok(limit) => assert_eq!(u128::from(limit.burst().as_micros()), exact),
            Err(_) => assert!(exact == 0 || exact > 1_000_000_000_000_000_000, "{exact} is a burst"),
        }
    });
    let cloud = Limit::with_credit(Rate::per_second(10), Span::from_secs(300)).unwrap();
    assert_eq!(cloud.burst(), Tokens::from_micros(3_000_000_000));
}

/// As documented: a word knows its window modulo 65,535, and its generation modulo 16,383.
#[test]
fn a_bucket_left_alone_for_a_whole_round_of_numbers_looks_as_it_was_left_and_never_fuller() {
    let (window, all) = (Span::from_nanos(100), Demand::of(Cost::tokens(10)));
    let counter = ruler(SlidingCounter::new(Burst::tokens(10), window).unwrap());
    let places = ruler(Concurrency::new(10, Span::from_nanos(200)).unwrap());
    for (ruler, round, looks_left) in [(counter, 65_535, 18), (places, 16_383, 19)] {
        let mark = paid(&ruler, ruler.reading(NOW).full_mark(), all, NOW);
        let idle = |windows: u64| ruler.reading(NOW + Span::from_nanos(100 * windows));
        let wrong = (20..round + 100).filter(|windows| !idle(*windows).is_full(mark)).count();
        assert_eq!(wrong, looks_left);
        assert_eq!(idle(round).balance(mark), 0);
    }
}

/// As documented: the words of both are for clocks that are apart by 16 windows, or generations, at the most (A8).
#[test]
fn a_clock_that_is_further_behind_takes_a_word_for_an_old_one() {
    let (later, all) = (NOW + Span::from_nanos(1_650), Demand::of(Cost::tokens(10)));
    let counter = ruler(SlidingCounter::new(Burst::tokens(10), Span::from_nanos(100)).unwrap());
    let places = ruler(Concurrency::new(10, Span::from_nanos(200)).unwrap());
    for ruler in [counter, places] {
        let mark = paid(&ruler, ruler.reading(later).full_mark(), all, later);
        let seen = |back| ruler.reading(later - Span::from_nanos(back)).balance(mark);
        assert_eq!([seen(0), seen(100), seen(151), seen(1_650)], [0; 4]);
        assert_eq!(seen(1_651), 10_000_000, "17 windows behind");
    }
}
