//! What a policy decides of one request, and what is needed to answer it and to settle it later.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arc_swap::Guard as Loaded;
use arrayvec::ArrayVec;
use tollgate_core::{BucketSet, CHARGES_MAX, Cost};
use tollgate_policy::{Policy, Rule as PolicyRule};

use super::refused::Refused;
use super::ruleset::Ruleset;
use crate::{Charge, Guard, Reservation, SettleError, Settled, Verdict};

/// What a policy decides of one request.
///
/// Places of [`crate::Concurrency`] rules are held until it is dropped. Estimates of rules that settle by a response header stand
/// until [`super::PolicyLimiter::settle`], or for good.
#[must_use = "a decision that nobody looks at limits nothing"]
pub struct Decision {
    pub(super) ruleset: Loaded<Arc<Ruleset>>,
    pub(super) verdict: Option<Verdict>,
    pub(super) refused: Option<Refused>,
    /// What was asked of the buckets, of enforced rules only.
    pub(super) charges: ArrayVec<Charge, CHARGES_MAX>,
    /// The rule of each charge.
    pub(super) rules: ArrayVec<usize, CHARGES_MAX>,
    pub(super) held: Held,
    /// It was settled by its response: once is enough.
    pub(super) is_settled: AtomicBool,
}

/// What must be given back or settled.
pub(super) enum Held {
    Nothing,
    #[expect(dead_code, reason = "held for what dropping it does")]
    Places(Guard),
    Estimate(Reservation),
}

impl Decision {
    /// Whether to go ahead.
    pub fn is_admitted(&self) -> bool {
        self.refused.is_none() && self.verdict.is_none_or(|verdict| verdict.is_admitted())
    }

    /// What the buckets said, with positions among [`Decision::rules`]; `None` if none was asked.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// Why the policy refuses it without asking its buckets.
    pub fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// The exact time to wait before trying again; `None` if it was admitted, or if waiting does not help.
    pub fn retry_after(&self) -> Option<Duration> {
        self.verdict.filter(|_| self.refused.is_none()).and_then(|verdict| verdict.retry_after())
    }

    /// The enforced rules that were asked, in the policy's order.
    pub fn rules(&self) -> impl Iterator<Item = &PolicyRule> {
        self.rules.iter().filter_map(|rule| self.policy().rules.get(*rule))
    }

    /// Those of them that denied.
    pub fn violated(&self) -> impl Iterator<Item = &PolicyRule> {
        let denied = self.denied();
        self.rules().enumerate().filter(move |(at, _)| denied.contains(*at)).map(|(_, rule)| rule)
    }

    /// The policy that decided.
    pub fn policy(&self) -> &Policy {
        self.ruleset.policy()
    }

    /// A number that is the same for the same client under the same rules of the same limiter: for jitter.
    pub fn identity(&self) -> u64 {
        self.charges.iter().fold(0, |mixed, charge| mixed.rotate_left(7) ^ charge.identity())
    }

    /// Whether the response matters: it holds places, or rules settle or refund by what the response says. If not, it may be
    /// dropped as soon as the client has been told.
    pub fn awaits_response(&self) -> bool {
        !matches!(self.held, Held::Nothing)
            || (self.is_admitted() && self.rules().any(|rule| !rule.refund_statuses.is_empty()))
    }

    /// Which of the charges denied.
    pub(super) fn denied(&self) -> BucketSet {
        match self.verdict {
            Some(Verdict::Deny { denied, .. } | Verdict::Never { denied }) => denied,
            _ => BucketSet::EMPTY,
        }
    }
}

/// An estimate that nobody settled stands, and places are given back.
impl Drop for Decision {
    fn drop(&mut self) {
        if let Held::Estimate(reservation) = &self.held {
            let estimates: ArrayVec<Cost, CHARGES_MAX> = self.charges.iter().map(Charge::cost).collect();
            // Settled already, most likely.
            let _settled: Result<Settled, SettleError> = reservation.commit_each(&estimates);
        }
    }
}

impl std::fmt::Debug for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rules: Vec<&str> = self.rules().map(|rule| &*rule.name).collect();
        let mut decision = f.debug_struct("Decision");
        decision.field("verdict", &self.verdict).field("refused", &self.refused).field("rules", &rules);
        decision.finish_non_exhaustive()
    }
}
