//! Scenarios of reservations (A11): settled below, above, twice, too late, or not at all.

use tollgate_core::{Burst, Concurrency, Cost, Rate, SlidingCounter, SlidingLog, Span};

use super::answer::{Fault, Outcome, SettleFault};
use super::stage::{Played, Stage, admit, charge, deny, limit, sound};
use super::subject::{RuleId, Settlement};

pub(super) fn a_reservation_settled_below_its_estimate_gives_the_rest_back(stage: &mut Stage<'_>) -> Played {
    let rule = bucket(stage);
    stage.expect_reserved(0, &[charge(rule, "a", Cost::tokens(30))])?;
    stage.expect_balance(&charge(rule, "a", Cost::ONE), 20_000_000)?;
    stage.expect_committed(0, Cost::tokens(12), [18_000_000, 0, 0])?;
    stage.expect_balance(&charge(rule, "a", Cost::ONE), 38_000_000)
}

pub(super) fn a_reservation_settled_above_its_estimate_becomes_debt_repaid_first(
    stage: &mut Stage<'_>,
) -> Played {
    let rule = bucket(stage);
    stage.expect_reserved(0, &[charge(rule, "a", Cost::tokens(45))])?;
    stage.expect_committed(0, Cost::tokens(60), [0, 15_000_000, 0])?;
    stage.expect_balance(&charge(rule, "a", Cost::ONE), 0)?;
    stage.expect(&charge(rule, "a", Cost::ONE), deny(Span::from_millis(1_100), 0, &[0]))?;
    stage.pass(Span::from_millis(1_100));
    stage.expect(&charge(rule, "a", Cost::ONE), admit(0))
}

/// As deep as a full bucket, and no deeper.
pub(super) fn debt_beyond_the_maximum_is_forgiven(stage: &mut Stage<'_>) -> Played {
    let rule = bucket(stage);
    stage.expect_reserved(0, &[charge(rule, "a", Cost::tokens(40))])?;
    stage.expect_committed(0, Cost::tokens(500), [0, 60_000_000, 400_000_000])?;
    stage.expect_reserved(1, &[charge(rule, "b", Cost::ONE)])?;
    stage.expect(&charge(rule, "a", Cost::ONE), deny(Span::from_millis(5_100), 0, &[0]))?;
    let log = stage.rule("log", sound(SlidingLog::new(Burst::tokens(5), Span::from_secs(10))));
    stage.expect_reserved(2, &[charge(log, "a", Cost::tokens(5))])?;
    stage.expect_committed(2, Cost::tokens(11), [0, 5_000_000, 1_000_000])?;
    stage.pass(Span::from_secs(10));
    stage.expect_balance(&charge(log, "a", Cost::ONE), 5_000_000)
}

/// Had it never been made, the bucket would have been full meanwhile: what it minted beyond that is lost.
pub(super) fn a_cancelled_reservation_never_gives_more_than_if_never_made(stage: &mut Stage<'_>) -> Played {
    let rule = bucket(stage);
    stage.expect(&charge(rule, "a", Cost::tokens(5)), admit(45_000_000))?;
    stage.expect_reserved(0, &[charge(rule, "a", Cost::tokens(40))])?;
    stage.expect(&charge(rule, "a", Cost::tokens(5)), admit(0))?;
    // 20 were minted; but for the reservation the bucket would have been full after 5, then 45 after the other charge.
    stage.pass(Span::from_secs(2));
    stage.expect_cancelled(0, 25_000_000)?;
    stage.expect_balance(&charge(rule, "a", Cost::ONE), 45_000_000)?;
    // Long after, nothing at all.
    stage.expect_reserved(1, &[charge(rule, "b", Cost::tokens(10))])?;
    stage.pass(Span::from_secs(1));
    stage.expect(&charge(rule, "b", Cost::tokens(50)), admit(0))?;
    stage.expect_cancelled(1, 0)?;
    stage.expect_balance(&charge(rule, "b", Cost::ONE), 0)
}

pub(super) fn an_unsettled_reservation_stands_at_its_estimate(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("slow", limit(Rate::per_hour(1), 50));
    let twenty = [charge(rule, "a", Cost::tokens(20))];
    stage.expect_reservation(0, &twenty, Span::from_secs(5), Ok(()))?;
    stage.expect_reservation(1, &twenty, Span::from_secs(5), Ok(()))?;
    stage.pass_almost(Span::from_secs(5));
    // The bucket was full before: what was minted since is lost.
    stage.expect_cancelled(0, 19_998_612)?;
    stage.tick();
    stage.expect_settled(1, Settlement::Cancel, Err(SettleFault::Expired))?;
    stage.expect_balance(&twenty[0], 30_000_000)?;
    stage.expect_settled(1, Settlement::Commit(Cost::ONE), Err(SettleFault::Unknown))
}

pub(super) fn a_second_settlement_is_refused(stage: &mut Stage<'_>) -> Played {
    let rule = bucket(stage);
    let ten = [charge(rule, "a", Cost::tokens(10))];
    stage.expect_reserved(0, &ten)?;
    stage.expect_reserved(1, &ten)?;
    stage.expect_cancelled(0, 10_000_000)?;
    stage.expect_committed(1, Cost::tokens(4), [6_000_000, 0, 0])?;
    for ticket in [0, 1, 2] {
        for settlement in [Settlement::Cancel, Settlement::Commit(Cost::tokens(50))] {
            stage.expect_settled(ticket, settlement, Err(SettleFault::Unknown))?;
        }
    }
    stage.expect_balance(&ten[0], 46_000_000)
}

/// A denied reservation charges nothing, and neither does one that makes no sense.
pub(super) fn a_denied_reservation_charges_nothing(stage: &mut Stage<'_>) -> Played {
    let rule = bucket(stage);
    let other = stage.rule("other", limit(Rate::per_second(1), 3));
    let both = [charge(rule, "a", Cost::tokens(3)), charge(other, "a", Cost::tokens(3))];
    stage.expect_reserved(0, &both)?;
    let denied = deny(Span::from_secs(3), 0, &[1]);
    stage.expect_reservation(1, &both, Span::from_secs(60), Err(denied))?;
    stage.expect_settled(1, Settlement::Cancel, Err(SettleFault::Unknown))?;
    let invalid = Outcome::Invalid(Fault::ZeroTimeout);
    stage.expect_reservation(2, &both[..1], Span::ZERO, Err(invalid))?;
    stage.expect_balance(&both[0], 47_000_000)
}

/// One commit for several buckets: the same cost for all, or one for each; otherwise nothing is settled.
pub(super) fn several_buckets_are_settled_each_at_its_cost(stage: &mut Stage<'_>) -> Played {
    let rule = bucket(stage);
    let log = stage.rule("log", sound(SlidingLog::new(Burst::tokens(20), Span::from_secs(10))));
    let three = [
        charge(rule, "a", Cost::tokens(10)),
        charge(log, "a", Cost::tokens(5)),
        charge(rule, "a", Cost::tokens(10)),
    ];
    let each =
        |tokens: &[u64]| Settlement::CommitEach(tokens.iter().map(|tokens| Cost::tokens(*tokens)).collect());
    stage.expect_reserved(0, &three)?;
    stage.expect_settled(0, Settlement::Commit(Cost::ONE), Err(SettleFault::CostsDiffer))?;
    stage.expect_settled(0, each(&[1, 2]), Err(SettleFault::WrongCount))?;
    stage.expect_balance(&three[0], 30_000_000)?;
    stage.expect_settled(0, each(&[4, 7, 8]), Ok([0, 2_000_000, 0]))?;
    stage.expect_balance(&three[0], 38_000_000)?;
    stage.expect_balance(&three[1], 13_000_000)?;
    // The same for all.
    stage.expect_reserved(1, &[charge(rule, "b", Cost::tokens(8)), charge(log, "b", Cost::tokens(8))])?;
    stage.expect_committed(1, Cost::tokens(3), [5_000_000, 0, 0])?;
    stage.expect_balance(&charge(log, "b", Cost::ONE), 17_000_000)
}

/// In a sliding window, only what still counts is given back.
pub(super) fn a_settlement_gives_back_only_what_still_counts(stage: &mut Stage<'_>) -> Played {
    let log = stage.rule("log", sound(SlidingLog::new(Burst::tokens(20), Span::from_secs(10))));
    let counter = stage.rule("counter", sound(SlidingCounter::new(Burst::tokens(20), Span::from_secs(10))));
    for (ticket, rule) in [(0, log), (1, counter)] {
        stage.expect_reserved(ticket, &[charge(rule, "a", Cost::micros(5_000_001))])?;
        stage.expect_reserved(10 + ticket, &[charge(rule, "b", Cost::micros(5_000_001))])?;
    }
    stage.expect_cancelled(10, 5_000_001)?;
    stage.expect_balance(&charge(log, "b", Cost::ONE), 20_000_000)?;
    // Charged in whole steps, rounded up; given back in whole steps, rounded down.
    stage.expect_cancelled(11, 5_000_000)?;
    stage.expect_balance(&charge(counter, "b", Cost::ONE), 19_990_000)?;
    stage.pass(Span::from_secs(12));
    stage.expect(&charge(log, "a", Cost::tokens(10)), admit(10_000_000))?;
    stage.expect_cancelled(0, 0)?;
    stage.expect_cancelled(1, 0)?;
    stage.expect_balance(&charge(log, "a", Cost::ONE), 10_000_000)
}

/// However a reservation is settled, its places are free again.
pub(super) fn a_settled_reservation_gives_its_places_back(stage: &mut Stage<'_>) -> Played {
    let rule = bucket(stage);
    let places = stage.rule("places", sound(Concurrency::new(2, Span::from_secs(60))));
    let both = [charge(rule, "a", Cost::ONE), charge(places, "a", Cost::ONE)];
    stage.expect_reserved(0, &both)?;
    stage.expect_reserved(1, &both)?;
    let denied = deny(Span::from_secs(90), 0, &[1]);
    stage.expect_reservation(2, &both, Span::from_secs(60), Err(denied))?;
    stage.expect_committed(0, Cost::tokens(2), [0, 1_000_000, 0])?;
    stage.expect_cancelled(1, 1_000_000)?;
    stage.expect_balance(&both[1], 2_000_000)?;
    stage.expect_balance(&both[0], 48_000_000)
}

/// What a reset has forgiven is not given back by a settlement, too; what is reserved after it is.
pub(super) fn a_reset_forgives_what_was_reserved_once(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("slow", limit(Rate::per_hour(1), 50));
    let counter =
        stage.rule("counter", sound(SlidingCounter::new(Burst::tokens(50), Span::from_secs(3_600))));
    let log = stage.rule("log", sound(SlidingLog::new(Burst::tokens(50), Span::from_secs(3_600))));
    for (ticket, rule) in [rule, counter, log].into_iter().enumerate() {
        let twenty = charge(rule, "a", Cost::tokens(20));
        let all = charge(rule, "a", Cost::tokens(50));
        stage.expect_reserved(2 * ticket, std::slice::from_ref(&twenty))?;
        stage.expect_reset(&twenty, [20_000_000, 50_000_000])?;
        stage.tick();
        stage.expect(&all, admit(0))?;
        stage.expect_cancelled(2 * ticket, 0)?;
        stage.expect_reset(&twenty, [50_000_000, 50_000_000])?;
        stage.tick();
        stage.expect_reserved(2 * ticket + 1, std::slice::from_ref(&twenty))?;
        stage.expect_cancelled(2 * ticket + 1, 20_000_000)?;
    }
    Ok(())
}

fn bucket(stage: &mut Stage<'_>) -> RuleId {
    stage.rule("api", limit(Rate::per_second(10), 50))
}
