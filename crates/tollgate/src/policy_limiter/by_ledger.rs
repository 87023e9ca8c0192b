//! One request decided by a shared ledger.

use std::cell::Cell;
use std::sync::Arc;

use arc_swap::Guard as Loaded;
use tollgate_core::{Algorithm, Cost, Span};
use tollgate_policy::{Action, Facts};

use super::PolicyLimiter;
use super::deciding::State;
use super::decision::Decision;
use super::held_afar::HeldAfar;
use super::in_force::{InForce, refused_by};
use super::refused::Refused;
use crate::ledger::{Answer, Ledger, LedgerCharge, LedgerFuture, Manner, Question, Watched};
use crate::{CheckError, ReservationId, StoreMode, Verdict};

/// How long a request may take whose response matters to its charges, unless its places have longer. Afterwards they stand.
const RESPONSE_TIME_MAX: Span = Span::from_secs(3_600);

/// What is held until the response has come.
struct ToHold {
    id: ReservationId,
    /// Of each charge what it is reserved at, and whether it takes a place.
    estimates: Vec<(Cost, bool)>,
    timeout: Span,
}

/// What rules that only watch would ask of a ledger: each by its position in the policy.
type Watching = Vec<(usize, LedgerCharge)>;

impl InForce<'_> {
    /// Asks the ledger. Facts are done with when this returns.
    pub(super) fn ask(self, ledger: &Arc<dyn Ledger>, facts: &Facts<'_>, manner: Manner) -> State {
        let (limiter, is_peek) = (self.limiter, manner == Manner::Peek);
        let (mut decision, watching) = self.gathered(facts, is_peek);
        if decision.asked.charges().is_empty() || decision.refused.is_some() {
            decision.note_client(facts);
            decision.leave_to(&**ledger, watching);
            return State::Made(Some(decision));
        }
        let held = matches!(manner, Manner::Check).then(|| decision.to_hold(limiter)).flatten();
        // What most checks of leased buckets come to.
        if manner == Manner::Check
            && held.is_none()
            && watching.is_empty()
            && let Some(remaining) = decision.asked.admitted_at_once(&**ledger)
        {
            decision.verdict = Some(Verdict::Admit { remaining, delay: Span::ZERO });
            return State::Made(Some(decision));
        }
        let manner = match &held {
            Some(held) => Manner::Reserve { id: held.id, timeout: held.timeout },
            None => manner,
        };
        let ledger = Arc::clone(ledger);
        let question = decision.question(facts, manner, watching);
        State::Asked(Box::pin(async move {
            let answer = ledger.decide(question).await;
            decision.take_answer(answer, is_peek);
            if let Some(ToHold { id, estimates, .. }) = held.filter(|_| decision.is_admitted()) {
                decision.open.get_or_insert_default().afar = Some(HeldAfar::new(ledger, id, estimates));
            }
            decision
        }))
    }

    /// Reserves, to be settled by the name that it is told; no name where nothing was charged.
    pub(super) fn reserve_afar(
        self,
        ledger: Arc<dyn Ledger>,
        facts: &Facts<'_>,
        timeout: Span,
    ) -> LedgerFuture<'static, (Decision, Option<ReservationId>)> {
        let id = self.limiter.new_reservation_id();
        let (mut decision, watching) = self.gathered(facts, false);
        if decision.asked.charges().is_empty() || decision.refused.is_some() {
            decision.note_client(facts);
            decision.leave_to(&*ledger, watching);
            return Box::pin(std::future::ready((decision, None)));
        }
        let question = decision.question(facts, Manner::Reserve { id, timeout }, watching);
        Box::pin(async move {
            let answer = ledger.decide(question).await;
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
    #[inline]
    fn gathered(self, facts: &Facts<'_>, is_peek: bool) -> (Decision, Watching) {
        let mut decision = Decision::undecided(self.ruleset);
        let mut watching = Vec::new();
        let Decision { ruleset, asked, refused, .. } = &mut decision;
        let ruling = ruleset.book.rule_on(facts, self.limiter.unix_s(ruleset), |hit| {
            let Some((charge, afar)) = ruleset.charge_afar(&hit) else { return };
            if hit.is_enforced {
                asked.push_afar(hit.rule, charge, afar);
                if self.limiter.inner.keeps_keys {
                    asked.keep(hit.key);
                }
            } else if !is_peek {
                watching.extend(afar.owned().map(|afar| (hit.rule, afar)));
            }
        });
        *refused = refused_by(ruling);
        (decision, watching)
    }
}

impl Decision {
    /// What to ask a ledger that has to be waited for.
    fn question(&mut self, facts: &Facts<'_>, manner: Manner, watching: Watching) -> Question {
        self.client = super::decision::client(facts).or_else(|| self.asked.client_afar());
        // Kept over a wait, during which the thread has other requests to look at policies for.
        self.ruleset = Loaded::from_inner(Arc::clone(&self.ruleset));
        let watched = self.watched(watching);
        Question { charges: self.asked.take_afar(), manner, watched }
    }

    /// What rules that only watch ask for, and where they count what they would have denied.
    fn watched(&self, watching: Watching) -> Option<Watched> {
        if watching.is_empty() {
            return None;
        }
        let (rules, charges): (Vec<usize>, _) = watching.into_iter().unzip();
        let ruleset = Arc::clone(&self.ruleset);
        let is_noted = Cell::new(false);
        let note_denied = Box::new(move |at: usize| {
            if let Some(rule) = rules.get(at) {
                ruleset.note_shadow_denied(*rule);
                // The check counts once, whoever would have denied it.
                if !is_noted.replace(true) {
                    ruleset.note_check_shadow_denied();
                }
            }
        });
        Some(Watched { charges, note_denied })
    }

    /// Has rules that only watch charged, where no other rule has a question to ask along with them.
    fn leave_to(&self, ledger: &dyn Ledger, watching: Watching) {
        if let Some(watched) = self.watched(watching).filter(|_| self.is_admitted()) {
            ledger.watch(watched);
        }
    }

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
        if answer.mode() == StoreMode::Fallback && !is_peek {
            self.asked.rules().iter().for_each(|rule| self.ruleset.note_fallback(*rule));
        }
        match answer {
            Answer::Decided { verdict, buckets, mode } => {
                self.verdict = Some(verdict);
                self.asked.tell(buckets, mode);
                if !is_peek {
                    self.note_denied();
                }
            }
            Answer::Unavailable { wait } => self.refused = Some(Refused::LedgerDown { wait }),
        }
    }
}
