//! A policy in force, and one request decided by it.
//!
//! Enforced rules are charged together or not at all. Of a rule that only watches it is told what would become of the request if
//! that rule alone were enforced besides: it is charged on its own, and not by requests that are denied anyway.

use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use arc_swap::Guard as Loaded;
use arrayvec::ArrayVec;
use tollgate_policy::{Facts, Policy, Ruling, SHADOW_HITS_MAX};

use super::PolicyLimiter;
use super::decision::{Decision, Watched};
use super::refused::Refused;
use super::ruleset::Ruleset;
use crate::{Charge, Limiter};

/// The policy that was in force when it was asked for. Not to be kept: the next request may be under another one.
pub struct InForce<'l> {
    pub(super) limiter: &'l PolicyLimiter,
    pub(super) ruleset: Loaded<Arc<Ruleset>>,
}

impl<'l> InForce<'l> {
    #[inline]
    pub(super) fn of(limiter: &'l PolicyLimiter) -> InForce<'l> {
        InForce { limiter, ruleset: limiter.inner.ruleset.load() }
    }

    /// Whether a rule of the policy believes tokens that nobody has verified here, so that doors decode them.
    #[inline]
    pub fn trusts_upstream_claims(&self) -> bool {
        self.ruleset.trusts_upstream_claims
    }

    /// Sends for the bucket that a client of this address most likely has, while the rest of its request is looked at. Changes
    /// nothing but the time that the check will take.
    #[inline]
    pub fn send_for(&self, address: Option<IpAddr>) {
        self.ruleset.send_for(address);
    }

    /// Decides a request, and charges every enforced rule that applies, or none. Shadow rules are charged in buckets of their own,
    /// by those who are admitted.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a decision is large: where this is a call, every request copies it"
    )]
    pub fn check(self, facts: &Facts<'_>) -> Decision {
        let InForce { limiter: by_policy, ruleset } = self;
        let limiter = &by_policy.inner.limiter;
        let mut watched = ArrayVec::<(usize, Charge), SHADOW_HITS_MAX>::new();
        let mut decision = Decision::undecided(ruleset);
        // There is room: the rule book tells of no more.
        decision.gather(by_policy, facts, |rule, charge| _ = watched.try_push((rule, charge)));
        if !decision.asked.charges().is_empty() && decision.refused.is_none() {
            decision.charge(limiter);
        }
        decision.watch(by_policy, &watched);
        decision.note_client(facts);
        decision
    }

    /// What a check would be told. Charges nothing, and leaves shadow rules alone.
    pub fn peek(self, facts: &Facts<'_>) -> Decision {
        let mut decision = Decision::undecided(self.ruleset);
        decision.gather(self.limiter, facts, |_, _| {});
        if !decision.asked.charges().is_empty() && decision.refused.is_none() {
            decision.verdict = Some(self.limiter.inner.limiter.peek_all(decision.asked.charges()));
        }
        decision.note_client(facts);
        decision
    }
}

impl Decision {
    /// Gathers what the enforced rules want of a request. What shadow rules want is handed to `watch`.
    #[inline]
    pub(super) fn gather(
        &mut self,
        limiter: &PolicyLimiter,
        facts: &Facts<'_>,
        mut watch: impl FnMut(usize, Charge),
    ) {
        let Decision { ruleset, asked, refused, .. } = self;
        let keeps_keys = limiter.inner.keeps_keys;
        let ruling = ruleset.book.rule_on(facts, limiter.unix_s(ruleset), |hit| {
            let Some(charge) = ruleset.charge(&hit) else { return };
            if hit.is_enforced {
                asked.push(hit.rule, charge);
                if keeps_keys {
                    asked.keep(hit.key);
                }
            } else {
                watch(hit.rule, charge);
            }
        });
        *refused = if ruleset.is_in_ledger { Some(Refused::NotAwaited) } else { refused_by(ruling) };
    }

    /// Charges what was gathered, and holds it if the response matters.
    #[inline]
    pub(super) fn charge(&mut self, limiter: &Limiter) {
        let (rules, charges) = (self.asked.rules(), self.asked.charges());
        if rules.iter().any(|rule| self.ruleset.awaits_response(*rule)) {
            match limiter.enter_all(charges) {
                Ok(held) => {
                    self.verdict = Some(held.verdict());
                    self.open.get_or_insert_default().held = Some(held);
                }
                Err(verdict) => self.verdict = Some(verdict),
            }
        } else {
            self.verdict = Some(limiter.check_all(charges));
        }
        self.note_denied();
    }

    /// Counts the denial for every rule that denied.
    #[inline]
    pub(super) fn note_denied(&self) {
        let denied = self.denied().iter().filter_map(|at| self.asked.rules().get(at));
        denied.for_each(|rule| self.ruleset.note_denied(*rule));
    }

    /// Asks rules that only watch, each on its own.
    #[inline]
    pub(super) fn watch(&mut self, limiter: &PolicyLimiter, watched: &[(usize, Charge)]) {
        if let Some(shadow) = limiter.inner.shadow.get().filter(|_| !watched.is_empty()) {
            self.watch_by(shadow, watched);
        }
    }

    #[cold]
    fn watch_by(&mut self, limiter: &Limiter, watched: &[(usize, Charge)]) {
        let is_charged = self.is_admitted();
        let mut is_any_denied = false;
        for (rule, charge) in watched.iter().copied() {
            let is_admitted = if !is_charged {
                limiter.peek_all(&[charge]).is_admitted()
            } else if !self.ruleset.awaits_response(rule) {
                limiter.check_all(&[charge]).is_admitted()
            } else if let Ok(held) = limiter.enter_all(&[charge]) {
                self.open.get_or_insert_default().watched.push(Watched { rule, charge, held });
                true
            } else {
                false
            };
            if !is_admitted {
                self.ruleset.note_shadow_denied(rule);
                is_any_denied = true;
            }
        }
        if is_any_denied {
            self.ruleset.note_check_shadow_denied();
        }
    }
}

/// Why a ruling refuses a request, if it does.
#[inline]
pub(super) fn refused_by(ruling: Ruling) -> Option<Refused> {
    match ruling {
        Ruling::ByBuckets | Ruling::Allowed { .. } => None,
        Ruling::Blocked { rule } => Some(Refused::Blocked { rule }),
        Ruling::KeyMissing { rule } => Some(Refused::KeyMissing { rule }),
        Ruling::PathRefused => Some(Refused::PathEncoded),
        Ruling::Killed { switch } => Some(Refused::Killed { switch }),
        Ruling::TooManyRules => Some(Refused::TooManyRules),
    }
}

impl Deref for InForce<'_> {
    type Target = Policy;

    #[inline]
    fn deref(&self) -> &Policy {
        self.ruleset.policy()
    }
}

impl fmt::Debug for InForce<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InForce").field(self.ruleset.policy()).finish()
    }
}
