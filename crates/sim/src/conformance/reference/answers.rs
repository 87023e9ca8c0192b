//! The reference as a store: every call of [`Subject`].

use tollgate_core::{Algorithm, Cost, Moment, Span, Tokens};

use super::promised::Promised;
use super::{LimitOfRule, Open, Reference, fault_of_key, tokens};
use crate::conformance::answer::{Fault, Given, Left, Outcome, SettleFault, Settled};
use crate::conformance::subject::{Breadth, Charge, Key, RuleId, Settlement, Subject, Ticket};

impl Subject for Reference {
    fn rule(&mut self, _name: &str, _breadth: Breadth, limit: Algorithm, now: Moment) -> RuleId {
        let rule = RuleId(self.limits.len());
        self.limits.push(LimitOfRule { rule, promised: Promised::new(limit, now) });
        rule
    }

    fn tier(&mut self, of: RuleId, _name: &str, limit: Algorithm, now: Moment) -> Option<RuleId> {
        let rule = self.limits[of.0].rule;
        let promised = self.promised(rule).sibling(limit, now)?;
        self.limits.push(LimitOfRule { rule, promised });
        Some(RuleId(self.limits.len() - 1))
    }

    fn set_limit(&mut self, rule: RuleId, limit: Algorithm, now: Moment) -> bool {
        let changed = self.promised(rule).change(limit, now);
        let is_sensible = changed.is_some();
        if let Some(promised) = changed {
            self.limits[rule.0].promised = promised;
        }
        is_sensible
    }

    fn check(&mut self, charge: &Charge, now: Moment) -> Outcome {
        let charges = std::slice::from_ref(charge);
        if let Some(fault) = self.fault_of(charges, false) {
            return Outcome::Invalid(fault);
        }
        match self.peek(charge, now) {
            Outcome::Never { denied } => Outcome::Never { denied },
            _ => self.check_all(charges, now),
        }
    }

    fn check_all(&mut self, charges: &[Charge], now: Moment) -> Outcome {
        if let Some(fault) = self.fault_of(charges, false) {
            return Outcome::Invalid(fault);
        }
        self.decide(charges, now).map_or_else(|refused| refused, |(outcome, _)| outcome)
    }

    fn check_each(&mut self, charges: &[Charge], now: Moment) -> Vec<Outcome> {
        charges.iter().map(|charge| self.check(charge, now)).collect()
    }

    fn peek(&mut self, charge: &Charge, now: Moment) -> Outcome {
        let charges = std::slice::from_ref(charge);
        match self.fault_of(charges, true) {
            Some(fault) => Outcome::Invalid(fault),
            None => self.parts(charges).map_or_else(Outcome::Invalid, |parts| self.judge(&parts, now)),
        }
    }

    fn check_once(&mut self, key: &Key, lifetime: Span, charges: &[Charge], now: Moment) -> Outcome {
        if lifetime == Span::ZERO {
            return Outcome::Invalid(Fault::ZeroLifetime);
        }
        match fault_of_key(key) {
            Some(Fault::EmptyKey) => return Outcome::Invalid(Fault::EmptyIdempotencyKey),
            Some(fault) => return Outcome::Invalid(fault),
            None => {}
        }
        let what =
            charges.iter().map(|charge| (charge.rule, charge.key.clone(), charge.cost, charge.left_alone));
        let name = (key.clone(), what.collect());
        if let Some((outcome, _)) = self.remembered.get(&name).filter(|(_, until)| *until > now) {
            return *outcome;
        }
        let outcome = self.check_all(charges, now);
        if outcome.is_admitted() {
            self.remembered.insert(name, (outcome, now + lifetime));
        }
        outcome
    }

    fn enter(&mut self, ticket: Ticket, charges: &[Charge], now: Moment) -> Outcome {
        if let Some(fault) = self.fault_of(charges, true) {
            return Outcome::Invalid(fault);
        }
        match self.decide(charges, now) {
            Ok((outcome, mut receipts)) => {
                receipts.retain(|receipt| self.promised(receipt.part.under).takes_places());
                self.held.insert(ticket, receipts);
                outcome
            }
            Err(refused) => refused,
        }
    }

    fn leave(&mut self, ticket: Ticket, now: Moment) -> Left {
        let held = self.held.remove(&ticket).unwrap_or_default();
        // All of them, also when one is too late.
        let given: Vec<Tokens> = held.iter().map(|receipt| self.correct(receipt, 0, now).returned).collect();
        if given.contains(&Tokens::ZERO) { Left::TooLate } else { Left::InTime }
    }

    fn reserve(
        &mut self,
        ticket: Ticket,
        charges: &[Charge],
        timeout: Span,
        now: Moment,
    ) -> Result<(), Outcome> {
        if timeout == Span::ZERO {
            return Err(Outcome::Invalid(Fault::ZeroTimeout));
        }
        if let Some(fault) = self.fault_of(charges, true) {
            return Err(Outcome::Invalid(fault));
        }
        let (_, receipts) = self.decide(charges, now)?;
        let estimates = charges.iter().map(|charge| charge.cost).collect();
        self.open.insert(ticket, Open { receipts, estimates, expires: now + timeout });
        Ok(())
    }

    fn settle(
        &mut self,
        ticket: Ticket,
        settlement: &Settlement,
        now: Moment,
    ) -> Result<Settled, SettleFault> {
        let open = self.open.get(&ticket).ok_or(SettleFault::Unknown)?;
        if open.expires <= now {
            self.open.remove(&ticket);
            return Err(SettleFault::Expired);
        }
        let actual = match settlement {
            Settlement::Cancel => vec![Cost::micros(0); open.estimates.len()],
            Settlement::Commit(_) if open.estimates.iter().any(|cost| *cost != open.estimates[0]) => {
                return Err(SettleFault::CostsDiffer);
            }
            Settlement::Commit(cost) => vec![*cost; open.estimates.len()],
            Settlement::CommitEach(costs) if costs.len() != open.estimates.len() => {
                return Err(SettleFault::WrongCount);
            }
            Settlement::CommitEach(costs) => costs.clone(),
        };
        let receipts = self.open.remove(&ticket).map(|open| open.receipts).unwrap_or_default();
        Ok(self.settle_all(&receipts, &actual, now))
    }

    fn refund(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        self.give(charge, now)
    }

    fn grant(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        self.give(charge, now)
    }

    fn reset(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        if let Some(fault) = fault_of_key(&charge.key) {
            return Err(fault);
        }
        *self.resets.entry(self.id_of(charge)).or_default() += 1;
        self.reset_under.insert(self.id_of(charge), charge.rule);
        Ok(self.adjust(charge, now, |law, state| law.reset(state, now)))
    }

    fn balance(&mut self, charge: &Charge, now: Moment) -> Result<Tokens, Fault> {
        if let Some(fault) = fault_of_key(&charge.key) {
            return Err(fault);
        }
        let state = self.state(&self.id_of(charge), charge.rule, now);
        let law = self.law(charge.rule);
        Ok(tokens(law.usable(law.balance(&state, now), self.keep(charge))))
    }
}
