//! Scenarios of sliding windows (A10): the log, which is exact, and the counter, which estimates.

use tollgate_core::{Burst, Cost, SlidingCounter, SlidingLog, Span};

use super::stage::{Played, Stage, admit, charge, deny, never, sound};

/// At most the quota in every window, whenever it begins; and not a moment too long.
pub(super) fn a_sliding_log_admits_its_quota_in_every_window(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", sound(SlidingLog::new(Burst::tokens(3), Span::from_secs(10))));
    let one = charge(rule, "a", Cost::ONE);
    for _ in 0..3 {
        stage.expect_count(1, &one, 1)?;
        stage.pass(Span::from_secs(3));
    }
    // Charged at 0, 3 and 6 s; it is 9 s.
    stage.expect(&one, deny(Span::from_secs(1), 0, &[0]))?;
    stage.expect(&charge(rule, "a", Cost::tokens(2)), deny(Span::from_secs(4), 0, &[0]))?;
    stage.pass_almost(Span::from_secs(1));
    stage.expect_denied(&one)?;
    stage.tick();
    stage.expect(&one, admit(0))?;
    stage.expect(&one, deny(Span::from_secs(3), 0, &[0]))?;
    stage.expect(&charge(rule, "a", Cost::tokens(4)), never(&[0]))
}

/// A quota spent at the end of one window is not there again at the beginning of the next.
pub(super) fn a_sliding_log_knows_no_boundary(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", sound(SlidingLog::new(Burst::tokens(100), Span::from_secs(10))));
    let one = charge(rule, "a", Cost::ONE);
    stage.pass(Span::from_millis(9_999));
    stage.expect_count(150, &one, 100)?;
    stage.pass(Span::from_millis(2));
    stage.expect_count(150, &one, 0)?;
    stage.pass(Span::from_millis(9_998));
    stage.expect_count(150, &one, 100)
}

/// What the window before has charged counts less the further it is away: a quarter into this one, three quarters.
pub(super) fn a_sliding_counter_fades_evenly(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", sound(SlidingCounter::new(Burst::tokens(8), Span::from_secs(8))));
    let charge_of = |tokens| charge(rule, "a", Cost::tokens(tokens));
    stage.expect(&charge_of(8), admit(0))?;
    stage.pass(Span::from_secs(8));
    stage.expect(&charge_of(2), deny(Span::from_secs(2), 0, &[0]))?;
    stage.pass(Span::from_secs(2));
    stage.expect(&charge_of(2), admit(0))?;
    stage.pass(Span::from_secs(4));
    stage.expect(&charge_of(5), deny(Span::from_secs(1), 4_000_000, &[0]))?;
    stage.pass_almost(Span::from_secs(1));
    stage.expect_denied(&charge_of(5))?;
    stage.tick();
    stage.expect(&charge_of(5), admit(0))
}

/// A sliding counter counts in steps; costs are rounded up to them, and what then never fits is told so.
pub(super) fn a_sliding_counter_rounds_costs_up(stage: &mut Stage<'_>) -> Played {
    // 1.5 million tokens and a half are 1.5 million steps of one.
    let quota = Burst::micros(1_500_000_500_000);
    let rule = stage.rule("api", sound(SlidingCounter::new(quota, Span::from_secs(10))));
    stage.expect(&charge(rule, "a", Cost::micros(1_500_000_500_000)), never(&[0]))?;
    stage.expect(&charge(rule, "a", Cost::micros(1)), admit(1_499_999_000_000))?;
    stage.expect_balance(&charge(rule, "a", Cost::ONE), 1_499_999_000_000)?;
    stage.expect(&charge(rule, "a", Cost::micros(1_100_000)), admit(1_499_997_000_000))?;
    stage.expect_balance(&charge(rule, "b", Cost::ONE), 1_500_000_000_000)
}

/// A new quota holds at once, for what was charged before as well.
pub(super) fn a_new_quota_of_a_sliding_window_holds_at_once(stage: &mut Stage<'_>) -> Played {
    let log = |tokens| sound(SlidingLog::new(Burst::tokens(tokens), Span::from_secs(10)));
    let counter = |tokens| sound(SlidingCounter::new(Burst::tokens(tokens), Span::from_secs(10)));
    let (exact, estimated) = (stage.rule("log", log(5)), stage.rule("counter", counter(5)));
    for rule in [exact, estimated] {
        stage.expect(&charge(rule, "a", Cost::tokens(4)), admit(1_000_000))?;
    }
    stage.set_limit(exact, log(10));
    stage.set_limit(estimated, counter(10));
    for rule in [exact, estimated] {
        stage.expect(&charge(rule, "a", Cost::tokens(4)), admit(2_000_000))?;
    }
    stage.set_limit(exact, log(5));
    stage.set_limit(estimated, counter(5));
    for rule in [exact, estimated] {
        stage.expect_balance(&charge(rule, "a", Cost::ONE), 0)?;
        stage.expect_denied(&charge(rule, "a", Cost::ONE))?;
    }
    Ok(())
}
