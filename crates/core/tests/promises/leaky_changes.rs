//! A9, leaky bucket: a live change of the rate or of the queue keeps what is queued.

use std::ops::Range;

use tollgate_core::{Algorithm, LeakyBucket, Rate, Span, Start};
use tollgate_sim::models::LeakyModel;
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::any_algorithm::{any_demand, any_start, leaky_limit};
use super::bucket::{Answer, Bucket};
use super::leaky_bucket::any_pause;

/// Steps of one case.
pub(crate) const STEPS: u64 = 100;

/// Every period below divides it, so that the model keeps all rates in whole grains.
const GRAINS: u64 = 21_000_000_000;

/// The backlog goes on as it is, drained at the old rate before and at the new one after, whether the rule is changed or the
/// bucket moves to a sibling of another limit.
pub(crate) fn keep_the_backlog(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (mut leaky, start) = (any_rated(rng), any_start(rng));
        let mut now = start.now;
        let mut bucket = Bucket::new(leaky, start);
        let mut model = LeakyModel::empty(GRAINS.into(), rate_of(&leaky), now);
        let mut roundings = 1;
        for _ in 0..STEPS {
            now = now + any_pause(rng, &leaky_limit(&leaky));
            if rng.u8(0..4) == 0 {
                leaky = any_rated(rng);
                let next = Algorithm::from(leaky);
                if rng.bool() {
                    bucket.ruler = bucket.ruler.change(next, now).unwrap();
                } else {
                    let start = Start { now, offset: rng.u64(..), origin: 0 };
                    let sibling = bucket.ruler.sibling(next, start).unwrap();
                    bucket.mark = sibling.carry_over(bucket.mark, &bucket.ruler, now);
                    bucket.ruler = sibling;
                }
                model.change(rate_of(&leaky), now);
                roundings += 1;
            }
            let (backlog, exact) =
                (i128::from(bucket.full()) - i128::from(bucket.balance(now)), model.backlog(now));
            let (ours, slack) =
                (u128::try_from(backlog).unwrap() * u128::from(GRAINS), roundings * u128::from(GRAINS));
            assert!(ours.abs_diff(exact) < slack, "{ours} grains queued, exactly {exact}");
            let demand = any_demand(rng, bucket.full());
            match bucket.check(demand, now) {
                Answer::Admit { .. } => model.join(demand.cost.as_micros(), now),
                Answer::Deny { wait, .. } => bucket.judge_wait(demand, wait, now),
                Answer::Never => {}
            }
        }
    });
}

fn rate_of(leaky: &LeakyBucket) -> [u64; 2] {
    let [micros, nanos, _] = leaky_limit(leaky).terms();
    [micros, nanos]
}

/// A leaky bucket whose rate is a whole number of grains per nanosecond.
fn any_rated(rng: &mut Rng) -> LeakyBucket {
    loop {
        let period = [1, 3, 7, 21].map(|part| part * 10_u64.pow(rng.u32(0..10)))[rng.usize(0..4)];
        let rate = Rate::new(any_magnitude(rng, 1_000_000_000), Span::from_nanos(period));
        let queue = super::any_algorithm::any_quota(rng);
        if let Ok(leaky) = LeakyBucket::new(rate, queue) {
            return leaky;
        }
    }
}
