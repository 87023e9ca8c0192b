//! A10, sliding counter: how far its estimate is from a sliding window, at the worst.

use std::ops::Range;

use tollgate_core::{Burst, Cost, Demand, Moment, SlidingCounter, Span};
use tollgate_sim::models::{LogModel, most_in_a_window};
use tollgate_sim::seeds::{Rng, for_each_seed};

use super::any_algorithm::start_at;
use super::bucket::{Answer, Bucket};

/// Checks of one case.
pub(crate) const STEPS: u64 = 120;

/// The worst that was seen, in thousandths of the quota.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Worst {
    /// Admitted above the quota in one length of the window.
    pub(crate) over: i128,
    /// Free by an exact log of the same charges, and not by the counter.
    pub(crate) under: i128,
}

/// In every interval of length d at most `quota · (1 + d / window)`, over clients that are greedy, late, or neither.
pub(crate) fn stay_within_the_documented_bound(seeds: Range<u64>) -> Worst {
    let mut worst = Worst::default();
    for_each_seed(seeds, |rng| {
        let (quota, window) = (rng.u64(1..=200), Span::from_nanos(rng.u64(1..=200)));
        let counter = SlidingCounter::new(Burst::micros(quota), window).unwrap();
        let mut now = Moment::from_nanos(rng.u64(0..1_000_000));
        let (mut bucket, start) = (Bucket::new(counter, start_at(now)), now);
        let (mut log, mut charges) = (LogModel::new(window), Vec::new());
        let habit = rng.u8(0..4);
        for _ in 0..STEPS {
            now = now + habitual_pause(rng, habit, window, now.since(start));
            let room = i128::from(quota) - log.used(now).cast_signed();
            worst.under =
                worst.under.max((room - i128::from(bucket.balance(now))) * 1_000 / i128::from(quota));
            let cost = if habit == 0 { 1 } else { rng.u64(1..=quota) };
            let is_greedy = habit == 3 || rng.bool();
            let cost = if is_greedy { bucket.balance(now).max(1).cast_unsigned() } else { cost };
            if let Answer::Admit { .. } = bucket.check(Demand::of(Cost::micros(cost)), now) {
                charges.push((now, cost.cast_signed()));
                log.charge(cost, now);
            }
            log.forget(now);
        }
        judge_intervals(&charges, quota, window);
        let over = most_in_a_window(&charges, window) - i128::from(quota);
        worst.over = worst.over.max(over * 1_000 / i128::from(quota));
    });
    worst
}

/// Sums of charges from each to each later one: intervals that hold both ends.
fn judge_intervals(charges: &[(Moment, i64)], quota: u64, window: Span) {
    let (quota, window) = (i128::from(quota), i128::from(window.as_nanos()));
    for (from, (start, _)) in charges.iter().enumerate() {
        let mut sum = 0;
        for (end, micros) in &charges[from..] {
            sum += i128::from(*micros);
            let length = i128::from(end.since(*start).as_nanos());
            assert!(sum * window <= quota * (window + length), "{sum} of {quota} in {length} of {window} ns");
        }
    }
}

/// Steadily; late in every window and early in the next; at any time; or first at the end of a window and then always.
fn habitual_pause(rng: &mut Rng, habit: u8, window: Span, since_start: Span) -> Span {
    let window = window.as_nanos();
    let to_next = window - since_start.as_nanos() % window;
    Span::from_nanos(match (habit, rng.u8(0..4)) {
        (0, _) => rng.u64(0..=window / 20 + 1),
        (1, 0) => to_next - 1,
        (1, 1) => to_next,
        (1, 2) => to_next + window - 1,
        (3, _) if since_start.as_nanos() < window - 1 => to_next - 1,
        (3, _) => 1,
        _ => rng.u64(0..=window / 4),
    })
}
