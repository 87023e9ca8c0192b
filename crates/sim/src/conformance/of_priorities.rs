//! Scenarios of priorities: shares of a bucket that less important checks leave alone.

use tollgate_core::{Burst, Cost, Rate, SlidingCounter, SlidingLog, Span};

use super::stage::{Played, Stage, admit, charge, deny, limit, never, sound};
use super::subject::Charge;

/// Under overload, who must leave more alone is denied earlier; as long as there is enough, nobody notices.
pub(super) fn critical_traffic_is_denied_last(stage: &mut Stage<'_>) -> Played {
    let ten = Burst::tokens(10);
    let rules = [
        stage.rule("bucket", limit(Rate::per_hour(1), 10)),
        stage.rule("log", sound(SlidingLog::new(ten, Span::from_secs(60)))),
        stage.rule("counter", sound(SlidingCounter::new(ten, Span::from_secs(60)))),
    ];
    for rule in rules {
        let of = |left_alone| Charge { left_alone, ..charge(rule, "a", Cost::ONE) };
        stage.expect_count(20, &of(50), 5)?;
        stage.expect_count(20, &of(20), 3)?;
        stage.expect_count(20, &of(50), 0)?;
        stage.expect_count(20, &of(0), 2)?;
    }
    Ok(())
}

/// The verdict is about what the priority may spend: what is left of it, and when there will be enough.
pub(super) fn a_priority_is_told_what_it_may_spend(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(1), 10));
    let of = |tokens, left_alone| Charge { left_alone, ..charge(rule, "a", Cost::tokens(tokens)) };
    stage.expect(&of(2, 30), admit(5_000_000))?;
    stage.expect_peek(&of(6, 30), deny(Span::from_secs(1), 5_000_000, &[0]))?;
    stage.expect(&of(8, 30), never(&[0]))?;
    stage.expect(&of(8, 0), admit(0))?;
    stage.expect(&of(2, 30), deny(Span::from_secs(5), 0, &[0]))
}

/// Of charges to one bucket, the one that leaves most alone counts; of several buckets, each leaves its own.
pub(super) fn several_charges_leave_alone_what_each_must(stage: &mut Stage<'_>) -> Played {
    let (user, everyone) = (
        stage.rule("user", limit(Rate::per_second(1), 10)),
        stage.rule("all", limit(Rate::per_second(1), 20)),
    );
    let of = |rule, tokens, left_alone| Charge { left_alone, ..charge(rule, "a", Cost::tokens(tokens)) };
    stage.expect_all(&[of(user, 2, 0), of(user, 2, 50), of(everyone, 2, 90)], admit(0))?;
    stage.expect_all(&[of(user, 1, 0), of(everyone, 1, 90)], deny(Span::from_secs(1), 0, &[1]))?;
    stage.expect_balance(&of(user, 1, 0), 6_000_000)?;
    stage.expect_all(&[of(user, 6, 0), of(everyone, 1, 0)], admit(0))
}
