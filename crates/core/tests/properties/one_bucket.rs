//! A1, A4, A6, A7, A9: one bucket through random checks, pauses and changes of its limit, beside the exact model.
//!
//! How far the two may differ, and why. Both count from the same birth; ours rounds what was minted down to the
//! micro-token, once for the meter and once for the mark. So ours is *never fuller by a micro-token or more*. It is never
//! emptier by more than that micro-token and what changes of the rate lose: 2^-64 of a micro-token each.

use std::ops::Range;

use num_rational::BigRational;
use tollgate_core::{Cost, Decision, Limit, Mark, Meter, Moment, Span, decide};
use tollgate_sim::model::{Model, whole};
use tollgate_sim::seeds::{Rng, for_each_seed};

use super::any_limit::{any_cost, any_limit, any_pause};

/// Steps of one case.
pub(crate) const STEPS: u64 = 200;

/// Runs [`STEPS`] steps for each seed.
pub(crate) fn follows_the_model(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let mut bucket = Bucket::any(rng);
        let changing = rng.bool();
        for _ in 0..STEPS {
            bucket.now = bucket.now + any_pause(rng, &bucket.limit);
            if changing && rng.u8(0..8) == 0 {
                bucket.change(any_successor(rng, &bucket.limit), bucket.now);
            }
            // By a clock that stepped back behind the last change: it holds from there on, and mints no time twice.
            let (before, successor) = (bucket.limit, any_successor(rng, &bucket.limit));
            if changing && rng.u8(0..32) == 0 && successor != before {
                bucket.change(successor, bucket.now);
                let earlier = bucket.now - any_pause(rng, &bucket.limit);
                bucket.change(any_successor(rng, &bucket.limit), earlier);
            }
            bucket.check(any_cost(rng, &bucket.limit));
        }
    });
}

/// A bucket, and the model that is told of every admit.
struct Bucket {
    limit: Limit,
    meter: Meter,
    mark: Mark,
    model: Model,
    now: Moment,
    changes: u64,
}

impl Bucket {
    fn any(rng: &mut Rng) -> Bucket {
        let (limit, now) = (any_limit(rng), Moment::from_nanos(rng.u64(..) >> 4));
        let meter = Meter::new(limit, now, rng.u64(..));
        Bucket {
            limit,
            meter,
            mark: meter.level(now).full_mark(),
            model: Model::full(&limit, now),
            now,
            changes: 0,
        }
    }

    fn change(&mut self, limit: Limit, moment: Moment) {
        self.limit = limit;
        self.meter = self.meter.change(limit, moment);
        self.model.change(&limit, self.now);
        self.changes += 1;
    }

    fn check(&mut self, cost: Cost) {
        let exact = self.model.balance(self.now);
        let ours = self.meter.level(self.now).balance(self.mark);
        let difference = whole(ours) - &exact;
        assert!(difference < whole(1), "fuller by {difference} than {exact}");
        assert!(difference > whole(-1) - self.lost(), "emptier by {difference} than {exact}");

        match decide(&self.meter, self.mark, cost, self.now) {
            Decision::Admit { mark, remaining } => {
                // Ours is less than a micro-token fuller, so it may admit that much early.
                assert!(whole(cost.as_micros()) - &exact < whole(1), "{cost} admitted out of {exact}");
                assert_eq!(remaining.as_micros(), ours.cast_unsigned() - cost.as_micros());
                assert_eq!(self.meter.level(self.now).balance(mark), ours - cost.as_micros().cast_signed());
                self.mark = mark;
                self.model.spend(cost, self.now);
            }
            Decision::Deny { wait, remaining } => {
                assert!(exact - whole(cost.as_micros()) <= self.lost(), "{cost} denied by {ours}");
                assert_eq!(
                    remaining.as_micros(),
                    ours.cast_unsigned(),
                    "what is left is true on denials too"
                );
                self.judge_wait(cost, wait);
            }
            Decision::Never => assert!(cost.as_micros() > self.limit.burst().as_micros()),
        }
    }

    /// A6: exact to the nanosecond, and no later than the model's.
    fn judge_wait(&self, cost: Cost, wait: Span) {
        let admits = |now| matches!(decide(&self.meter, self.mark, cost, now), Decision::Admit { .. });
        assert!(wait > Span::ZERO && admits(self.now + wait), "{cost} still denied after {wait}");
        assert!(!admits(self.now + wait - Span::from_nanos(1)), "{cost} admitted before {wait}");
        let ours = num_bigint::BigInt::from(wait.as_nanos());
        let exact = self.model.wait(cost, self.now).unwrap();
        let of_one_micro = self.limit.time_to_mint(tollgate_core::Tokens::from_micros(1)).as_nanos();
        assert!(ours <= exact.clone() + u8::from(self.changes > 0), "{ours} ns, exactly {exact} ns");
        assert!(ours + of_one_micro >= exact, "a micro-token or more too early: exactly {exact} ns");
    }

    /// Micro-tokens that the changes so far may have lost.
    fn lost(&self) -> BigRational {
        BigRational::new(self.changes.into(), num_bigint::BigInt::from(1_u128 << 64))
    }
}

/// Another rate, another burst, or both.
fn any_successor(rng: &mut Rng, limit: &Limit) -> Limit {
    let [micros, nanos, burst] = limit.terms();
    let [other_micros, other_nanos, other_burst] = any_limit(rng).terms();
    let successor = match rng.u8(0..3) {
        0 => Limit::from_terms([micros, nanos, other_burst]),
        1 => Limit::from_terms([other_micros, other_nanos, burst]),
        _ => None,
    };
    successor.unwrap_or_else(|| any_limit(rng))
}
