//! A limiter that enforces a policy: facts in, decisions out.
//!
//! The policy is swapped whole; buckets outlive it. An admitted request allocates nothing here after the first of its
//! thread, unless a rule takes places, settles or refunds by the response.

mod asked;
mod bucket_error;
mod by_ledger;
mod deciding;
mod decision;
mod error;
mod from_afar;
mod held_afar;
mod in_force;
mod named_buckets;
mod refused;
mod ruleset;
mod shadow_limiter;
mod telling;

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tollgate_core::{Burst, Cost, Limit, Rate};
use tollgate_policy::{Explanation, Facts, Policy};

pub use self::bucket_error::{BucketError, NoBuckets};
pub use self::deciding::{Asking, Deciding};
use self::decision::Watched;
pub use self::decision::{Decision, RuleClient};
pub use self::error::PolicyError;
pub use self::in_force::InForce;
pub use self::named_buckets::{NamedBucket, NamedBuckets};
pub use self::refused::Refused;
pub use self::ruleset::RuleStats;
use self::ruleset::Ruleset;
use self::shadow_limiter::ShadowLimiter;
use crate::clock::WallTime;
use crate::ledger::Ledger;
use crate::{Charge, Limiter, LimiterBuilder, Moment};

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
/// let policy = Policy::parse("policy.yaml", r#"{name: api, scope: ip, rate: 5/s, burst: 10}"#)?;
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
    shadow: ShadowLimiter,
    ruleset: ArcSwap<Ruleset>,
    /// Held by whoever swaps the policy.
    swapping: Mutex<()>,
    /// Where the buckets are, if not here.
    ledger: Option<Arc<dyn Ledger>>,
    /// Whether decisions keep the keys by which rules know the client.
    keeps_keys: bool,
    wall: WallTime,
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
        self.build_over(policy, None)
    }

    /// The same over the buckets of a shared ledger. Its verdicts have to be waited for: [`PolicyLimiter::decide`] does so, and
    /// [`PolicyLimiter::check`] refuses.
    pub fn build_with_ledger(
        self,
        policy: Policy,
        ledger: Arc<dyn Ledger>,
    ) -> Result<PolicyLimiter, PolicyError> {
        self.build_over(policy, Some(ledger))
    }

    fn build_over(
        self,
        policy: Policy,
        ledger: Option<Arc<dyn Ledger>>,
    ) -> Result<PolicyLimiter, PolicyError> {
        let (beside, keeps_keys) = (self.clone().without_snapshot(), self.keeps_keys);
        let limiter = self.build(UNCHECKED).map_err(PolicyError::Build)?;
        let shadow = ShadowLimiter::beside(beside.clock(limiter.shared().clock.clone()));
        let ruleset = Ruleset::in_force(&limiter, &shadow, policy, ledger.as_deref())?;
        let ruleset = ArcSwap::from_pointee(ruleset);
        let inner = Inner {
            limiter,
            shadow,
            ruleset,
            swapping: Mutex::new(()),
            ledger,
            keeps_keys,
            wall: WallTime::default(),
        };
        Ok(PolicyLimiter { inner: Arc::new(inner) })
    }
}

impl PolicyLimiter {
    /// Decides a request by the policy in force: see [`InForce::check`].
    #[inline]
    pub fn check(&self, facts: &Facts<'_>) -> Decision {
        self.policy().check(facts)
    }

    /// What a check would be told. Charges nothing, and leaves shadow rules alone.
    pub fn peek(&self, facts: &Facts<'_>) -> Decision {
        self.policy().peek(facts)
    }

    /// Settles an admitted request by its response: gives back what rules refund for its status, and corrects estimates to what
    /// `actual` reads from the header field that a rule names. Without such a field, or with one that is no number, the estimate
    /// stands. Rules that only watch settle alike. Places stay taken. A second time it does nothing.
    pub fn settle<'h>(&self, decision: &Decision, status: u16, actual: impl Fn(&str) -> Option<&'h str>) {
        let Some(open) = &decision.open else { return };
        if open.is_settled.swap(true, Ordering::Relaxed) {
            return;
        }
        let true_cost = |rule: usize, charge: &Charge| {
            let Some(rule) = decision.policy().rules.get(rule) else { return charge.cost() };
            if rule.refund_statuses.contains(&status) {
                return Cost::micros(0);
            }
            let told = rule.settle_header.as_deref().and_then(&actual);
            told.and_then(|text| rule.cost.settled(text)).unwrap_or_else(|| charge.cost())
        };
        if let Some(held) = &open.held {
            let (rules, charges) = (decision.asked.rules(), decision.asked.charges());
            held.correct(|at| true_cost(rules[at], &charges[at]));
        }
        if let Some(afar) = &open.afar {
            let (rules, charges) = (decision.asked.rules(), decision.asked.charges());
            afar.correct(rules.iter().zip(charges).map(|(rule, charge)| true_cost(*rule, charge)));
        }
        for Watched { rule, charge, held } in &open.watched {
            held.correct(|_| true_cost(*rule, charge));
        }
    }

    /// Puts another policy in force, for every clone. Balances carry over by the names of rules; if the limiter refuses it, the
    /// one before stays.
    pub fn swap(&self, policy: Policy) -> Result<(), PolicyError> {
        let _swapping = self.inner.swapping.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { limiter, shadow, ledger, .. } = &*self.inner;
        let ruleset = Ruleset::in_force(limiter, shadow, policy, ledger.as_deref())?;
        self.inner.ruleset.store(Arc::new(ruleset));
        Ok(())
    }

    /// The shared ledger that has the buckets, if they are not here.
    pub fn ledger(&self) -> Option<&Arc<dyn Ledger>> {
        self.inner.ledger.as_ref()
    }

    /// The policy in force, as it is now: to look at, and to check a request by just that one.
    #[inline]
    pub fn policy(&self) -> InForce<'_> {
        InForce::of(self)
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

    /// Checks that at least one rule that only watches would have denied, since the policy came into force: each once, however many rules
    /// would have.
    pub fn checks_shadow_denied(&self) -> u64 {
        self.inner.ruleset.load().checks_shadow_denied()
    }

    /// The time since 1970 by the wall clock; by a manual clock, its own. For what expires on a date, such as tokens.
    pub fn wall_time(&self) -> Duration {
        self.inner.limiter.wall_time()
    }

    /// The same at a moment that is about now, for those who ask often: a wall clock that somebody sets is noticed within a tenth of a second.
    #[inline]
    pub fn wall_time_at(&self, now: Moment) -> Duration {
        self.inner.limiter.shared().clock.wall_time_at(now, &self.inner.wall)
    }

    /// The limiter underneath: its clock, its table, its counters.
    pub fn limiter(&self) -> &Limiter {
        &self.inner.limiter
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
