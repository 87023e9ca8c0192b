//! A table that is far too small: whoever is displaced, denied or made to share, nobody gets more than promised.
//!
//! There is no telling who finds room, so nothing is compared; all that was admitted goes to the history checker.

use std::collections::BTreeMap;

use tollgate::{Algorithm, Clock, Crowding, Limiter, Rule};
use tollgate_core::{Cost, Limit, Moment, Span};

use super::{Decoder, OPERATIONS_MAX, Operation};
use crate::checker::{Promise, judge_each};
use crate::conformance::{Charge, Key, START};
use crate::history::Event;

/// Rules that an input may declare.
const RULES_MAX: usize = 4;
/// Numbered keys, so few that each returns.
const KEYS: u64 = 40;
/// Buckets that one check may touch.
const CHARGES: usize = 4;

/// A small limiter, and all that it admitted.
struct Small {
    limiter: Limiter,
    clock: Clock,
    rules: Vec<(Rule, Promise)>,
    /// Buckets by number, for the history.
    buckets: BTreeMap<(usize, Key), u64>,
    events: Vec<Event>,
    now: Moment,
}

pub(super) fn run(decoder: &mut Decoder<'_>) {
    let crowding =
        [Crowding::Inherit, Crowding::DenyNew, Crowding::SharedOverflow][usize::from(decoder.byte() % 3)];
    let keys = 1 + usize::from(decoder.byte() % 24);
    let Ok(limit) = decoder.limit() else { return };
    let clock = Clock::manual(START);
    let settings = Limiter::builder().keys_max(keys).crowding(crowding).clock(clock.clone());
    let Ok(limiter) = settings.build(limit) else { return };
    let rules = vec![(limiter.default_rule().clone(), Promise::of(limit))];
    let (buckets, events) = (BTreeMap::new(), Vec::new());
    let mut small = Small { limiter, clock, rules, buckets, events, now: START };
    for _ in 0..OPERATIONS_MAX {
        let Some(operation) = decoder.operation(small.rules.len()) else { break };
        small.apply(operation);
    }
    small.judge(crowding);
}

impl Small {
    /// Time only goes forward and there are no tiers: what a bucket was promised must be plain.
    fn apply(&mut self, operation: Operation) {
        match self.tame(operation) {
            Operation::Rule(_, Ok(limit)) if self.rules.len() < RULES_MAX => {
                if let Ok(rule) = self.limiter.rule(&self.rules.len().to_string(), limit) {
                    self.rules.push((rule, Promise::of(limit)));
                }
            }
            Operation::SetLimit(rule, Ok(limit)) => self.change(rule.0, limit),
            Operation::Forward(span) => {
                self.now = self.now + span;
                self.clock.set(self.now);
            }
            Operation::Peek(charge) => {
                let _ = self.rules[charge.rule.0].0.peek_at(key_bytes(&charge.key), charge.cost, self.now);
            }
            Operation::Check(charge) => {
                let verdict = self.limiter.check_all_at(&[self.charge(&charge)], self.now);
                self.record(&charge, verdict.is_admitted());
            }
            Operation::CheckAll(charges) => {
                let asked: Vec<tollgate::Charge> = charges.iter().map(|charge| self.charge(charge)).collect();
                let admitted = self.limiter.check_all_at(&asked, self.now).is_admitted();
                for charge in &charges {
                    self.record(charge, admitted);
                }
            }
            Operation::CheckEach(charges) => {
                let asked: Vec<tollgate::Charge> = charges.iter().map(|charge| self.charge(charge)).collect();
                let mut verdicts = Vec::new();
                self.limiter.check_each_at(&asked, self.now, &mut verdicts);
                for (charge, verdict) in charges.iter().zip(&verdicts) {
                    self.record(charge, verdict.is_admitted());
                }
            }
            Operation::Rule(..)
            | Operation::Tier(..)
            | Operation::SetLimit(..)
            | Operation::Back(_)
            | Operation::Float(_) => {}
        }
    }

    /// The operation in proportion: costs within the burst, few keys, pauses that fill few buckets, checks of few buckets. Otherwise
    /// hardly an input would crowd the table.
    fn tame(&self, operation: Operation) -> Operation {
        let tame_charge = |charge: Charge| {
            let burst = self.rules[charge.rule.0].0.limit().full().as_micros();
            let key = match charge.key {
                Key::Number(number) => Key::Number(number % KEYS),
                other => other,
            };
            Charge { cost: Cost::micros(1 + charge.cost.as_micros() % burst), key, rule: charge.rule }
        };
        match operation {
            Operation::Forward(span) => {
                let Algorithm::TokenBucket(limit) = self.rules[0].0.limit() else {
                    return Operation::Forward(span);
                };
                let longest = limit.time_to_full().as_nanos() / 4;
                Operation::Forward(Span::from_nanos(span.as_nanos().min(longest)))
            }
            Operation::Check(charge) => Operation::Check(tame_charge(charge)),
            Operation::CheckAll(charges) => {
                Operation::CheckAll(charges.into_iter().take(CHARGES).map(tame_charge).collect())
            }
            Operation::CheckEach(charges) => {
                Operation::CheckEach(charges.into_iter().map(tame_charge).collect())
            }
            other => other,
        }
    }

    fn change(&mut self, rule: usize, limit: Limit) {
        let (rule, promise) = &mut self.rules[rule];
        rule.set_limit_at(limit, self.now).expect("both are token buckets");
        *promise = promise.clone().then(self.now, limit);
    }

    fn charge(&self, charge: &Charge) -> tollgate::Charge {
        self.rules[charge.rule.0].0.charge_n(key_bytes(&charge.key), charge.cost)
    }

    fn record(&mut self, charge: &Charge, admitted: bool) {
        let next = self.buckets.len() as u64;
        let key = *self.buckets.entry((charge.rule.0, charge.key.clone())).or_insert(next);
        let cost = i64::try_from(charge.cost.as_micros()).unwrap_or(i64::MAX);
        self.events.push(Event { key, called: self.now, answered: self.now, cost, admitted });
    }

    fn judge(self, crowding: Crowding) {
        // A client evicted from among strangers comes back full; that is documented and counted.
        if crowding == Crowding::Inherit && self.limiter.stats().forgotten > 0 {
            return;
        }
        let rule_of: BTreeMap<u64, usize> =
            self.buckets.iter().map(|((rule, _), number)| (*number, *rule)).collect();
        judge_each(self.events, |key| self.rules[rule_of[&key]].1.clone()).assert_kept();
    }
}

/// All kinds of keys as bytes that keep them apart.
fn key_bytes(key: &Key) -> Vec<u8> {
    match key {
        Key::Bytes(bytes) => bytes.clone(),
        other => format!("{other:?}").into_bytes(),
    }
}
