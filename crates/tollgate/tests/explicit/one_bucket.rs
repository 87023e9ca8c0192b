//! One bucket: the limit of the call, and what becomes of the balance when the next call has another.

use tollgate::{Burst, Cost, Limit, Moment, Rate, Span, Tokens, Verdict};

use super::world::{START, per_second, roomy, tokens, wait_of};

#[test]
fn a_fresh_key_is_full_and_is_charged() {
    let (limiter, _) = roomy();
    let told = limiter.explicit().check("a", &per_second(10, 50), tokens(20));
    assert_eq!(told.to_string(), "admitted, 30 left");
    assert_eq!((told.remaining.whole(), told.time_to_full, told.tightest), (30, Span::from_secs(2), 0));
}

#[test]
fn a_denied_check_spends_nothing_and_says_the_exact_wait() {
    let (limiter, clock) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(10, 50));
    assert!(explicit.check("a", &limit, tokens(45)).is_admitted());
    let told = explicit.check("a", &limit, tokens(7));
    assert_eq!((wait_of(&told), told.remaining.whole()), (Span::from_millis(200), 5));
    assert_eq!(told.time_to_full, Span::from_millis(4_500));
    clock.advance(wait_of(&told) - Span::from_nanos(1));
    assert!(!explicit.check("a", &limit, tokens(7)).is_admitted());
    clock.advance(Span::from_nanos(1));
    assert_eq!(explicit.check("a", &limit, tokens(7)).to_string(), "admitted, 0 left");
}

#[test]
fn a_cost_above_the_burst_is_never_admitted_and_still_says_what_is_there() {
    let (limiter, _) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(10, 50));
    assert!(explicit.check("a", &limit, tokens(20)).is_admitted());
    let told = explicit.check("a", &limit, tokens(51));
    assert!(matches!(told.verdict, Verdict::Never { .. }));
    assert_eq!((told.remaining.whole(), told.time_to_full), (30, Span::from_secs(2)));
}

#[test]
fn another_limit_on_a_live_key_keeps_its_balance() {
    let (limiter, clock) = roomy();
    let explicit = limiter.explicit();
    assert!(explicit.check("a", &per_second(10, 50), tokens(20)).is_admitted());
    assert_eq!(explicit.check("a", &per_second(10, 500), Cost::ONE).remaining.whole(), 29, "no free burst");
    assert_eq!(explicit.check("a", &per_second(10, 5), Cost::ONE).remaining.whole(), 4, "clamped");
    assert_eq!(explicit.check("a", &per_second(10, 50), Cost::ONE).remaining.whole(), 3, "for good");
    clock.advance(Span::from_secs(1));
    assert_eq!(
        explicit.peek("a", &per_second(20, 50), Cost::ONE).remaining.whole(),
        22,
        "the rate of the call"
    );
    assert_eq!(explicit.peek("a", &per_second(1, 50), Cost::ONE).remaining.whole(), 3);
}

#[test]
fn raising_the_rate_never_denies() {
    let (limiter, clock) = roomy();
    let explicit = limiter.explicit();
    assert!(explicit.check("a", &per_second(10, 50), tokens(50)).is_admitted());
    clock.advance(Span::from_millis(700));
    for rate in [11, 100, 1_000_000, 1_000_000_000] {
        assert!(explicit.peek("a", &per_second(rate, 50), tokens(7)).is_admitted(), "{rate}");
    }
}

#[test]
fn a_peek_writes_nothing_and_may_ask_for_nothing() {
    let (limiter, _) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(1, 5));
    assert_eq!(explicit.peek("new", &limit, Cost::micros(0)).remaining.whole(), 5);
    assert_eq!(explicit.peek("new", &limit, tokens(2)).to_string(), "admitted, 3 left");
    assert_eq!(limiter.stats().explicit.slots_taken, 0);
    assert!(explicit.check("new", &limit, tokens(5)).is_admitted());
    assert_eq!(wait_of(&explicit.peek("new", &limit, tokens(2))), Span::from_secs(2));
    assert!(explicit.peek("new", &limit, Cost::micros(0)).is_admitted(), "nothing is always there");
}

#[test]
fn a_clock_a_little_behind_credits_nothing_twice() {
    let (limiter, _) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(10, 50));
    let mut admitted = 0;
    for tick in 0..6_000 {
        let now = START + Span::from_millis(10 * tick) + Span::from_millis(990 * (tick % 2));
        admitted += u64::from(explicit.check_at("a", &limit, Cost::ONE, now).is_admitted());
    }
    assert!(admitted <= 50 + 10 * 61, "{admitted}");
}

#[test]
fn a_clock_set_back_for_good_is_followed_even_by_a_denial() {
    let (limiter, clock) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(10, 50));
    assert!(explicit.check("a", &limit, tokens(50)).is_admitted());
    clock.set(START - Span::from_secs(100));
    assert_eq!(wait_of(&explicit.peek("a", &limit, Cost::ONE)), Span::from_millis(100));
    assert_eq!(wait_of(&explicit.check("a", &limit, Cost::ONE)), Span::from_millis(100));
    clock.advance(Span::from_millis(100));
    assert!(
        explicit.check("a", &limit, Cost::ONE).is_admitted(),
        "it does not stay shut until the clock is back"
    );
}

#[test]
fn explicit_keys_and_rules_have_nothing_to_do_with_one_another() {
    let (limiter, _) = roomy();
    assert!(limiter.check("a").is_admitted());
    assert!(!limiter.check("a").is_admitted());
    assert!(limiter.explicit().check("a", &per_second(1, 1), Cost::ONE).is_admitted());
    assert!(limiter.explicit().check(42_u64, &per_second(1, 1), Cost::ONE).is_admitted());
    assert!(limiter.explicit().check("42", &per_second(1, 1), Cost::ONE).is_admitted());
}

#[test]
fn the_extremes_of_limits_are_exact() {
    let (limiter, clock) = roomy();
    let explicit = limiter.explicit();
    let slow = Limit::new(Rate::new(1, Span::from_secs(365 * 86_400)), Burst::tokens(5)).unwrap();
    assert!(explicit.check("slow", &slow, tokens(5)).is_admitted());
    // A micro-token is minted every 31.536 s, counted from the origin of time.
    let (year, wait) = (Span::from_secs(31_536_000), wait_of(&explicit.check("slow", &slow, Cost::ONE)));
    assert!(wait <= year && wait > year - Span::from_millis(31_536), "{wait}");
    let fast = Limit::new(Rate::per_second(1_000_000_000), Burst::tokens(1_000_000_000_000)).unwrap();
    let told = explicit.check("fast", &fast, tokens(1_000_000_000_000));
    assert_eq!((told.remaining, told.time_to_full), (Tokens::ZERO, Span::from_secs(1_000)));
    clock.set(Moment::from_nanos(u64::MAX));
    assert!(explicit.check("slow", &slow, tokens(5)).is_admitted());
    assert!(explicit.check("fast", &fast, tokens(1_000_000_000_000)).is_admitted());
}

/// What redis-cell answers to the same calls: whether it is limited, the limit, what remains, and whole seconds, rounded up,
/// to wait and until the bucket is full.
#[test]
fn the_known_answers_of_redis_cell_come_out() {
    let (limiter, _) = roomy();
    let throttle = |key: &str, max_burst: u64, count: u64, period: u64, quantity: u64| {
        let limit =
            Limit::new(Rate::new(count, Span::from_secs(period)), Burst::tokens(max_burst + 1)).unwrap();
        let told = match quantity {
            0 => limiter.explicit().peek(key, &limit, Cost::micros(0)),
            quantity => limiter.explicit().check(key, &limit, tokens(quantity)),
        };
        let wait = told.verdict.retry_after_secs().map_or(-1, u64::cast_signed);
        let full = told.time_to_full.as_nanos().div_ceil(1_000_000_000).cast_signed();
        let denied = i64::from(!told.is_admitted());
        [denied, (max_burst + 1).cast_signed(), told.remaining.whole().cast_signed(), wait, full]
    };
    assert_eq!(throttle("user123", 15, 30, 60, 1), [0, 16, 15, -1, 2]);
    assert_eq!(throttle("user123", 15, 30, 60, 0), [0, 16, 15, -1, 2], "a quantity of 0 reads the state");
    assert_eq!(throttle("k", 0, 1, 2, 1), [0, 1, 0, -1, 2]);
    assert_eq!(throttle("k", 0, 1, 2, 1), [1, 1, 0, 2, 2]);
    assert_eq!(throttle("user123", 15, 30, 60, 17), [1, 16, 15, -1, 2], "more than the limit");
}
