//! What each algorithm promises to a bucket in a crowded table, and operations in proportion to it.

use std::collections::BTreeMap;

use tollgate::Algorithm;
use tollgate_core::{Burst, Cost, Limit, Moment, Rate, Span};

use crate::checker::Promise;
use crate::conformance::{Action, Charge, Key, RuleId, Settlement, Ticket};

/// Numbered keys, so few that each returns.
const KEYS: u64 = 40;
/// Buckets that one check may touch.
const CHARGES: usize = 4;

/// In every interval of length d at most this burst and this rate times d. A fixed window may give two quotas at once, a
/// sliding one only one.
pub(super) fn promise_of(algorithm: Algorithm) -> Promise {
    let per_window = |quota: u64, window: Span, quotas: u64| {
        let rate = Rate::new(quota, Span::from_nanos(window.as_nanos().saturating_mul(1_000_000)));
        Limit::new(rate, Burst::micros(quota * quotas))
    };
    let full = algorithm.full().as_micros();
    let limit = match algorithm {
        Algorithm::TokenBucket(limit) => Ok(limit),
        Algorithm::LeakyBucket(leaky) => Ok(leaky.limit()),
        Algorithm::FixedWindow(fixed) => per_window(full, fixed.window().length(), 2),
        Algorithm::SlidingCounter(counter) => per_window(full, counter.window(), 1),
        Algorithm::SlidingLog(log) => per_window(full, log.window(), 1),
        _ => Limit::new(Rate::per_second(1), Burst::tokens(1)),
    };
    match limit {
        Ok(limit) => Promise::of(limit),
        // A quota too large for a bucket is not spent by an input either.
        Err(_) => match Limit::new(Rate::per_second(1_000_000_000), Burst::tokens(1_000_000_000_000)) {
            Ok(limit) => Promise::of(limit),
            Err(error) => unreachable!("{error}"),
        },
    }
}

/// How long until what was spent is there again.
pub(super) fn time_to_full(algorithm: Algorithm) -> Span {
    match algorithm {
        Algorithm::TokenBucket(limit) => limit.time_to_full(),
        Algorithm::LeakyBucket(leaky) => leaky.limit().time_to_full(),
        Algorithm::FixedWindow(fixed) => fixed.window().length(),
        Algorithm::SlidingCounter(counter) => counter.window(),
        Algorithm::SlidingLog(log) => log.window(),
        Algorithm::Concurrency(places) => places.timeout(),
        _ => Span::MAX,
    }
}

/// The action in proportion: costs within the burst, few keys, checks of few buckets. Otherwise hardly an input would crowd
/// the table. And so that it is plain what each bucket was given: reservations of one charge, settled below their estimate.
pub(super) fn tame(action: Action, limit_of: impl Fn(RuleId) -> Algorithm) -> Action {
    let one = |charge: Charge| {
        let full = limit_of(charge.rule).full().as_micros();
        let key = match charge.key {
            Key::Number(number) => Key::Number(number % KEYS),
            other => other,
        };
        Charge { cost: Cost::micros(1 + charge.cost.as_micros() % full), key, ..charge }
    };
    let few = |charges: Vec<Charge>, most| charges.into_iter().take(most).map(one).collect();
    match action {
        Action::Check(charge) => Action::Check(one(charge)),
        Action::CheckAll(charges) | Action::CheckOnce(_, _, charges) => {
            Action::CheckAll(few(charges, CHARGES))
        }
        Action::CheckEach(charges) => Action::CheckEach(few(charges, usize::MAX)),
        Action::Enter(ticket, charges) => Action::Enter(ticket, few(charges, CHARGES)),
        Action::Reserve(ticket, charges, timeout) => Action::Reserve(ticket, few(charges, 1), timeout),
        // An overrun is the one way past a limit that nobody can close.
        Action::Settle(ticket, Settlement::Commit(_)) => {
            Action::Settle(ticket, Settlement::Commit(Cost::micros(1)))
        }
        Action::Settle(ticket, _) => Action::Settle(ticket, Settlement::Cancel),
        Action::Refund(charge) => Action::Refund(one(charge)),
        Action::Grant(charge) => Action::Grant(one(charge)),
        Action::Reset(charge) => Action::Reset(one(charge)),
        other => other,
    }
}

/// Who holds places, as far as their time is not over.
#[derive(Default)]
pub(super) struct Places {
    holders: BTreeMap<Ticket, Vec<(RuleId, Key, u64, Moment)>>,
}

impl Places {
    /// Counts the places that were taken: never more than there are.
    pub(super) fn enter(
        &mut self,
        ticket: Ticket,
        charges: &[Charge],
        limit_of: impl Fn(RuleId) -> Algorithm,
        now: Moment,
    ) {
        let taking = charges.iter().filter_map(|charge| match limit_of(charge.rule) {
            Algorithm::Concurrency(places) => Some((charge, places)),
            _ => None,
        });
        let mut holds: Vec<(RuleId, Key, u64, Moment)> = Vec::new();
        for (charge, places) in taking {
            // Parts of one place to one bucket are taken together.
            let micros = charge.cost.as_micros();
            match holds.iter_mut().find(|(rule, key, ..)| *rule == charge.rule && *key == charge.key) {
                Some((_, _, held, _)) => *held += micros,
                None => holds.push((charge.rule, charge.key.clone(), micros, now + places.timeout())),
            }
        }
        self.holders.insert(ticket, holds);
        for charge in charges {
            if let Algorithm::Concurrency(places) = limit_of(charge.rule) {
                let of_bucket = self.holders.values().flatten().filter(|(rule, key, _, until)| {
                    *until > now && (*rule, key) == (charge.rule, &charge.key)
                });
                let taken: u64 = of_bucket.map(|(_, _, micros, _)| micros.div_ceil(1_000_000)).sum();
                assert!(taken <= u64::from(places.places()), "{taken} at work in {places:?}");
            }
        }
    }

    /// They are given back, or were lost.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.holders.remove(&ticket);
    }

    /// A reset frees all places of a bucket.
    pub(super) fn reset(&mut self, charge: &Charge, action: &Action) {
        if matches!(action, Action::Reset(_)) {
            for holds in self.holders.values_mut() {
                holds.retain(|(rule, key, ..)| (*rule, key) != (charge.rule, &charge.key));
            }
        }
    }
}
