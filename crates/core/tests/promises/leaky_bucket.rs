//! A10, leaky bucket: what is admitted leaves in order and evenly, the queue is bounded, and so is the wait.
//!
//! Ours rounds the place of whoever finds the queue empty down to the micro-token, once for as long as the queue is not empty
//! again. So it lets nobody leave *later* than the exact model, and nobody earlier than by the time of one micro-token.

use std::ops::Range;

use tollgate_core::{Limit, Moment, Span};
use tollgate_sim::models::{LeakyModel, worst_excess};
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::any_algorithm::{any_demand, any_leaky, any_start, leaky_limit};
use super::bucket::{Answer, Bucket};

/// Checks of one case.
pub(crate) const STEPS: u64 = 100;

/// A meter that mints 2^64 micro-tokens laps its marks; a pause stays well below.
const PAUSE_MICROS_MAX: u128 = 1 << 60;

/// Beside the exact model, [`STEPS`] checks for each seed: queue, delay, wait, and order and distance of the departures.
pub(crate) fn drains_evenly(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (leaky, start) = (any_leaky(rng), any_start(rng));
        let (limit, mut now) = (leaky_limit(&leaky), start.now);
        let longest = any_longest_wait(rng, &limit);
        let leaky = longest.map_or(leaky, |longest| leaky.max_wait(longest));
        let rate = [limit.terms()[0], limit.terms()[1]];
        let mut bucket = Bucket::new(leaky, start);
        let mut model = LeakyModel::empty(rate[1].into(), rate, now);
        let mut departures: Vec<(Moment, u64)> = Vec::new();
        for _ in 0..STEPS {
            now = now + any_pause(rng, &limit);
            let demand = any_demand(rng, bucket.full());
            let queued = queued_beside_the_model(&bucket, &model, now);
            let least = must_be_free(longest, &limit);
            let need = demand.need().max(least);
            match bucket.check(demand, now) {
                Answer::Admit { remaining, delay } => {
                    judge_delay(delay, &model, now);
                    assert!(longest.is_none_or(|longest| delay <= longest), "{delay} above {longest:?}");
                    assert!(queued + need <= bucket.full(), "the queue is never longer than it may be");
                    // What is left is of use to others only if it is the least that must be free.
                    let left = bucket.full() - queued - demand.cost.as_micros();
                    let usable = if left < least { 0 } else { left - demand.keep.as_micros() };
                    assert_eq!(remaining, usable);
                    let departure = now + delay;
                    assert!(departures.last().is_none_or(|(last, _)| *last <= departure), "in order");
                    departures.push((departure, demand.cost.as_micros()));
                    model.join(demand.cost.as_micros(), now);
                }
                Answer::Deny { missing, held, wait } => {
                    assert!(queued + need > bucket.full(), "denied although there was room");
                    assert_eq!(missing, queued + need - bucket.full());
                    let free = bucket.full() - queued;
                    let usable = if free < least { 0 } else { free.saturating_sub(demand.keep.as_micros()) };
                    assert_eq!(held, usable);
                    bucket.judge_wait(demand, wait, now);
                    let exact = model.wait_until_at_most(bucket.full() - need, now);
                    let ours = u128::from(wait.as_nanos());
                    assert!(
                        ours <= exact && ours + model.time_of_one_micro() >= exact,
                        "{ours}, exactly {exact}"
                    );
                }
                Answer::Never => assert!(demand.need() > bucket.full()),
            }
        }
        judge_departures(&departures, rate);
    });
}

/// In every interval of length d at most `rate · d`, one more, and what the rate lets out in a nanosecond: departures are whole
/// nanoseconds, and places whole micro-tokens.
pub(crate) fn judge_departures(departures: &[(Moment, u64)], rate: [u64; 2]) {
    let slack = rate[0].div_ceil(rate[1]);
    let excess = worst_excess(departures, rate);
    assert!(excess <= i128::from(slack), "{excess} micro-tokens too many, {slack} leave in a nanosecond");
}

/// What queues, in micro-tokens: less than one fewer than by the model.
pub(crate) fn queued_beside_the_model(bucket: &Bucket, model: &LeakyModel, now: Moment) -> u64 {
    let queued = u64::try_from(bucket.full().cast_signed() - bucket.balance(now)).unwrap();
    let (ours, exact) = (u128::from(queued) * model.grains_per_micro(), model.backlog(now));
    assert!(ours + model.grains_per_micro() > exact, "{queued} queued, exactly {exact} grains");
    assert!(ours < exact + model.grains_per_micro(), "{queued} queued, exactly {exact} grains");
    queued
}

/// Never later than exactly, never earlier than by the time of a micro-token.
pub(crate) fn judge_delay(delay: Span, model: &LeakyModel, now: Moment) {
    let (ours, exact) = (u128::from(delay.as_nanos()), model.delay(now));
    assert!(ours <= exact && ours + model.time_of_one_micro() >= exact, "{ours} ns, exactly {exact} ns");
}

/// How long one may wait, if that is bounded.
fn any_longest_wait(rng: &mut Rng, limit: &Limit) -> Option<Span> {
    let to_empty = limit.time_to_full().as_nanos();
    match rng.u8(0..4) {
        0 => Some(Span::from_nanos(any_magnitude(rng, to_empty.max(1)))),
        1 => Some(Span::from_nanos(rng.u64(0..=to_empty))),
        _ => None,
    }
}

/// Micro-tokens of the queue that must be free, so that what is ahead drains within the longest wait.
fn must_be_free(longest: Option<Span>, limit: &Limit) -> u64 {
    let [micros, nanos, queue] = limit.terms();
    let drained = longest
        .map_or(u128::MAX, |longest| u128::from(longest.as_nanos()) * u128::from(micros) / u128::from(nanos));
    queue.saturating_sub(u64::try_from(drained).unwrap_or(u64::MAX))
}

/// No time at all, any, or about what the queue needs to drain.
pub(crate) fn any_pause(rng: &mut Rng, limit: &Limit) -> Span {
    let [micros, nanos, _] = limit.terms();
    let longest = PAUSE_MICROS_MAX * u128::from(nanos) / u128::from(micros);
    let longest = u64::try_from(longest).unwrap_or(u64::MAX).clamp(1, u64::MAX >> 9);
    let to_empty = limit.time_to_full().as_nanos().min(longest);
    Span::from_nanos(match rng.u8(0..8) {
        0..=2 => 0,
        3 => any_magnitude(rng, longest),
        4 => rng.u64(0..=to_empty),
        _ => any_magnitude(rng, to_empty.max(1)),
    })
}
