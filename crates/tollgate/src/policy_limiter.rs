//! A limiter that enforces a policy: facts in, decisions out.
//!
//! The policy is swapped whole; buckets outlive it. An admitted request allocates nothing here, unless a rule takes places or
//! settles later.

mod decision;
mod error;
mod refused;
mod ruleset;
mod telling;

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use arrayvec::ArrayVec;
use tollgate_core::{Burst, CHARGES_MAX, Cost, Limit, Rate, Span};
use tollgate_policy::{Explanation, Facts, Policy, Rule as PolicyRule, Ruling};

pub use self::decision::Decision;
use self::decision::Held;
pub use self::error::PolicyError;
pub use self::refused::Refused;
pub use self::ruleset::RuleStats;
use self::ruleset::Ruleset;
use crate::{Charge, Limiter, LimiterBuilder, ReserveError, SettleError, Settled, Verdict};

/// For how long an estimate may be settled by its response.
pub const SETTLE_TIMEOUT: Span = Span::from_secs(600);

/// The limit of the default rule, which nobody checks.
const UNCHECKED: Limit = match Limit::new(Rate::per_second(1), Burst::tokens(1)) {
    Ok(limit) => limit,
    Err(_) => unreachable!(),
};

/// A limiter with a policy. Cheap to clone; clones share policy and buckets.
///
/// ```
/// # use tollgate::*;
/// # use tollgate::policy::{Facts, Policy};
/// let policy = Policy::parse("policy.yaml", r#"{name: api, limit_keys: ["ip:address"], rate: 5/s, burst: 10}"#)?;
/// let limiter = Limiter::from_policy(policy)?;
/// let facts = Facts { address: Some([192, 0, 2, 7].into()), ..Facts::new("GET", "/") };
/// let admitted = (0..20).filter(|_| limiter.check(&facts).is_admitted()).count();
/// assert_eq!(admitted, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PolicyLimiter {
    inner: Arc<Inner>,
}

struct Inner {
    limiter: Limiter,
    ruleset: ArcSwap<Ruleset>,
    /// Held by whoever swaps the policy.
    swapping: Mutex<()>,
}

/// The policy that was in force when it was asked for.
#[derive(Debug, Clone)]
pub struct InForce(Arc<Ruleset>);

impl Deref for InForce {
    type Target = Policy;

    fn deref(&self) -> &Policy {
        self.0.policy()
    }
}

impl Limiter {
    /// A limiter that enforces `policy`, with a table as it is by default.
    pub fn from_policy(policy: Policy) -> Result<PolicyLimiter, PolicyError> {
        Limiter::builder().build_with_policy(policy)
    }
}

impl LimiterBuilder {
    /// A limiter with these settings that enforces `policy`.
    pub fn build_with_policy(self, policy: Policy) -> Result<PolicyLimiter, PolicyError> {
        let limiter = self.build(UNCHECKED).map_err(PolicyError::Build)?;
        let ruleset = Ruleset::declare(&limiter, policy)?;
        ruleset.put_in_force()?;
        let inner = Inner { limiter, ruleset: ArcSwap::from_pointee(ruleset), swapping: Mutex::new(()) };
        Ok(PolicyLimiter { inner: Arc::new(inner) })
    }
}

impl PolicyLimiter {
    /// Decides a request, and charges every enforced rule that applies, or none. Shadow rules are charged in buckets of their own.
    pub fn check(&self, facts: &Facts<'_>) -> Decision {
        let Inner { limiter, .. } = &*self.inner;
        let mut decision = self.gather(facts, |ruleset, rule, charge| {
            if !limiter.check_all(&[charge]).is_admitted() {
                ruleset.note_shadow_denied(rule);
            }
        });
        if decision.charges.is_empty() || decision.refused.is_some() {
            return decision;
        }
        (decision.verdict, decision.held) = self.charge(&decision);
        let (denied, ruleset) = (decision.denied(), &decision.ruleset);
        denied.iter().filter_map(|at| decision.rules.get(at)).for_each(|rule| ruleset.note_denied(*rule));
        decision
    }

    /// What a check would be told. Charges nothing, and leaves shadow rules alone.
    pub fn peek(&self, facts: &Facts<'_>) -> Decision {
        let mut decision = self.gather(facts, |_, _, _| {});
        if !decision.charges.is_empty() && decision.refused.is_none() {
            decision.verdict = Some(self.inner.limiter.peek_all(&decision.charges));
        }
        // Nothing was charged, so there is nothing to settle.
        decision.is_settled = AtomicBool::new(true);
        decision
    }

    /// Settles an admitted request by its response: gives back what rules refund for its status, and corrects estimates to what
    /// `actual` reads from the header field that a rule names. Without such a field, or with one that is no number, the estimate
    /// stands. A second time it does nothing.
    pub fn settle<'h>(&self, decision: &Decision, status: u16, actual: impl Fn(&str) -> Option<&'h str>) {
        let was_charged = decision.verdict.is_some_and(|verdict| verdict.is_admitted());
        if !was_charged || decision.is_settled.swap(true, Ordering::Relaxed) {
            return;
        }
        let rules = || decision.rules.iter().filter_map(|rule| decision.policy().rules.get(*rule));
        if let Held::Estimate(reservation) = &decision.held {
            let true_cost = |(rule, charge): (&PolicyRule, &Charge)| {
                if rule.refund_statuses.contains(&status) {
                    return Cost::micros(0);
                }
                let told = rule.settle_header.as_deref().and_then(&actual);
                told.and_then(|text| rule.cost.settled(text)).unwrap_or_else(|| charge.cost())
            };
            let costs: ArrayVec<Cost, CHARGES_MAX> = rules().zip(&decision.charges).map(true_cost).collect();
            // Whoever comes too late has paid the estimate.
            let _settled: Result<Settled, SettleError> = reservation.commit_each(&costs);
            return;
        }
        for (rule, charge) in rules().zip(&decision.charges) {
            if rule.refund_statuses.contains(&status) {
                self.inner.limiter.refund_charge(charge);
            }
        }
    }

    /// Puts another policy in force, for every clone. Balances carry over by the names of rules; if the limiter refuses it, the
    /// one before stays.
    pub fn swap(&self, policy: Policy) -> Result<(), PolicyError> {
        let _swapping = self.inner.swapping.lock().unwrap_or_else(PoisonError::into_inner);
        let ruleset = Ruleset::declare(&self.inner.limiter, policy)?;
        ruleset.put_in_force()?;
        self.inner.ruleset.store(Arc::new(ruleset));
        Ok(())
    }

    /// The policy in force, as it is now.
    pub fn policy(&self) -> InForce {
        InForce(self.inner.ruleset.load_full())
    }

    /// Shows `look` the policy in force. Cheaper than [`PolicyLimiter::policy`], for doors that look at it with every request.
    pub fn with_policy<T>(&self, look: impl FnOnce(&Policy) -> T) -> T {
        look(self.inner.ruleset.load().policy())
    }

    /// Why a request meets which rules. Allocates; for tools.
    pub fn explain(&self, facts: &Facts<'_>) -> Explanation {
        let ruleset = self.inner.ruleset.load();
        ruleset.book.explain(facts, self.unix_s(&ruleset))
    }

    /// What the rule at this position of the policy has done since the policy came into force.
    pub fn rule_stats(&self, rule: usize) -> RuleStats {
        self.inner.ruleset.load().stats(rule)
    }

    /// Whether a rule of the policy believes tokens that nobody has verified here, so that doors decode them.
    pub fn trusts_upstream_claims(&self) -> bool {
        self.inner.ruleset.load().trusts_upstream_claims
    }

    /// The time since 1970 by the wall clock; by a manual clock, its own. For what expires on a date, such as tokens.
    pub fn wall_time(&self) -> Duration {
        self.inner.limiter.wall_time()
    }

    /// The limiter underneath: its clock, its table, its counters.
    pub fn limiter(&self) -> &Limiter {
        &self.inner.limiter
    }

    /// What the enforced rules want of a request, undecided. Shadow rules are handed to `watch`.
    #[inline]
    fn gather(&self, facts: &Facts<'_>, watch: impl Fn(&Ruleset, usize, Charge)) -> Decision {
        let ruleset = self.inner.ruleset.load();
        let mut charges = ArrayVec::<Charge, CHARGES_MAX>::new();
        let mut rules = ArrayVec::<usize, CHARGES_MAX>::new();
        let ruling = ruleset.book.rule_on(facts, self.unix_s(&ruleset), |hit| {
            let Some(charge) = ruleset.charge(&hit) else { return };
            if !hit.is_enforced {
                watch(&ruleset, hit.rule, charge);
            } else if charges.try_push(charge).is_ok() {
                rules.push(hit.rule);
            }
        });
        let refused = match ruling {
            Ruling::ByBuckets => None,
            Ruling::Allowed { .. } => {
                charges.clear();
                rules.clear();
                None
            }
            Ruling::Blocked { rule } => Some(Refused::Blocked { rule }),
            Ruling::KeyMissing { rule } => Some(Refused::KeyMissing { rule }),
            Ruling::Killed { switch } => Some(Refused::Killed { switch }),
            Ruling::TooManyRules => Some(Refused::TooManyRules),
        };
        let (held, is_settled) = (Held::Nothing, AtomicBool::new(false));
        Decision { ruleset, verdict: None, refused, charges, rules, held, is_settled }
    }

    /// Charges what was gathered, in the way that its rules need.
    #[inline]
    fn charge(&self, decision: &Decision) -> (Option<Verdict>, Held) {
        let Inner { limiter, .. } = &*self.inner;
        let (ruleset, charges) = (&decision.ruleset, &decision.charges);
        if decision.rules.iter().any(|rule| ruleset.settles(*rule)) {
            match limiter.reserve(charges, SETTLE_TIMEOUT) {
                Ok(reservation) => return (reservation.verdict(), Held::Estimate(reservation)),
                Err(ReserveError::Denied(verdict)) => return (Some(verdict), Held::Nothing),
                // No room to remember the estimate: it stands.
                Err(_) => {}
            }
        }
        if decision.rules.iter().any(|rule| ruleset.takes_places(*rule)) {
            return match limiter.enter_all(charges) {
                Ok(guard) => (Some(guard.verdict()), Held::Places(guard)),
                Err(verdict) => (Some(verdict), Held::Nothing),
            };
        }
        (Some(limiter.check_all(charges)), Held::Nothing)
    }

    /// The wall clock, if the policy needs it.
    fn unix_s(&self, ruleset: &Ruleset) -> u64 {
        if ruleset.needs_wall_clock { self.inner.limiter.wall_time().as_secs() } else { 0 }
    }
}

impl fmt::Debug for PolicyLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyLimiter").field("policy", &self.policy().name).finish_non_exhaustive()
    }
}
