//! Scenarios in which a limit changes while buckets are in use: A9, and clients that move between tiers.

use tollgate_core::{Cost, Rate, Span};

use super::answer::Outcome;
use super::stage::{Played, Stage, admit, charge, deny, limit, never};

/// A9.
pub(super) fn a_new_rate_holds_from_the_change_on(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(10), 50));
    stage.expect(&charge(rule, "a", Cost::tokens(50)), admit(0))?;
    stage.pass(Span::from_secs(1));
    stage.set_limit(rule, limit(Rate::per_second(20), 50));
    stage.expect(&charge(rule, "a", Cost::tokens(30)), deny(Span::from_secs(1), 10_000_000, &[0]))?;
    stage.pass(Span::from_millis(500));
    stage.set_limit(rule, limit(Rate::per_second(1), 50));
    stage.expect(&charge(rule, "a", Cost::tokens(30)), deny(Span::from_secs(10), 20_000_000, &[0]))?;
    stage.pass_almost(Span::from_secs(10));
    stage.expect_denied(&charge(rule, "a", Cost::tokens(30)))?;
    stage.tick();
    stage.expect(&charge(rule, "a", Cost::tokens(30)), admit(0))
}

/// A9, with its figures: idle for an hour at 10/s with burst 50, then burst 5000: the balance is 50 and grows.
pub(super) fn a_raised_burst_is_room_and_not_tokens(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(10), 50));
    stage.expect(&charge(rule, "known", Cost::ONE), admit(49_000_000))?;
    stage.pass(Span::from_secs(3_600));
    stage.set_limit(rule, limit(Rate::per_second(10), 5_000));
    for key in ["known", "new"] {
        stage.expect(&charge(rule, key, Cost::tokens(51)), deny(Span::from_millis(100), 50_000_000, &[0]))?;
    }
    stage.pass(Span::from_secs(10));
    for key in ["known", "newer"] {
        stage.expect(&charge(rule, key, Cost::tokens(150)), admit(0))?;
    }
    stage.pass(Span::from_secs(1_000));
    stage.expect(&charge(rule, "known", Cost::tokens(5_000)), admit(0))
}

/// A9.
pub(super) fn a_smaller_burst_clamps(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(10), 50));
    stage.expect(&charge(rule, "a", Cost::tokens(10)), admit(40_000_000))?;
    stage.set_limit(rule, limit(Rate::per_second(10), 5));
    stage.expect(&charge(rule, "a", Cost::tokens(6)), never(&[0]))?;
    stage.expect(&charge(rule, "a", Cost::tokens(5)), admit(0))?;
    stage.set_limit(rule, limit(Rate::per_second(10), 50));
    stage.expect(&charge(rule, "a", Cost::ONE), deny(Span::from_millis(100), 0, &[0]))?;
    stage.expect(&charge(rule, "b", Cost::tokens(6)), deny(Span::from_millis(100), 5_000_000, &[0]))
}

/// A9: neither many changes to and fro nor changes of nothing give or take a token.
pub(super) fn changing_to_and_fro_mints_nothing(stage: &mut Stage<'_>) -> Played {
    let (slow, fast) = (limit(Rate::per_second(10), 50), limit(Rate::per_second(1_000), 60));
    let rule = stage.rule("api", slow);
    stage.expect(&charge(rule, "a", Cost::tokens(50)), admit(0))?;
    for _ in 0..1_000 {
        stage.set_limit(rule, fast);
        stage.set_limit(rule, slow);
        stage.set_limit(rule, slow);
        stage.pass(Span::from_micros(100));
    }
    // Where a limit holds for a while at the least, each time so much.
    let held = if stage.is_coarse() { fast.minted_in(stage.grain()).as_micros() * 1_000 } else { 0 };
    let left = match stage.check(&charge(rule, "a", Cost::ONE)) {
        Outcome::Admit { remaining, .. } => Some(remaining.as_micros() <= held),
        _ => None,
    };
    stage.compare("a token is there, and nothing else", &Some(true), &left)
}

/// Limits per key: a client that moves from free to pro and back takes its balance along.
pub(super) fn a_client_that_changes_tier_keeps_its_balance(stage: &mut Stage<'_>) -> Played {
    let free = stage.rule("user", limit(Rate::per_second(1), 10));
    let pro = stage.tier(free, "pro", limit(Rate::per_second(100), 500))?;
    stage.expect(&charge(free, "a", Cost::tokens(9)), admit(1_000_000))?;
    stage.expect(&charge(pro, "a", Cost::tokens(2)), deny(Span::from_millis(10), 1_000_000, &[0]))?;
    stage.pass(Span::from_secs(1));
    stage.expect(&charge(pro, "a", Cost::ONE), admit(100_000_000))?;
    stage.expect(&charge(free, "a", Cost::tokens(11)), never(&[0]))?;
    stage.expect(&charge(free, "a", Cost::ONE), admit(9_000_000))?;
    stage.expect(&charge(pro, "b", Cost::tokens(500)), admit(0))
}

/// The limit of one tier is its own.
pub(super) fn a_change_of_one_tier_leaves_the_others(stage: &mut Stage<'_>) -> Played {
    let free = stage.rule("user", limit(Rate::per_second(1), 10));
    let pro = stage.tier(free, "pro", limit(Rate::per_second(100), 500))?;
    stage.tick();
    stage.expect(&charge(free, "a", Cost::tokens(10)), admit(0))?;
    stage.expect(&charge(pro, "b", Cost::tokens(500)), admit(0))?;
    stage.set_limit(pro, limit(Rate::per_second(200), 500));
    stage.pass(Span::from_secs(2));
    stage.expect(&charge(free, "a", Cost::tokens(2)), admit(0))?;
    stage.expect(&charge(pro, "b", Cost::tokens(400)), admit(0))
}
