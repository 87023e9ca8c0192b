//! Scenarios of leaky buckets and fixed windows (A10), and of checks that mix algorithms.

use tollgate_core::{Burst, Concurrency, Cost, FixedWindow, LeakyBucket, Rate, SlidingLog, Span, Window};

use super::answer::Left;
use super::stage::{Played, Stage, admit, admit_after, charge, deny, limit, never, sound};
use super::subject::RuleId;

/// Three in a row leave 100 ms apart; a pause does not save anything up.
pub(super) fn a_leaky_bucket_lets_out_evenly(stage: &mut Stage<'_>) -> Played {
    let one = leaky(stage, 10, 3);
    for (delay, left) in [(0, 2_000_000), (100, 1_000_000), (200, 0)] {
        stage.expect(&one, admit_after(Span::from_millis(delay), left))?;
    }
    stage.expect(&one, deny(Span::from_millis(100), 0, &[0]))?;
    stage.pass(Span::from_millis(50));
    stage.expect(&one, deny(Span::from_millis(50), 500_000, &[0]))?;
    stage.pass(Span::from_secs(10));
    stage.expect(&one, admit(2_000_000))?;
    stage.expect(&one, admit_after(Span::from_millis(100), 1_000_000))
}

/// A leaky bucket whose wait is bounded denies before its queue is full.
pub(super) fn a_leaky_bucket_makes_nobody_wait_too_long(stage: &mut Stage<'_>) -> Played {
    let leaky = sound(LeakyBucket::new(Rate::per_second(10), Burst::tokens(10)));
    let rule = stage.rule("api", leaky.max_wait(Span::from_millis(150)));
    let one = charge(rule, "a", Cost::ONE);
    stage.expect(&one, admit(9_000_000))?;
    stage.expect(&one, admit_after(Span::from_millis(100), 0))?;
    stage.expect(&one, deny(Span::from_millis(50), 0, &[0]))?;
    stage.pass(Span::from_millis(50));
    stage.expect(&one, admit_after(Span::from_millis(150), 0))
}

/// What is queued leaves all the same when the rate changes, or the client's tier.
pub(super) fn a_leaky_queue_survives_a_change(stage: &mut Stage<'_>) -> Played {
    let queue = |rate, tokens| sound(LeakyBucket::new(Rate::per_second(rate), Burst::tokens(tokens)));
    let rule = stage.rule("api", queue(10, 10));
    let pro = stage.tier(rule, "pro", queue(10, 100))?;
    stage.tick_if_coarse();
    stage.expect(&charge(rule, "a", Cost::tokens(4)), admit(6_000_000))?;
    stage.expect(&charge(pro, "a", Cost::ONE), admit_after(Span::from_millis(400), 95_000_000))?;
    stage.expect(&charge(rule, "a", Cost::ONE), admit_after(Span::from_millis(500), 4_000_000))?;
    stage.set_limit(rule, queue(20, 8));
    stage.expect(&charge(rule, "a", Cost::ONE), admit_after(Span::from_millis(300), 1_000_000))
}

/// The quota is there again at the boundary, and not a moment earlier, whenever it was spent.
pub(super) fn a_fixed_window_refills_at_its_boundary(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", window(3, sound(Window::every(Span::from_secs(10)))));
    stage.pass(Span::from_secs(9));
    let one = charge(rule, "a", Cost::ONE);
    stage.expect_count(5, &one, 3)?;
    stage.expect(&one, deny(Span::from_secs(1), 0, &[0]))?;
    stage.pass_almost(Span::from_secs(1));
    stage.expect_denied(&one)?;
    stage.tick();
    // Documented as unsafe: twice the quota within a second.
    stage.expect_count(5, &one, 3)?;
    stage.expect(&charge(rule, "a", Cost::tokens(4)), never(&[0]))
}

/// A month of the calendar: from 18 May 1977, 00:16, to 1 June.
pub(super) fn a_monthly_quota_refills_on_the_first(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("invoice", window(2, Window::MONTH));
    let both = charge(rule, "a", Cost::tokens(2));
    stage.expect(&both, admit(0))?;
    let to_june = Span::from_secs(233_971_200 - 232_792_560);
    stage.expect(&both, deny(to_june, 0, &[0]))?;
    stage.pass(to_june);
    stage.expect(&both, admit(0))?;
    stage.expect(&both, deny(Span::from_secs(30 * 86_400), 0, &[0]))
}

/// A larger quota is there from the next window on; a smaller one at once.
pub(super) fn a_changed_quota_gives_nothing_in_this_window(stage: &mut Stage<'_>) -> Played {
    let ten = sound(Window::every(Span::from_secs(10)));
    let rule = stage.rule("api", window(5, ten));
    stage.expect(&charge(rule, "a", Cost::tokens(3)), admit(2_000_000))?;
    stage.set_limit(rule, window(50, ten));
    stage.expect(&charge(rule, "a", Cost::tokens(3)), deny(Span::from_secs(10), 2_000_000, &[0]))?;
    stage.pass(Span::from_secs(10));
    stage.expect(&charge(rule, "a", Cost::tokens(10)), admit(40_000_000))?;
    stage.set_limit(rule, window(4, ten));
    stage.expect(&charge(rule, "a", Cost::tokens(4)), admit(0))
}

/// A rule stays what it is: its buckets would mean nothing elsewhere.
pub(super) fn another_algorithm_is_refused(stage: &mut Stage<'_>) -> Played {
    let rule = stage.rule("api", limit(Rate::per_second(1), 5));
    stage.expect(&charge(rule, "a", Cost::tokens(4)), admit(1_000_000))?;
    let other = sound(SlidingLog::new(Burst::tokens(5), Span::from_secs(5)));
    let changed = stage.set_limit(rule, other);
    stage.compare("change to another algorithm", &false, &changed)?;
    let tier = stage.try_tier(rule, "log", other);
    stage.compare("tier of another algorithm", &None, &tier)?;
    stage.expect(&charge(rule, "a", Cost::ONE), admit(0))?;
    let log = stage.rule("log", other);
    let longer = sound(SlidingLog::new(Burst::tokens(5), Span::from_secs(6)));
    let changed = stage.set_limit(log, longer);
    stage.compare("change to another window", &false, &changed)
}

/// A5 over a token bucket, a log and places: whichever denies, none of the others is charged.
pub(super) fn one_denial_among_algorithms_charges_none(stage: &mut Stage<'_>) -> Played {
    let bucket = stage.rule("bucket", limit(Rate::per_second(1), 3));
    let log = stage.rule("log", sound(SlidingLog::new(Burst::tokens(4), Span::from_secs(8))));
    let places = stage.rule("places", sound(Concurrency::new(2, Span::from_secs(20))));
    let all = [bucket, log, places].map(|rule| charge(rule, "a", Cost::ONE));
    stage.expect_enter(0, &all, admit(1_000_000))?;
    stage.expect_enter(1, &all, admit(0))?;
    // The places deny.
    stage.expect_enter(2, &all, deny(Span::from_secs(30), 0, &[2]))?;
    stage.expect_balance(&all[0], 1_000_000)?;
    stage.expect_balance(&all[1], 2_000_000)?;
    stage.expect_left(0, Left::InTime)?;
    stage.expect_enter(3, &all, admit(0))?;
    stage.expect_left(1, Left::InTime)?;
    // The bucket denies.
    stage.expect_enter(4, &all, deny(Span::from_secs(1), 0, &[0]))?;
    stage.expect_balance(&all[1], 1_000_000)?;
    stage.expect_balance(&all[2], 1_000_000)?;
    stage.pass(Span::from_secs(2));
    stage.expect_all(&all[..2], admit(0))?;
    // The log denies.
    stage.expect_all(&all[..2], deny(Span::from_secs(6), 0, &[1]))?;
    stage.expect_balance(&all[0], 1_000_000)
}

fn leaky(stage: &mut Stage<'_>, per_second: u64, queue: u64) -> super::subject::Charge {
    let leaky = sound(LeakyBucket::new(Rate::per_second(per_second), Burst::tokens(queue)));
    let rule: RuleId = stage.rule("api", leaky);
    charge(rule, "a", Cost::ONE)
}

fn window(quota: u64, window: Window) -> FixedWindow {
    sound(FixedWindow::new(Burst::tokens(quota), window))
}
