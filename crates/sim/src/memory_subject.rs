//! The memory store, as the conformance suite sees a store.
//!
//! A limiter with a clock that stands where the suite says. Nothing is translated but names: what the limiter answers is
//! what the suite gets. It does not know how large the table should be; whoever builds the limiter does.

use tollgate::{Clock, Limiter, LimiterBuilder, Rule, RuleError, Verdict};
use tollgate_core::{Limit, Moment};

use crate::conformance::{self, Breadth, Charge, Fault, Key, Outcome, RuleId, START, Subject};

/// A limiter under test.
#[derive(Debug)]
pub struct MemorySubject {
    limiter: Limiter,
    clock: Clock,
    rules: Vec<Rule>,
}

impl MemorySubject {
    /// A limiter with these settings, but a clock of the suite's.
    ///
    /// # Errors
    /// What [`LimiterBuilder::build`] says of the settings.
    pub fn new(settings: LimiterBuilder) -> Result<MemorySubject, tollgate::BuildError> {
        let clock = Clock::manual(START);
        let limiter = settings.clock(clock.clone()).build(unused_limit())?;
        Ok(MemorySubject { limiter, clock, rules: Vec::new() })
    }

    /// The limiter itself.
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    fn declared(&mut self, rule: Result<Rule, RuleError>) -> RuleId {
        match rule {
            Ok(rule) => self.rules.push(rule),
            Err(error) => unreachable!("the suite declares sound rules: {error}"),
        }
        RuleId(self.rules.len() - 1)
    }

    fn charge(&self, charge: &Charge) -> tollgate::Charge {
        let Charge { rule, key, cost } = charge;
        let rule = &self.rules[rule.0];
        match key {
            Key::Bytes(bytes) => rule.charge_n(bytes, *cost),
            Key::Number(number) => rule.charge_n(number, *cost),
            Key::Address(address) => rule.charge_n(address, *cost),
        }
    }
}

impl Subject for MemorySubject {
    fn rule(&mut self, name: &str, breadth: Breadth, limit: Limit, now: Moment) -> RuleId {
        self.clock.set(now);
        let breadth = match breadth {
            Breadth::Client => tollgate::Breadth::Client,
            Breadth::Group => tollgate::Breadth::Group,
            Breadth::Everyone => tollgate::Breadth::Everyone,
        };
        let declared = self.limiter.shared_rule(name, limit, breadth);
        self.declared(declared)
    }

    fn tier(&mut self, of: RuleId, name: &str, limit: Limit, now: Moment) -> RuleId {
        self.clock.set(now);
        let declared = self.rules[of.0].tier(name, limit);
        self.declared(declared)
    }

    fn set_limit(&mut self, rule: RuleId, limit: Limit, now: Moment) {
        self.rules[rule.0].set_limit_at(limit, now).expect("both are token buckets");
    }

    fn check(&mut self, charge: &Charge, now: Moment) -> Outcome {
        let Charge { rule, key, cost } = charge;
        let rule = &self.rules[rule.0];
        outcome_of(match key {
            Key::Bytes(bytes) => rule.check_at(bytes, *cost, now),
            Key::Number(number) => rule.check_at(number, *cost, now),
            Key::Address(address) => rule.check_at(address, *cost, now),
        })
    }

    fn check_all(&mut self, charges: &[Charge], now: Moment) -> Outcome {
        let charges: Vec<tollgate::Charge> = charges.iter().map(|charge| self.charge(charge)).collect();
        outcome_of(self.limiter.check_all_at(&charges, now))
    }

    fn check_each(&mut self, charges: &[Charge], now: Moment) -> Vec<Outcome> {
        let charges: Vec<tollgate::Charge> = charges.iter().map(|charge| self.charge(charge)).collect();
        let mut verdicts = Vec::new();
        self.limiter.check_each_at(&charges, now, &mut verdicts);
        verdicts.into_iter().map(outcome_of).collect()
    }

    fn peek(&mut self, charge: &Charge, now: Moment) -> Outcome {
        let Charge { rule, key, cost } = charge;
        let rule = &self.rules[rule.0];
        outcome_of(match key {
            Key::Bytes(bytes) => rule.peek_at(bytes, *cost, now),
            Key::Number(number) => rule.peek_at(number, *cost, now),
            Key::Address(address) => rule.peek_at(address, *cost, now),
        })
    }
}

fn outcome_of(verdict: Verdict) -> Outcome {
    match verdict {
        Verdict::Admit { remaining, .. } => Outcome::Admit { remaining },
        Verdict::Deny { cause: tollgate::Cause::Crowded, .. } => Outcome::Crowded,
        Verdict::Deny { wait, remaining, denied, .. } => Outcome::Deny { wait, remaining, denied },
        Verdict::Never { denied } => Outcome::Never { denied },
        Verdict::Invalid(error) => Outcome::Invalid(fault_of(error)),
    }
}

fn fault_of(error: tollgate::CheckError) -> Fault {
    use tollgate::CheckError;
    match error {
        CheckError::EmptyKey => Fault::EmptyKey,
        CheckError::KeyTooLong { .. } => Fault::KeyTooLong,
        CheckError::ZeroCost => Fault::ZeroCost,
        CheckError::NoCharges => Fault::NoCharges,
        CheckError::TooManyCharges { .. } => Fault::TooManyCharges,
        CheckError::TierConflict { .. } => Fault::TierConflict,
        error => unreachable!("the suite does not do that: {error}"),
    }
}

/// For the default rule, which the suite does not use.
fn unused_limit() -> Limit {
    match Limit::new(tollgate_core::Rate::per_second(1), tollgate_core::Burst::tokens(1)) {
        Ok(limit) => limit,
        Err(error) => unreachable!("{error}"),
    }
}

/// The suite and the store agree on how long a key may be.
const _: () = assert!(conformance::KEY_BYTES_MAX == tollgate::KEY_BYTES_MAX);
