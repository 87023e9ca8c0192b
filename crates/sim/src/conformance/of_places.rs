//! Scenarios of places at work (A10): taken, given back, and lost.

use tollgate_core::{Concurrency, Cost, Span};

use super::answer::{Fault, Left, Outcome};
use super::stage::{Played, Stage, admit, charge, deny, never, sound};
use super::subject::Charge;

const TIMEOUT: Span = Span::from_secs(20);

/// No more at work than there are places; who leaves makes room.
pub(super) fn a_place_left_is_free_again(stage: &mut Stage<'_>) -> Played {
    let one = [place(stage, 2)];
    stage.expect_enter(0, &one, admit(1_000_000))?;
    stage.expect_enter(1, &one, admit(0))?;
    stage.expect_enter(2, &one, deny(Span::from_secs(30), 0, &[0]))?;
    stage.expect_left(0, Left::InTime)?;
    stage.expect_enter(3, &one, admit(0))?;
    stage.expect_enter(4, &one, deny(Span::from_secs(30), 0, &[0]))?;
    stage.expect_left(1, Left::InTime)?;
    stage.expect_left(3, Left::InTime)?;
    stage.expect_balance(&one[0], 2_000_000)
}

/// A holder that is silent for the timeout has lost its place: no earlier, and at the latest at one and a half times that.
pub(super) fn a_lost_place_is_free_after_its_timeout(stage: &mut Stage<'_>) -> Played {
    let one = [place(stage, 1)];
    stage.pass(Span::from_secs(7));
    stage.expect_enter(0, &one, admit(0))?;
    stage.pass_almost(Span::from_secs(20));
    stage.expect_balance(&one[0], 0)?;
    stage.pass(Span::from_secs(10));
    stage.expect_enter(1, &one, admit(0))
}

/// Who was away for too long gives back nothing: the place is somebody else's.
pub(super) fn a_place_lost_is_not_given_back_twice(stage: &mut Stage<'_>) -> Played {
    let one = [place(stage, 1)];
    stage.expect_enter(0, &one, admit(0))?;
    stage.pass(Span::from_secs(31));
    stage.expect_enter(1, &one, admit(0))?;
    stage.expect_left(0, Left::TooLate)?;
    stage.expect_balance(&one[0], 0)?;
    stage.expect_left(1, Left::InTime)?;
    stage.expect_balance(&one[0], 1_000_000)
}

/// A check without a guard would take a place for ever.
pub(super) fn a_place_needs_somebody_to_give_it_back(stage: &mut Stage<'_>) -> Played {
    let one = place(stage, 1);
    let refused = Outcome::Invalid(Fault::NeedsGuard);
    stage.expect(&one, refused)?;
    stage.expect_all(std::slice::from_ref(&one), refused)?;
    stage.expect_each(std::slice::from_ref(&one), &[refused])?;
    stage.expect_once("retry", std::slice::from_ref(&one), refused)?;
    stage.expect_peek(&one, admit(0))?;
    let faulty = Charge { cost: Cost::micros(0), ..one };
    stage.expect(&faulty, Outcome::Invalid(Fault::ZeroCost))?;
    stage.expect_all(&[faulty], Outcome::Invalid(Fault::ZeroCost))
}

/// Places are whole, also those that must be left alone.
pub(super) fn a_part_of_a_place_is_a_place(stage: &mut Stage<'_>) -> Played {
    let one = place(stage, 3);
    let part = Charge { cost: Cost::micros(500_000), ..one.clone() };
    stage.expect_enter(0, std::slice::from_ref(&part), admit(2_000_000))?;
    stage.expect_left(0, Left::InTime)?;
    // 40 % of three places are 1.2, and so two: who takes a part of one must find three.
    let modest = Charge { left_alone: 40, ..part };
    stage.expect_enter(1, std::slice::from_ref(&modest), admit(0))?;
    stage.expect_enter(2, std::slice::from_ref(&modest), deny(Span::from_secs(30), 0, &[0]))?;
    let greedy = Charge { cost: Cost::micros(1_800_000), ..modest };
    stage.expect_enter(3, &[greedy], never(&[0]))
}

/// Fewer places send nobody away, but let nobody in.
pub(super) fn fewer_places_let_nobody_in(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("reports", sound(Concurrency::new(3, TIMEOUT)));
    let one = [charge(rule, "a", Cost::ONE)];
    for ticket in 0..3 {
        stage.expect_enter(ticket, &one, admit(2_000_000 - 1_000_000 * ticket as u64))?;
    }
    stage.set_limit(rule, sound(Concurrency::new(1, TIMEOUT)));
    for ticket in 0..3 {
        stage.expect_enter(10 + ticket, &one, deny(Span::from_secs(30), 0, &[0]))?;
        stage.expect_left(ticket, Left::InTime)?;
    }
    stage.expect_enter(20, &one, admit(0))
}

/// A reset frees the places; who held one leaves too late.
pub(super) fn a_reset_frees_places(stage: &mut Stage<'_>) -> Played {
    let one = [place(stage, 2)];
    stage.expect_enter(0, &one, admit(1_000_000))?;
    stage.expect_refund(&one[0], [0, 1_000_000])?;
    stage.expect_reset(&one[0], [1_000_000, 2_000_000])?;
    stage.tick();
    stage.expect_enter(1, &one, admit(1_000_000))?;
    stage.expect_left(0, Left::TooLate)?;
    stage.expect_balance(&one[0], 1_000_000)?;
    stage.expect_left(1, Left::InTime)?;
    stage.expect_balance(&one[0], 2_000_000)
}

fn place(stage: &mut Stage<'_>, places: u32) -> Charge {
    let rule = stage.rule("reports", sound(Concurrency::new(places, TIMEOUT)));
    charge(rule, "a", Cost::ONE)
}
