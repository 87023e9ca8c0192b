//! Generated histories with another limit in every call, beside a naive model in wide integers.

use std::collections::HashMap;

use tollgate::{Burst, Cost, ExplicitVerdict, Limit, Moment, Rate, Span, Verdict};
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::world::{START, roomy};

const SECOND: u64 = 1_000_000_000;

/// Every bucket that was ever charged: micro-tokens, and as of when.
#[derive(Default)]
struct Model(HashMap<u32, (i128, u64)>);

impl Model {
    /// What the bucket of a key holds, and as of when.
    fn held(&self, key: u32, limit: &Limit, now: u64) -> (i128, u64) {
        let [num, den, burst] = limit.terms().map(i128::from);
        let Some((balance, stamp)) = self.0.get(&key).copied() else { return (burst, now) };
        let stamp = if stamp > now + SECOND { now } else { stamp };
        let until = now.max(stamp);
        let minted = |moment: u64| i128::from(moment) * num / den;
        ((balance + minted(until) - minted(stamp)).min(burst), until)
    }

    /// Charges all of `asks`, or none: whether it did, and which could not pay.
    fn check_all(&mut self, asks: &[(u32, Limit, u64)], now: u64) -> Vec<bool> {
        let cost_of =
            |key: u32| asks.iter().filter(|ask| ask.0 == key).map(|ask| i128::from(ask.2)).sum::<i128>();
        let pays: Vec<bool> =
            asks.iter().map(|(key, limit, _)| self.held(*key, limit, now).0 >= cost_of(*key)).collect();
        for (key, limit, cost) in asks {
            if pays.iter().all(|pays| *pays) {
                let (held, until) = self.held(*key, limit, now);
                self.0.insert(*key, (held - i128::from(*cost), until));
            } else if asks
                .iter()
                .all(|(key, limit, _)| cost_of(*key) <= i128::from(limit.burst().as_micros()))
            {
                self.follow(*key, now);
            }
        }
        pays
    }

    /// A clock that was set back for good moves the stamp, though nothing is charged.
    fn follow(&mut self, key: u32, now: u64) {
        if let Some((_, stamp)) = self.0.get_mut(&key).filter(|(_, stamp)| *stamp > now + SECOND) {
            *stamp = now;
        }
    }

    fn refund(&mut self, key: u32, limit: &Limit, amount: u64, now: u64) -> i128 {
        let (held, until) = self.held(key, limit, now);
        let given = i128::from(amount).min(i128::from(limit.burst().as_micros()) - held);
        if given > 0 {
            self.0.insert(key, (held + given, until));
        }
        given
    }
}

fn any_limit(rng: &mut Rng) -> Limit {
    loop {
        let rate = Rate::new(any_magnitude(rng, 100_000), Span::from_nanos(any_magnitude(rng, 100 * SECOND)));
        if let Ok(limit) = Limit::new(rate, Burst::micros(any_magnitude(rng, 1_000_000_000_000))) {
            return limit;
        }
    }
}

fn any_cost(rng: &mut Rng, limit: &Limit) -> u64 {
    match rng.u8(0..8) {
        0 => any_magnitude(rng, u64::MAX >> 1),
        1 => limit.burst().as_micros() + 1,
        part => rng.u64(1..=limit.burst().as_micros().div_ceil(u64::from(part))),
    }
}

/// Usually later; sometimes a little earlier, sometimes much.
fn any_moment(rng: &mut Rng, now: u64) -> u64 {
    match rng.u8(0..16) {
        0 => now - rng.u64(0..SECOND),
        1 => now - rng.u64(0..100 * SECOND),
        2 => now,
        _ => now + any_magnitude(rng, 60 * SECOND),
    }
}

fn agree(told: &ExplicitVerdict, pays: &[bool]) {
    match told.verdict {
        Verdict::Admit { .. } => assert!(pays.iter().all(|pays| *pays), "{told:?}, but {pays:?}"),
        Verdict::Deny { denied, .. } => {
            let denies: Vec<bool> = (0..pays.len()).map(|index| !denied.contains(index)).collect();
            assert_eq!(denies, pays, "{told:?}");
        }
        Verdict::Never { denied } => {
            assert!(denied.iter().all(|index| !pays[index]), "{told:?}, but {pays:?}");
        }
        Verdict::Invalid(error) => panic!("{error}"),
    }
}

#[test]
fn any_history_with_another_limit_in_every_call_is_as_the_model_says() {
    for_each_seed(0..60, |rng| {
        let (limiter, clock) = roomy();
        let explicit = limiter.explicit();
        let limits: [Limit; 4] = std::array::from_fn(|_| any_limit(rng));
        let (mut model, mut now) = (Model::default(), 100 * START.as_nanos());
        for _ in 0..400 {
            now = any_moment(rng, now);
            clock.set(Moment::from_nanos(now));
            let (key, limit) = (rng.u32(0..5), limits[rng.usize(0..4)]);
            let cost = any_cost(rng, &limit);
            match rng.u8(0..10) {
                0 => {
                    let given = explicit.refund(key, &limit, Cost::micros(cost)).unwrap();
                    let expected = model.refund(key, &limit, cost, now);
                    assert_eq!(i128::from(given.given.as_micros()), expected);
                }
                1 => {
                    explicit.reset(key).unwrap();
                    model.0.remove(&key);
                }
                2..=4 => {
                    let mut asks = vec![(key, limit, cost)];
                    for _ in 0..rng.usize(0..8) {
                        let (key, limit) = (rng.u32(0..5), limits[rng.usize(0..4)]);
                        if asks.iter().all(|ask| ask.0 != key || ask.1 == limit) {
                            asks.push((key, limit, any_cost(rng, &limit) >> 1 | 1));
                        }
                    }
                    let charge = |(key, limit, cost): &(u32, Limit, u64)| {
                        explicit.charge(*key, limit, Cost::micros(*cost))
                    };
                    let charges: Vec<_> = asks.iter().map(charge).collect();
                    let peeked = explicit.peek_all(&charges);
                    let told = explicit.check_all(&charges);
                    assert_eq!(peeked.is_admitted(), told.is_admitted());
                    agree(&told, &model.check_all(&asks, now));
                }
                _ => {
                    let (held, _) = model.held(key, &limit, now);
                    let peeked = explicit.peek(key, &limit, Cost::micros(cost));
                    let told = explicit.check(key, &limit, Cost::micros(cost));
                    assert_eq!(peeked, told);
                    agree(&told, &model.check_all(&[(key, limit, cost)], now));
                    let left = held - if told.is_admitted() { i128::from(cost) } else { 0 };
                    assert_eq!(i128::from(told.remaining.as_micros()), left);
                    judge_times(&model, key, &limit, cost, &told, now);
                }
            }
        }
    });
}

/// The wait and the time to full are exact: a nanosecond earlier it is not so.
fn judge_times(model: &Model, key: u32, limit: &Limit, cost: u64, told: &ExplicitVerdict, now: u64) {
    // What can never be admitted follows no clock, but is told what is so if the next check does.
    let mut model = Model(model.0.clone());
    model.follow(key, now);
    let holds = |after: u64, micros: u64| model.held(key, limit, now + after).0 >= i128::from(micros);
    let is_exact = |span: Span, micros: u64| {
        let nanos = span.as_nanos();
        holds(nanos, micros) && (nanos == 0 || !holds(nanos - 1, micros))
    };
    assert!(is_exact(told.time_to_full, limit.burst().as_micros()), "{told:?}");
    if let Verdict::Deny { wait, .. } = told.verdict {
        assert!(is_exact(wait, cost), "{told:?}");
    }
}
