//! Scenarios of refunds, grants and resets (A11, O2): bounded by what is missing.

use tollgate_core::{Burst, Cost, FixedWindow, LeakyBucket, Rate, SlidingCounter, SlidingLog, Span, Window};

use super::action::{Action, Answer};
use super::answer::Fault;
use super::stage::{Played, Stage, admit, admit_after, charge, deny, limit, sound};

/// A11, whatever the algorithm.
pub(super) fn a_refund_never_overfills(stage: &mut Stage<'_>) -> Played {
    let (ten, window) = (Burst::tokens(10), Span::from_secs(10));
    let rules = [
        stage.rule("token", limit(Rate::per_second(1), 10)),
        stage.rule("fixed", sound(FixedWindow::new(ten, sound(Window::every(window))))),
        stage.rule("counter", sound(SlidingCounter::new(ten, window))),
        stage.rule("log", sound(SlidingLog::new(ten, window))),
    ];
    for rule in rules {
        let charge_of = |tokens| charge(rule, "a", Cost::tokens(tokens));
        stage.expect_refund(&charge_of(3), [0, 10_000_000])?;
        stage.expect(&charge_of(4), admit(6_000_000))?;
        stage.expect_refund(&charge_of(1), [1_000_000, 7_000_000])?;
        stage.expect_refund(&charge_of(100), [3_000_000, 10_000_000])?;
        stage.expect(&charge_of(10), admit(0))?;
        stage.expect_denied(&charge_of(1))?;
    }
    // Whoever queues behind has been told when to leave.
    let leaky = stage.rule("leaky", sound(LeakyBucket::new(Rate::per_second(1), ten)));
    stage.expect(&charge(leaky, "a", Cost::tokens(4)), admit(6_000_000))?;
    stage.expect_refund(&charge(leaky, "a", Cost::ONE), [0, 6_000_000])
}

/// A grant is a refund for which nothing was paid; it repays debt first.
pub(super) fn a_grant_repays_debt_first(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(1), 10));
    let charge_of = |tokens| charge(rule, "a", Cost::tokens(tokens));
    stage.expect_reserved(0, &[charge_of(10)])?;
    stage.expect_committed(0, Cost::tokens(15), [0, 5_000_000, 0])?;
    stage.expect_grant(&charge_of(4), [4_000_000, 0])?;
    stage.expect(&charge_of(1), deny(Span::from_secs(2), 0, &[0]))?;
    stage.expect_grant(&charge_of(4), [4_000_000, 3_000_000])?;
    stage.expect(&charge_of(3), admit(0))
}

/// O2: whatever was spent or is owed.
pub(super) fn a_reset_fills_the_bucket(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(1), 10));
    let leaky = stage.rule("leaky", sound(LeakyBucket::new(Rate::per_second(1), Burst::tokens(10))));
    let log = stage.rule("log", sound(SlidingLog::new(Burst::tokens(10), Span::from_secs(10))));
    let ten = charge(rule, "a", Cost::tokens(10));
    stage.expect_reserved(0, std::slice::from_ref(&ten))?;
    stage.expect_committed(0, Cost::tokens(15), [0, 5_000_000, 0])?;
    stage.expect_reset(&ten, [15_000_000, 10_000_000])?;
    stage.expect(&ten, admit(0))?;
    let queued = charge(leaky, "a", Cost::tokens(4));
    stage.expect(&queued, admit(6_000_000))?;
    stage.expect(&queued, admit_after(Span::from_secs(4), 2_000_000))?;
    stage.expect_reset(&queued, [8_000_000, 10_000_000])?;
    stage.expect(&queued, admit(6_000_000))?;
    let logged = charge(log, "a", Cost::tokens(4));
    stage.expect(&logged, admit(6_000_000))?;
    stage.expect_reset(&logged, [4_000_000, 10_000_000])?;
    stage.expect_reset(&charge(rule, "nobody", Cost::ONE), [0, 10_000_000])
}

/// What a bucket holds is told as it is: also less than one token, and what a priority may spend.
pub(super) fn a_balance_is_what_can_be_spent(stage: &mut Stage<'_>) -> Played {
    let half = sound(tollgate_core::Limit::new(Rate::per_second(1), Burst::micros(500_000)));
    let rule = stage.rule("api", half);
    let mut charge = charge(rule, "a", Cost::micros(200_000));
    stage.expect_balance(&charge, 500_000)?;
    stage.expect(&charge, admit(300_000))?;
    stage.expect_balance(&charge, 300_000)?;
    charge.left_alone = 40;
    stage.expect_balance(&charge, 100_000)
}

/// A gift to nobody, or of nothing, is told so.
pub(super) fn a_gift_at_fault_is_refused(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(1), 10));
    for (key, cost, fault) in [("", Cost::ONE, Fault::EmptyKey), ("a", Cost::micros(0), Fault::ZeroCost)] {
        let charge = charge(rule, key, cost);
        stage.expect_answer(&Action::Refund(charge.clone()), &Answer::Given(Err(fault)))?;
        stage.expect_answer(&Action::Grant(charge), &Answer::Given(Err(fault)))?;
    }
    let nobody = charge(rule, "", Cost::ONE);
    stage.expect_answer(&Action::Reset(nobody.clone()), &Answer::Given(Err(Fault::EmptyKey)))?;
    stage.expect_answer(&Action::Balance(nobody), &Answer::Balance(Err(Fault::EmptyKey)))
}
