//! One request decided by a shared ledger.

use std::sync::Arc;

use arc_swap::Guard as Loaded;
use tollgate_core::{Algorithm, Cost, Span};
use tollgate_policy::{Action, Facts};

use super::PolicyLimiter;
use super::decision::{Decision, ToldByLedger};
use super::held_afar::HeldAfar;
use super::in_force::{InForce, refused_by};
use super::refused::Refused;
use crate::ledger::{Answer, Ledger, LedgerCharge, LedgerFuture, Manner, Question, Watched};
use crate::{CheckError, ReservationId, Verdict};

/// How long a request may take whose response matters to its charges, unless its places have longer. Afterwards they stand.
const RESPONSE_TIME_MAX: Span = Span::from_secs(3_600);

/// What is held until the response has come.
struct ToHold {
    id: ReservationId,
    /// Of each charge what it is reserved at, and whether it takes a place.
    estimates: Vec<(Cost, bool)>,
    timeout: Span,
}

/// What a request asks of a ledger.
struct Gathered {
    decision: Decision,
    charges: Vec<LedgerCharge>,
    watched: Option<Watched>,
}

impl InForce<'_> {
    /// Asks the ledger. Facts are done with when this returns.
    pub(super) fn ask(
        self,
        ledger: Arc<dyn Ledger>,
        facts: &Facts<'_>,
        manner: Manner,
    ) -> LedgerFuture<'static, Decision> {
        let is_peek = manner == Manner::Peek;
        let limiter = self.limiter;
        let Gathered { mut decision, charges, watched } = self.gathered(facts, is_peek);
        if charges.is_empty() || decision.refused.is_some() {
            return Box::pin(std::future::ready(decision));
        }
        let held = matches!(manner, Manner::Check).then(|| decision.to_hold(limiter)).flatten();
        let manner = match &held {
            Some(held) => Manner::Reserve { id: held.id, timeout: held.timeout },
            None => manner,
        };
        Box::pin(async move {
            let answer = ledger.decide(Question { charges, manner, watched }).await;
            decision.take_answer(answer, is_peek);
            if let Some(ToHold { id, estimates, .. }) = held.filter(|_| decision.is_admitted()) {
                decision.open.get_or_insert_default().afar = Some(HeldAfar::new(ledger, id, estimates));
            }
            decision
        })
    }

    /// Reserves, to be settled by the name that it is told; no name where nothing was charged.
    pub(super) fn reserve_afar(
        self,
        ledger: Arc<dyn Ledger>,
        facts: &Facts<'_>,
        timeout: Span,
    ) -> LedgerFuture<'static, (Decision, Option<ReservationId>)> {
        let id = self.limiter.new_reservation_id();
        let Gathered { mut decision, charges, watched } = self.gathered(facts, false);
        if charges.is_empty() || decision.refused.is_some() {
            return Box::pin(std::future::ready((decision, None)));
        }
        Box::pin(async move {
            let manner = Manner::Reserve { id, timeout };
            let answer = ledger.decide(Question { charges, manner, watched }).await;
            decision.take_answer(answer, false);
            let id = Some(id).filter(|_| decision.is_admitted());
            (decision, id)
        })
    }

    /// A check that makes no sense.
    pub(super) fn at_fault(self, error: CheckError) -> Decision {
        let mut decision = Decision::undecided(self.ruleset);
        decision.verdict = Some(Verdict::Invalid(error));
        decision
    }

    /// What the rules want of a request.
    fn gathered(self, facts: &Facts<'_>, is_peek: bool) -> Gathered {
        let InForce { limiter, ruleset } = self;
        // Kept over a wait, during which the thread has other requests to look at policies for.
        let ruleset = Loaded::into_inner(ruleset);
        let mut decision = Decision::undecided(Loaded::from_inner(Arc::clone(&ruleset)));
        let (mut charges, mut watched, mut watching) = (Vec::new(), Vec::new(), Vec::new());
        let asked = &mut decision.asked;
        let ruling = ruleset.book.rule_on(facts, limiter.unix_s(&ruleset), |hit| {
            let (Some(charge), Some(afar)) = (ruleset.charge(&hit), ruleset.ledger_charge(&hit)) else {
                return;
            };
            if hit.is_enforced {
                asked.push(hit.rule, charge);
                charges.push(afar);
            } else if !is_peek {
                watched.push(afar);
                watching.push(hit.rule);
            }
        });
        decision.refused = refused_by(ruling);
        decision.client = super::decision::client(facts);
        let note_denied = Box::new(move |at: usize| {
            if let Some(rule) = watching.get(at) {
                ruleset.note_shadow_denied(*rule);
            }
        });
        let watched = (!watched.is_empty()).then_some(Watched { charges: watched, note_denied });
        Gathered { decision, charges, watched }
    }
}

impl Decision {
    /// What to hold until the response has come, if that matters.
    fn to_hold(&self, limiter: &PolicyLimiter) -> Option<ToHold> {
        if !self.asked.rules().iter().any(|rule| self.ruleset.awaits_response(*rule)) {
            return None;
        }
        let mut timeout = RESPONSE_TIME_MAX;
        let estimates = self.rules().zip(self.asked.charges()).map(|(rule, charge)| {
            if let Action::Limit(Algorithm::Concurrency(places)) = &rule.action {
                timeout = timeout.max(places.timeout());
                return (charge.cost(), true);
            }
            (charge.cost(), false)
        });
        let estimates = estimates.collect();
        Some(ToHold { id: limiter.new_reservation_id(), estimates, timeout })
    }

    fn take_answer(&mut self, answer: Answer, is_peek: bool) {
        match answer {
            Answer::Decided { verdict, buckets, mode } => {
                self.verdict = Some(verdict);
                self.open.get_or_insert_default().told = Some(ToldByLedger { buckets, mode });
                if !is_peek {
                    self.note_denied();
                }
            }
            Answer::Unavailable { wait } => self.refused = Some(Refused::LedgerDown { wait }),
        }
    }
}
