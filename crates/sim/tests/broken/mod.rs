//! A store with one defect: what the suite must notice.

mod defect;

use std::collections::BTreeMap;

use tollgate_core::{Algorithm, Cost, Moment, Span, Tokens};
use tollgate_sim::conformance::{
    Breadth, Charge, Fault, Given, Key, Left, Outcome, Reference, RuleId, SettleFault, Settled, Settlement,
    Subject, Ticket,
};

pub(crate) use defect::Defect;

/// A store with one defect.
pub(crate) struct Broken {
    inner: Reference,
    defect: Defect,
    /// The rules that are logs.
    logs: Vec<RuleId>,
    /// What was refunded beyond full.
    surplus: BTreeMap<(RuleId, Key), u64>,
    /// What was reserved.
    reserved: BTreeMap<Ticket, Vec<Charge>>,
}

impl Broken {
    pub(crate) fn new(defect: Defect) -> Broken {
        let (inner, logs) = (Reference::new(), Vec::new());
        Broken { inner, defect, logs, surplus: BTreeMap::new(), reserved: BTreeMap::new() }
    }

    fn has(&self, defect: Defect) -> bool {
        self.defect == defect
    }

    fn seen(&self, charge: &Charge) -> Charge {
        let left_alone = if self.has(Defect::IgnoresPriorities) { 0 } else { charge.left_alone };
        Charge { left_alone, ..charge.clone() }
    }

    fn said(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Admit { remaining, .. } if self.has(Defect::NeverDelays) => {
                Outcome::Admit { remaining, delay: Span::ZERO }
            }
            outcome => outcome,
        }
    }
}

impl Subject for Broken {
    fn rule(&mut self, name: &str, breadth: Breadth, limit: Algorithm, now: Moment) -> RuleId {
        let rule = self.inner.rule(name, breadth, limit, now);
        if matches!(limit, Algorithm::SlidingLog(_)) {
            self.logs.push(rule);
        }
        rule
    }

    fn tier(&mut self, of: RuleId, name: &str, limit: Algorithm, now: Moment) -> Option<RuleId> {
        self.inner.tier(of, name, limit, now)
    }

    fn set_limit(&mut self, rule: RuleId, limit: Algorithm, now: Moment) -> bool {
        self.has(Defect::IgnoresChanges) || self.inner.set_limit(rule, limit, now)
    }

    fn check(&mut self, charge: &Charge, now: Moment) -> Outcome {
        let charge = self.seen(charge);
        let now = if self.has(Defect::RunsLate) { now + Span::from_secs(1) } else { now };
        let outcome = self.inner.check(&charge, now);
        if self.has(Defect::ChargesDenials) && !outcome.is_admitted() {
            self.inner.check(&Charge { cost: Cost::micros(1), ..charge.clone() }, now);
        }
        let surplus = self.surplus.entry((charge.rule, charge.key)).or_default();
        match outcome {
            Outcome::Deny { remaining, .. } if *surplus >= charge.cost.as_micros() => {
                *surplus -= charge.cost.as_micros();
                Outcome::Admit { remaining, delay: Span::ZERO }
            }
            outcome => self.said(outcome),
        }
    }

    fn check_all(&mut self, charges: &[Charge], now: Moment) -> Outcome {
        let charges: Vec<Charge> = charges.iter().map(|charge| self.seen(charge)).collect();
        let outcome = self.inner.check_all(&charges, now);
        if let Outcome::Deny { .. } = outcome {
            let is_charged = |charge: &&Charge| {
                self.has(Defect::ChargesBeforeADenial)
                    || self.has(Defect::ChargesLogsOfDenials) && self.logs.contains(&charge.rule)
            };
            let wrongly: Vec<Charge> = charges.iter().filter(is_charged).cloned().collect();
            self.inner.check_each(&wrongly, now);
        }
        self.said(outcome)
    }

    fn check_each(&mut self, charges: &[Charge], now: Moment) -> Vec<Outcome> {
        charges.iter().map(|charge| self.check(charge, now)).collect()
    }

    fn peek(&mut self, charge: &Charge, now: Moment) -> Outcome {
        let charge = self.seen(charge);
        let outcome = if self.has(Defect::PeeksSpend) {
            self.inner.check(&charge, now)
        } else {
            self.inner.peek(&charge, now)
        };
        self.said(outcome)
    }

    fn check_once(&mut self, key: &Key, lifetime: Span, charges: &[Charge], now: Moment) -> Outcome {
        if self.has(Defect::IgnoresIdempotencyKeys) {
            return self.inner.check_all(charges, now);
        }
        if self.has(Defect::RemembersDenials)
            && let Some(denied) =
                self.inner.clone().check_once(key, lifetime, charges, now - Span::from_secs(1)).denied()
        {
            return denied;
        }
        self.inner.check_once(key, lifetime, charges, now)
    }

    fn enter(&mut self, ticket: Ticket, charges: &[Charge], now: Moment) -> Outcome {
        let outcome = self.inner.enter(ticket, charges, now);
        if self.has(Defect::ChargesLogsOfDenials) && matches!(outcome, Outcome::Deny { .. }) {
            let logs: Vec<Charge> =
                charges.iter().filter(|charge| self.logs.contains(&charge.rule)).cloned().collect();
            self.inner.check_each(&logs, now);
        }
        self.reserved.insert(ticket, charges.to_vec());
        self.said(outcome)
    }

    fn leave(&mut self, ticket: Ticket, now: Moment) -> Left {
        if self.has(Defect::NeverFreesPlaces) {
            return Left::InTime;
        }
        let left = self.inner.leave(ticket, now);
        if self.has(Defect::FreesOthersPlaces) && left == Left::TooLate {
            for charge in self.reserved.remove(&ticket).unwrap_or_default() {
                let _ = self.inner.reset(&charge, now);
            }
        }
        left
    }

    fn reserve(
        &mut self,
        ticket: Ticket,
        charges: &[Charge],
        timeout: Span,
        now: Moment,
    ) -> Result<(), Outcome> {
        self.reserved.insert(ticket, charges.to_vec());
        let timeout =
            if self.has(Defect::SettlesTooLate) && timeout > Span::ZERO { Span::MAX } else { timeout };
        self.inner.reserve(ticket, charges, timeout, now)
    }

    fn settle(
        &mut self,
        ticket: Ticket,
        settlement: &Settlement,
        now: Moment,
    ) -> Result<Settled, SettleFault> {
        let charges = self.reserved.get(&ticket).cloned().unwrap_or_default();
        let settled = match (settlement, self.defect) {
            (Settlement::Commit(cost), Defect::ForgivesOverruns) if !charges.is_empty() => {
                self.inner.settle(ticket, &Settlement::Commit((*cost).min(charges[0].cost)), now)
            }
            _ => self.inner.settle(ticket, settlement, now),
        };
        let gives_rest = self.has(Defect::CancelGivesAllBack) && settled.is_ok()
            || self.has(Defect::SettlesTwice) && settled == Err(SettleFault::Unknown);
        if *settlement == Settlement::Cancel && gives_rest {
            for charge in charges {
                let _ = self.inner.refund(&charge, now);
            }
        }
        settled
    }

    fn refund(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        let given = self.inner.refund(charge, now)?;
        if self.has(Defect::RefundsOverfill) {
            let beyond = charge.cost.as_micros() - given.given.as_micros();
            let surplus = self.surplus.entry((charge.rule, charge.key.clone())).or_default();
            *surplus = surplus.saturating_add(beyond);
        }
        Ok(given)
    }

    fn grant(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        self.inner.grant(charge, now)
    }

    fn reset(&mut self, charge: &Charge, now: Moment) -> Result<Given, Fault> {
        self.inner.reset(charge, now)
    }

    fn balance(&mut self, charge: &Charge, now: Moment) -> Result<Tokens, Fault> {
        self.inner.balance(charge, now)
    }
}

/// The denial, if it is one.
trait Denied {
    fn denied(self) -> Option<Outcome>;
}

impl Denied for Outcome {
    fn denied(self) -> Option<Outcome> {
        matches!(self, Outcome::Deny { .. }).then_some(self)
    }
}
