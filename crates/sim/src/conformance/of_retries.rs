//! Scenarios of idempotency keys (A12).

use tollgate_core::{Burst, Cost, Rate, SlidingLog, Span};

use super::answer::{Fault, Outcome};
use super::stage::{Played, Stage, admit, charge, deny, limit, sound};
use super::subject::Charge;

/// A retry is told what it was told, and costs nothing, until the key's lifetime is over.
pub(super) fn an_idempotency_key_charges_once(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_hour(1), 10));
    let log = stage.rule("log", sound(SlidingLog::new(Burst::tokens(9), Span::from_secs(60))));
    let both = [charge(rule, "a", Cost::tokens(2)), charge(log, "a", Cost::tokens(2))];
    for _ in 0..5 {
        stage.expect_once("order-7", &both, admit(7_000_000))?;
    }
    stage.pass_almost(Span::from_secs(10));
    stage.expect_once("order-7", &both, admit(7_000_000))?;
    stage.expect_balance(&both[1], 7_000_000)?;
    stage.tick();
    stage.expect_once("order-7", &both, admit(5_000_000))
}

/// The same key for something else is another.
pub(super) fn an_idempotency_key_stands_for_one_check(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_hour(1), 10));
    let charge_of = |key, tokens| charge(rule, key, Cost::tokens(tokens));
    stage.expect_once("order", &[charge_of("a", 2)], admit(8_000_000))?;
    stage.expect_once("order", &[charge_of("a", 3)], admit(5_000_000))?;
    stage.expect_once("order", &[charge_of("b", 2)], admit(8_000_000))?;
    stage.expect_once("other", &[charge_of("a", 2)], admit(3_000_000))?;
    stage.expect_once("order", &[charge_of("a", 2)], admit(8_000_000))?;
    let of_bulk = Charge { left_alone: 80, ..charge_of("a", 2) };
    stage.expect_once("order", &[of_bulk], deny(Span::from_secs(7 * 3_600), 0, &[0]))?;
    stage.expect_once("", &[charge_of("a", 2)], Outcome::Invalid(Fault::EmptyIdempotencyKey))?;
    stage.expect_balance(&charge_of("a", 1), 3_000_000)
}

/// A denial is not remembered: its retry is decided anew.
pub(super) fn a_denied_check_is_not_remembered(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(1), 10));
    let ten = [charge(rule, "a", Cost::tokens(10))];
    stage.expect_all(&ten, admit(0))?;
    stage.expect_once("order", &ten, deny(Span::from_secs(10), 0, &[0]))?;
    stage.pass(Span::from_secs(9));
    stage.expect_once("order", &ten, deny(Span::from_secs(1), 9_000_000, &[0]))?;
    stage.pass(Span::from_secs(1));
    stage.expect_once("order", &ten, admit(0))?;
    stage.expect_once("order", &ten, admit(0))
}
