//! The exact model of a token bucket, in rationals of unlimited size.
//!
//! It holds a balance and refills it; that is all. It promises no speed and rounds nothing. It deliberately does not
//! know meters, marks, floors or wrap-around: it is what the arithmetic of `tollgate-core` is compared with.

use num_bigint::BigInt;
use num_rational::BigRational;
use tollgate_core::{Cost, Limit, Moment};

/// A token bucket as it is explained on a blackboard. All amounts in micro-tokens.
///
/// Time only goes forward here: a moment before the last one counts as the last one.
#[derive(Debug, Clone)]
pub struct Model {
    /// Micro-tokens per nanosecond.
    rate: BigRational,
    burst: BigRational,
    /// What the bucket held at `at`.
    balance: BigRational,
    at: Moment,
}

impl Model {
    /// A full bucket.
    pub fn full(limit: &Limit, now: Moment) -> Model {
        let (rate, burst) = rate_and_burst(limit);
        Model { rate, balance: burst.clone(), burst, at: now }
    }

    /// What the bucket holds at `now`, in micro-tokens.
    pub fn balance(&self, now: Moment) -> BigRational {
        let minted = &self.rate * whole(now.since(self.at).as_nanos());
        (&self.balance + minted).min(self.burst.clone())
    }

    /// Whether the bucket holds `cost` at `now`.
    pub fn affords(&self, cost: Cost, now: Moment) -> bool {
        self.balance(now) >= whole(cost.as_micros())
    }

    /// Takes `cost` out of the bucket whether it holds that or not. A test that follows the decisions of something
    /// else uses it; the balance may then fall below zero.
    pub fn spend(&mut self, cost: Cost, now: Moment) {
        self.refill(now);
        self.balance -= whole(cost.as_micros());
    }

    /// Puts `limit` in force: the time until `now` counts at the old rate; a smaller burst clamps.
    pub fn change(&mut self, limit: &Limit, now: Moment) {
        self.refill(now);
        (self.rate, self.burst) = rate_and_burst(limit);
        self.balance = self.balance.clone().min(self.burst.clone());
    }

    /// The least whole number of nanoseconds after `now` at which the bucket holds `cost`; 0 if it does already. `None`
    /// if the cost is above the burst.
    pub fn wait(&self, cost: Cost, now: Moment) -> Option<BigInt> {
        let cost = whole(cost.as_micros());
        if cost > self.burst {
            return None;
        }
        let missing = cost - self.balance(now);
        Some((missing / &self.rate).ceil().to_integer().max(BigInt::from(0)))
    }

    fn refill(&mut self, now: Moment) {
        self.balance = self.balance(now);
        self.at = self.at.max(now);
    }
}

/// What the rate of `limit` mints in `nanos` nanoseconds: exact, in micro-tokens.
pub fn minted(limit: &Limit, nanos: u64) -> BigRational {
    rate_and_burst(limit).0 * whole(nanos)
}

/// `amount` as a rational.
pub fn whole(amount: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(amount.into())
}

fn rate_and_burst(limit: &Limit) -> (BigRational, BigRational) {
    let [micros, nanos, burst] = limit.terms();
    (BigRational::new(micros.into(), nanos.into()), whole(burst))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::{Burst, Rate, Span};

    const START: Moment = Moment::from_nanos(7);

    /// Else the model would share a mistake of `Limit::new` with what it judges.
    #[test]
    fn the_rate_is_the_one_that_was_asked_for() {
        for (tokens, period) in
            [(10, Span::from_secs(1)), (3, Span::from_secs(1_000)), (7, Span::from_nanos(11))]
        {
            let limit = Limit::new(Rate::new(tokens, period), Burst::micros(5)).unwrap();
            let asked = BigRational::new((tokens * 1_000_000).into(), period.as_nanos().into());
            assert_eq!(rate_and_burst(&limit), (asked, whole(5)));
        }
    }

    #[test]
    fn thirds_of_a_micro_token_are_kept() {
        let limit = Limit::new(Rate::new(1, Span::from_nanos(3_000_000)), Burst::tokens(1)).unwrap();
        let mut model = Model::full(&limit, START);
        model.spend(Cost::ONE, START);
        assert_eq!(model.balance(START + Span::from_nanos(2)), BigRational::new(2.into(), 3.into()));
        assert_eq!(model.wait(Cost::micros(1), START), Some(3.into()));
        assert_eq!(model.wait(Cost::tokens(2), START), None);
    }

    #[test]
    fn a_change_counts_the_past_at_the_old_rate_and_clamps() {
        let limit = |rate, burst| Limit::new(Rate::per_second(rate), Burst::tokens(burst)).unwrap();
        let mut model = Model::full(&limit(10, 50), START);
        model.spend(Cost::tokens(50), START);
        let second = START + Span::from_secs(1);
        model.change(&limit(20, 5), second);
        assert_eq!(model.balance(second), whole(5_000_000));
        model.change(&limit(20, 500), second);
        assert_eq!(model.balance(second + Span::from_secs(1)), whole(25_000_000));
    }
}
