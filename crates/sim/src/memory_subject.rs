//! The memory store, as the conformance suite sees a store.
//!
//! A limiter with a clock that stands where the suite says. Nothing is translated but names: what the limiter answers is
//! what the suite gets. It does not know how large the table should be; whoever builds the limiter does.

mod names;

use std::collections::BTreeMap;

use tollgate::{
    CheckError, Clock, Guard, Limiter, LimiterBuilder, Priority, Reservation, ReserveError, Rule, RuleError,
    Shares,
};
use tollgate_core::{Algorithm, Moment, Span, Tokens};

use self::names::{breadth_of, given_of, left_of, settle_fault_of, settled_of};
pub use self::names::{fault_of, outcome_of};
use crate::conformance::{
    Breadth, Charge, Fault, Given, Key, Left, Outcome, RuleId, START, SettleFault, Settled, Settlement,
    Subject, Ticket,
};

/// A limiter under test.
#[derive(Debug)]
pub struct MemorySubject {
    limiter: Limiter,
    clock: Clock,
    rules: Vec<Rule>,
    guards: BTreeMap<Ticket, Guard>,
    reservations: BTreeMap<Ticket, NamedReservation>,
}

/// [`Reservation`] says nothing of itself but its name.
struct NamedReservation(Reservation);

impl std::fmt::Debug for NamedReservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.id().fmt(f)
    }
}

/// Does something with a key of whatever kind.
macro_rules! with_key {
    ($key:expr, |$name:ident| $call:expr) => {
        match $key {
            Key::Bytes($name) => $call,
            Key::Number($name) => $call,
            Key::Address($name) => $call,
        }
    };
}

impl MemorySubject {
    /// A limiter with these settings, but a clock of the suite's.
    ///
    /// # Errors
    /// What [`LimiterBuilder::build`] says of the settings.
    pub fn new(settings: LimiterBuilder) -> Result<MemorySubject, tollgate::BuildError> {
        let clock = Clock::manual(START);
        let limiter = settings.clock(clock.clone()).build(names::unused_limit())?;
        let (guards, reservations) = (BTreeMap::new(), BTreeMap::new());
        Ok(MemorySubject { limiter, clock, rules: Vec::new(), guards, reservations })
    }

    /// The limiter itself.
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    fn declared(&mut self, rule: Rule) -> RuleId {
        self.rules.push(rule);
        RuleId(self.rules.len() - 1)
    }

    /// The rule of a charge, of a priority that leaves alone as much.
    fn rule_of(&self, charge: &Charge) -> Rule {
        let rule = &self.rules[charge.rule.0];
        match Shares::NONE.keep(Priority::Critical, charge.left_alone) {
            Ok(shares) => rule.of_priority(Priority::Bulk, shares),
            Err(error) => unreachable!("{error}"),
        }
    }

    fn charge(&self, charge: &Charge) -> tollgate::Charge {
        with_key!(&charge.key, |key| self.rule_of(charge).charge_n(key, charge.cost))
    }

    fn charges(&self, charges: &[Charge]) -> Vec<tollgate::Charge> {
        charges.iter().map(|charge| self.charge(charge)).collect()
    }
}

impl Subject for MemorySubject {
    fn rule(&mut self, name: &str, breadth: Breadth, limit: Algorithm, now: Moment) -> RuleId {
        self.clock.set(now);
        match self.limiter.shared_rule(name, limit, breadth_of(breadth)) {
            Ok(rule) => self.declared(rule),
            Err(error) => unreachable!("the suite declares sound rules: {error}"),
        }
    }

    fn tier(&mut self, of: RuleId, name: &str, limit: Algorithm, now: Moment) -> Option<RuleId> {
        self.clock.set(now);
        match self.rules[of.0].tier(name, limit) {
            Ok(rule) => Some(self.declared(rule)),
            Err(RuleError::AlgorithmConflict { .. }) => None,
            Err(error) => unreachable!("the suite declares sound tiers: {error}"),
        }
    }

    fn set_limit(&mut self, rule: RuleId, limit: Algorithm, now: Moment) -> bool {
        match self.rules[rule.0].set_limit_at(limit, now) {
            Ok(()) => true,
            Err(RuleError::AlgorithmConflict { .. }) => false,
            Err(error) => unreachable!("the suite changes limits of rules that exist: {error}"),
        }
    }

    fn check(&mut self, charge: &Charge, now: Moment) -> Outcome {
        outcome_of(with_key!(&charge.key, |key| self.rule_of(charge).check_at(key, charge.cost, now)))
    }

    fn check_all(&mut self, charges: &[Charge], now: Moment) -> Outcome {
        outcome_of(self.limiter.check_all_at(&self.charges(charges), now))
    }

    fn check_each(&mut self, charges: &[Charge], now: Moment) -> Vec<Outcome> {
        let mut verdicts = Vec::new();
        self.limiter.check_each_at(&self.charges(charges), now, &mut verdicts);
        verdicts.into_iter().map(outcome_of).collect()
    }

    fn peek(&mut self, charge: &Charge, now: Moment) -> Outcome {
        outcome_of(with_key!(&charge.key, |key| self.rule_of(charge).peek_at(key, charge.cost, now)))
    }

    fn check_once(&mut self, key: &Key, lifetime: Span, charges: &[Charge], now: Moment) -> Outcome {
        self.clock.set(now);
        let charges = self.charges(charges);
        outcome_of(with_key!(key, |key| self.limiter.check_once(key, lifetime, &charges)))
    }

    fn enter(&mut self, ticket: Ticket, charges: &[Charge], now: Moment) -> Outcome {
        self.clock.set(now);
        match self.limiter.enter_all(&self.charges(charges)) {
            Ok(guard) => {
                let verdict = guard.verdict();
                self.guards.insert(ticket, guard);
                outcome_of(verdict)
            }
            Err(verdict) => outcome_of(verdict),
        }
    }

    fn leave(&mut self, ticket: Ticket, now: Moment) -> Left {
        self.clock.set(now);
        match self.guards.remove(&ticket) {
            Some(guard) => left_of(guard.leave()),
            None => unreachable!("the suite gives back what it holds: {ticket:?}"),
        }
    }

    fn reserve(
        &mut self,
        ticket: Ticket,
        charges: &[Charge],
        timeout: Span,
        now: Moment,
    ) -> Result<(), Outcome> {
        self.clock.set(now);
        match self.limiter.reserve(&self.charges(charges), timeout) {
            Ok(reservation) => {
                self.reservations.insert(ticket, NamedReservation(reservation));
                Ok(())
            }
            Err(ReserveError::Denied(verdict)) => Err(outcome_of(verdict)),
            Err(ReserveError::ZeroTimeout) => Err(Outcome::Invalid(Fault::ZeroTimeout)),
            Err(_) => Err(Outcome::TableFull),
        }
    }

    fn settle(
        &mut self,
        ticket: Ticket,
        settlement: &Settlement,
        now: Moment,
    ) -> Result<Settled, SettleFault> {
        self.clock.set(now);
        let Some(NamedReservation(reservation)) = self.reservations.get(&ticket) else {
            return Err(SettleFault::Unknown);
        };
        // By its name, as somebody else would.
        let reservation = self.limiter.reservation(reservation.id());
        let settled = match settlement {
            Settlement::Commit(cost) => reservation.commit(*cost),
            Settlement::CommitEach(costs) => reservation.commit_each(costs),
            Settlement::Cancel => reservation.cancel(),
        };
        settled.map(settled_of).map_err(settle_fault_of)
    }

    fn refund(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        self.clock.set(now);
        given(with_key!(&charge.key, |key| self.rule_of(charge).refund(key, charge.cost)))
    }

    fn grant(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        self.clock.set(now);
        given(with_key!(&charge.key, |key| self.rule_of(charge).grant(key, charge.cost)))
    }

    fn reset(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        self.clock.set(now);
        given(with_key!(&charge.key, |key| self.rule_of(charge).reset(key)))
    }

    fn balance(&mut self, charge: &Charge, now: Moment) -> Result<Tokens, Fault> {
        self.clock.set(now);
        with_key!(&charge.key, |key| self.rule_of(charge).balance(key)).map_err(fault_of)
    }
}

fn given(given: Result<tollgate::Given, CheckError>) -> Result<Given, Fault> {
    given.map(given_of).map_err(fault_of)
}
