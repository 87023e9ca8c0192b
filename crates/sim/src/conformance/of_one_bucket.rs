//! Scenarios with one bucket and one limit: A1, A2, A4, A6, A7, A8, A13, and what peers got wrong.

use tollgate_core::{Cost, Rate, Span};

use super::stage::{Played, Stage, admit, charge, deny, limit, never};

/// A1.
pub(super) fn refill_is_continuous(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(10), 50));
    stage.expect(&charge(rule, "a", Cost::tokens(50)), admit(0))?;
    stage.pass(Span::from_millis(25));
    stage.expect(&charge(rule, "a", Cost::micros(250_000)), admit(0))?;
    stage.pass(Span::from_millis(50));
    stage.expect(&charge(rule, "a", Cost::micros(400_000)), admit(100_000))
}

/// A2: 1000 per minute is never 1998 in two seconds.
pub(super) fn two_windows_gain_nothing(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_minute(1_000), 1_000));
    stage.pass(Span::from_secs(59));
    stage.expect_count(1_000, &charge(rule, "a", Cost::ONE), 1_000)?;
    stage.pass(Span::from_secs(2));
    stage.expect_count(1_000, &charge(rule, "a", Cost::ONE), 33)
}

/// A4.
pub(super) fn a_denied_check_spends_nothing(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(10), 50));
    stage.expect(&charge(rule, "a", Cost::tokens(47)), admit(3_000_000))?;
    for _ in 0..100 {
        stage.expect(&charge(rule, "a", Cost::tokens(4)), deny(Span::from_millis(100), 3_000_000, &[0]))?;
    }
    stage.expect(&charge(rule, "a", Cost::tokens(3)), admit(0))
}

/// A11, as far as it is about peeking.
pub(super) fn a_peek_spends_nothing(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(10), 2));
    let one = charge(rule, "a", Cost::ONE);
    for _ in 0..5 {
        stage.expect_peek(&one, admit(1_000_000))?;
    }
    stage.expect(&one, admit(1_000_000))?;
    stage.expect(&one, admit(0))?;
    stage.expect_peek(&one, deny(Span::from_millis(100), 0, &[0]))?;
    stage.expect_peek(&charge(rule, "a", Cost::tokens(3)), never(&[0]))
}

/// A6: the smallest time that the store can tell before the wait is over the check is denied, then it is admitted.
pub(super) fn the_wait_is_exact(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::new(7, Span::from_secs(11)), 4));
    let most = charge(rule, "a", Cost::micros(3_500_000));
    stage.expect(&most, admit(500_000))?;
    // 3 tokens at 7 in 11 s are 33/7 s, rounded up to the nanosecond.
    stage.expect(&most, deny(Span::from_nanos(4_714_285_715), 500_000, &[0]))?;
    stage.pass_almost(Span::from_nanos(4_714_285_715));
    stage.expect(&most, deny(Span::from_nanos(1), 3_499_999, &[0]))?;
    stage.tick();
    stage.expect(&most, admit(0))
}

/// A7.
pub(super) fn a_cost_above_the_burst_is_never(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(10), 50));
    stage.expect(&charge(rule, "a", Cost::micros(50_000_001)), never(&[0]))?;
    stage.expect(&charge(rule, "a", Cost::micros(u64::MAX)), never(&[0]))?;
    stage.expect(&charge(rule, "a", Cost::tokens(50)), admit(0))?;
    stage.expect(&charge(rule, "a", Cost::tokens(51)), never(&[0]))
}

/// A8.
pub(super) fn a_clock_that_steps_back_gives_nothing(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(10), 50));
    stage.pass(Span::from_secs(60));
    let (now, one) = (stage.now, charge(rule, "a", Cost::ONE));
    stage.expect(&charge(rule, "a", Cost::tokens(50)), admit(0))?;
    for back in [stage.grain(), Span::from_millis(10), Span::from_millis(999)] {
        stage.now = now - back;
        stage.expect_denied(&one)?;
    }
    stage.now = now + Span::from_millis(100) - stage.grain();
    stage.expect_denied(&one)?;
    stage.now = now + Span::from_millis(100);
    stage.expect_admitted(&one)
}

/// A8: 6001 requests in a minute. One node would admit 650 (the 651st is the first, which the node ahead sees refilled).
pub(super) fn two_nodes_a_second_apart_admit_no_more_than_one(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(10), 50));
    let (start, one, mut admitted) = (stage.now, charge(rule, "a", Cost::ONE), 0);
    for request in 0..=6_000 {
        let ahead = Span::from_millis(if request % 2 == 0 { 0 } else { 990 });
        stage.now = start + Span::from_millis(10 * request) + ahead;
        admitted += usize::from(stage.check(&one).is_admitted());
    }
    stage.compare(&format!("{admitted} of 6001 admitted, at most 651"), &true, &(admitted <= 651))
}

/// A13: one request every 1/60 s against 10/s, burst 50.
pub(super) fn the_worked_example(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(10), 50));
    let (start, one, mut admitted) = (stage.now, charge(rule, "a", Cost::ONE), Vec::new());
    for request in 0..600_u64 {
        stage.now = start;
        stage.pass(Span::from_nanos((request * 1_000_000_000).div_ceil(60)));
        admitted.push(stage.check(&one).is_admitted());
    }
    let count = |range: &[bool]| range.iter().filter(|admitted| **admitted).count();
    stage.compare("admitted in the first second", &59, &count(&admitted[..60]))?;
    stage.compare("the first denial", &Some(59), &admitted.iter().position(|admitted| !admitted))?;
    let steady = admitted[300..].chunks(6).all(|six| count(six) == 1);
    stage.compare("1 in 6 in the steady state", &true, &steady)
}

/// Elsewhere a burst of 10 admits 17 after 17 s of idling.
pub(super) fn idle_time_gives_no_credit_above_the_burst(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(1), 10));
    let one = charge(rule, "a", Cost::ONE);
    for pause in [Span::ZERO, Span::from_secs(17), Span::from_secs(100_000)] {
        stage.pass(pause);
        stage.expect_count(100, &one, 10)?;
    }
    Ok(())
}

/// Elsewhere the state's lifetime is computed as 0, and nothing is limited.
pub(super) fn a_burst_of_one_limits(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(1), 1));
    let one = charge(rule, "a", Cost::ONE);
    stage.expect_count(5, &one, 1)?;
    stage.pass(Span::from_millis(999));
    stage.expect_count(5, &one, 0)?;
    stage.pass(Span::from_millis(1));
    stage.expect_count(5, &one, 1)
}

/// Elsewhere lifetimes in milliseconds and intervals in nanoseconds are truncated.
pub(super) fn rates_above_a_thousand_a_second_limit(stage: &mut Stage<'_>) -> Played {
    for (name, per_second) in [("fast", 2_000), ("faster", 1_000_000), ("fastest", 1_000_000_000)] {
        let every = Span::from_nanos(1_000_000_000 / per_second);
        if every < stage.grain() {
            // The store cannot tell one token from the next.
            continue;
        }
        let rule = stage.rule(name, limit(Rate::per_second(per_second), 10));
        let one = charge(rule, "a", Cost::ONE);
        stage.expect_count(30, &one, 10)?;
        stage.pass(every);
        stage.expect_count(5, &one, 1)?;
    }
    Ok(())
}

/// Elsewhere the state is forgotten before the bucket is full.
pub(super) fn a_slow_bucket_is_still_limited_after_a_pause(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("password-reset", limit(Rate::new(3, Span::from_secs(1_000)), 5));
    let one = charge(rule, "a", Cost::ONE);
    stage.expect_count(10, &one, 5)?;
    stage.pass(Span::from_secs(60));
    stage.expect_count(10, &one, 0)?;
    stage.pass(Span::from_secs(940));
    stage.expect_count(10, &one, 3)
}
