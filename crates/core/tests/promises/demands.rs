//! Priorities and refunds, over every algorithm: a demand leaves what must be kept, and giving mints nothing.

use std::ops::Range;

use tollgate_core::{Algorithm, Moment, Span};
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::any_algorithm::{any_algorithm, any_demand, any_start};
use super::bucket::{Answer, Bucket};

/// Steps of one case.
pub(crate) const STEPS: u64 = 50;

/// An admitted demand leaves at least what it keeps; a denied one was short of something and would have left less; what never
/// is admitted is not admitted by a full bucket, and all else is.
pub(crate) fn leave_what_must_be_kept(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (mut bucket, mut now) = any_bucket(rng);
        for _ in 0..STEPS {
            now = now + Span::from_nanos(any_magnitude(rng, 1 << 50));
            let (demand, before) = (any_demand(rng, bucket.full()), bucket.balance(now));
            let (cost, keep) = (demand.cost.as_micros().cast_signed(), demand.keep.as_micros().cast_signed());
            let full = Bucket { mark: bucket.ruler.reading(now).full_mark(), ..bucket };
            match bucket.check(demand, now) {
                Answer::Admit { remaining, .. } => {
                    let after = bucket.balance(now);
                    assert!(after >= keep, "{after} left of {before}, {keep} were to be kept");
                    assert!(after <= before - cost, "{after} left of {before} after {cost}");
                    assert!(remaining <= after.cast_unsigned() - demand.keep.as_micros());
                }
                Answer::Deny { missing, held, .. } => {
                    assert!(missing > 0, "short of nothing");
                    assert_eq!(bucket.balance(now), before, "A4: a denied check spends nothing");
                    assert!(held.cast_signed() <= (before - keep).max(0));
                }
                // The word that is no mark makes a full bucket one micro-token emptier.
                Answer::Never => assert!(full.balance(now) < cost + keep + full_steps(&full)),
            }
            let is_new = full.balance(now).cast_unsigned() == full.full();
            let never = matches!(full.peek(demand, now).0, Answer::Never);
            assert!(never || !is_new || full.admits(demand, now), "denied by a full bucket: {demand:?}");
        }
    });
}

/// After so much is given or taken, the bucket holds at most that, never more than full, and a debt is a debt.
pub(crate) fn adjusting_mints_nothing(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (mut bucket, mut now) = any_bucket(rng);
        for _ in 0..STEPS {
            now = now + Span::from_nanos(rng.u64(0..3) * any_magnitude(rng, 1 << 40));
            let micros = match rng.u8(0..6) {
                0 => i64::MIN + rng.i64(0..2),
                1 => i64::MAX,
                2 => -any_magnitude(rng, 1 << 62).cast_signed(),
                _ => any_magnitude(rng, 2 * bucket.full()).cast_signed() * rng.i64(-1..=1),
            };
            let (before, full) = (bucket.balance(now), bucket.full().cast_signed());
            bucket.adjust(micros, now);
            let after = bucket.balance(now);
            assert!(after <= full, "fuller than full");
            if bucket.ruler.is_of_places() {
                assert_eq!(after, before, "places are given back by their holders alone");
                continue;
            }
            let most = before.saturating_add(micros).max(before.min(-deepest_debt(&bucket)));
            assert!(after <= most.min(full), "{before} and {micros} became {after}");
            if micros < 0 {
                assert!(!bucket.ruler.reading(now).is_full(bucket.mark), "a debt reads as full");
                // Nor by a clock that is a little behind, unless the meter laps its marks meanwhile.
                let slow = now - Span::from_nanos(rng.u64(0..=skew_max(&bucket)));
                let is_lapped = before < -deepest_debt(&bucket);
                assert!(is_lapped || bucket.balance(slow) <= after, "a debt is forgiven by a slow clock");
            }
        }
    });
}

/// Debts are remembered up to at least so many micro-tokens.
fn deepest_debt(bucket: &Bucket) -> i64 {
    match bucket.ruler.algorithm() {
        Algorithm::SlidingCounter(counter) => {
            let step = tollgate_sim::models::CounterModel::step_of(counter.quota().as_micros());
            (((1 << 22) - 1 - bucket.full() / step) * step).cast_signed()
        }
        // But for the word that is no mark.
        _ => 500_000_000_000_000_000 - 1,
    }
}

/// By how many nanoseconds a clock may be behind: a microsecond, or the window of a sliding counter. A step back into the window
/// before must be no further than 5·10^11 tokens.
fn skew_max(bucket: &Bucket) -> u64 {
    match bucket.ruler.algorithm() {
        Algorithm::SlidingCounter(counter) => counter.window().as_nanos().min(1_000),
        Algorithm::FixedWindow(window) => {
            let windows = 500_000_000_000_000_000 / window.quota().as_micros();
            window.window().length().as_nanos().saturating_mul(windows).min(1_000)
        }
        _ => 1_000,
    }
}

/// A bucket of any algorithm but the log, whose state is not a word.
pub(crate) fn any_bucket(rng: &mut Rng) -> (Bucket, Moment) {
    loop {
        let algorithm = any_algorithm(rng);
        if !matches!(algorithm, Algorithm::SlidingLog(_)) {
            let start = any_start(rng);
            return (Bucket::new(algorithm, start), start.now);
        }
    }
}

/// What costs and shares may be rounded up by, together.
fn full_steps(bucket: &Bucket) -> i64 {
    match bucket.ruler.algorithm() {
        Algorithm::SlidingCounter(counter) => {
            let step = tollgate_sim::models::CounterModel::step_of(counter.quota().as_micros());
            2 * step.cast_signed()
        }
        Algorithm::Concurrency(_) => 2_000_000,
        _ => 1,
    }
}
