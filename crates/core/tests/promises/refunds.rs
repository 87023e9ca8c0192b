//! A11: a charge that is given back leaves no more than there would be if it had never been made.

use std::ops::Range;

use tollgate_core::{Algorithm, Demand, Span, Tokens};
use tollgate_sim::seeds::{any_magnitude, for_each_seed};

use super::any_algorithm::any_demand;
use super::bucket::{Answer, Bucket};
use super::demands::any_bucket;

/// Checks of others between the charge and its refund, at the most.
pub(crate) const STEPS: u64 = 20;

/// Two buckets through the same checks, of which one paid once more at first, and is then given back what can be.
pub(crate) fn leave_no_more_than_without_the_charge(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (mut charged, mut now) = any_bucket(rng);
        let longest = 1 << rng.u32(0..=pause_bits_max(&charged));
        for _ in 0..rng.u64(0..3) {
            charged.check(any_demand(rng, charged.full()), now);
        }
        let mut without: Bucket = charged;
        let demand = Demand { keep: Tokens::ZERO, ..any_demand(rng, charged.full()) };
        if !matches!(charged.check(demand, now), Answer::Admit { .. }) {
            return;
        }
        let paid = charged.mark;
        for _ in 0..rng.u64(0..=STEPS) {
            now = now + Span::from_nanos(any_magnitude(rng, longest) - 1);
            let other = any_demand(rng, charged.full());
            if let Answer::Admit { .. } = charged.check(other, now) {
                assert!(matches!(without.check(other, now), Answer::Admit { .. }), "the fuller one denies");
            }
        }
        let back = charged.ruler.reading(now).returnable(paid, demand.cost);
        assert!(back <= demand.cost.as_micros());
        if charged.ruler.is_of_places() {
            assert_eq!(back, 0, "places are given back by their holders alone");
            return;
        }
        let debt_max = Tokens::from_micros(rng.u64(0..=charged.full()));
        let reading = charged.ruler.reading(now);
        charged.mark = reading.give_back(charged.mark, paid, demand.cost, u64::MAX, debt_max);
        let (after, most) = (charged.balance(now), without.balance(now));
        assert!(after <= most, "{after} after the refund of {back}, {most} without the charge of {demand:?}");
    });
}

/// How long a pause may be so that [`STEPS`] of them mint less than 2^62 micro-tokens: a meter that mints 2^64 laps its marks.
fn pause_bits_max(bucket: &Bucket) -> u32 {
    let micros_per_nano = match bucket.ruler.algorithm() {
        Algorithm::TokenBucket(_) | Algorithm::LeakyBucket(_) => {
            let [micros, nanos, _] = bucket.ruler.meter().unwrap().limit().terms();
            micros.div_ceil(nanos)
        }
        // A month may be three days shorter than its usual length.
        Algorithm::FixedWindow(fixed) => {
            fixed.quota().as_micros().div_ceil(fixed.window().length().as_nanos()).saturating_mul(2)
        }
        _ => 1,
    };
    57_u32.saturating_sub(micros_per_nano.ilog2() + 1)
}
