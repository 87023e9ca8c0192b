//! A policy and the buckets of its rules: what one check works with. Swapped whole.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::{Algorithm, Limit};
use tollgate_policy::{
    Action, Consistency, Hit, KeySource, Mode, Policy, Rule as PolicyRule, RuleBook, limit_text,
};

use super::error::PolicyError;
use super::shadow_limiter::ShadowLimiter;
use crate::answer::RuleText;
use crate::ledger::{Ledger, LedgerRule, RuleCharge, RuleNumber};
use crate::{Breadth, Charge, KeyKind, Limiter, Rule, RuleError};

/// How often the buckets of one rule may be started anew in the life of a limiter, because its limit became another kind of limit.
const GENERATIONS_MAX: u32 = 1_000;

/// A compiled policy with a handle on the buckets of each of its rules.
#[derive(Debug)]
pub(super) struct Ruleset {
    pub(super) book: RuleBook,
    /// In the policy's order.
    rules: Vec<Buckets>,
    /// Whether any kill switch expires, so that the wall clock matters.
    pub(super) needs_wall_clock: bool,
    /// Whether its buckets are in a shared ledger.
    pub(super) is_in_ledger: bool,
    /// Whether any rule believes claims that somebody upstream has verified.
    pub(super) trusts_upstream_claims: bool,
    /// Checks that any rule that only watches would have denied.
    checks_shadow_denied: AtomicU64,
}

/// The buckets of one rule.
#[derive(Debug)]
struct Buckets {
    /// `None` of rules that charge nothing.
    enforced: Option<Rule>,
    /// Its own buckets, of clients for which it is a shadow; `None` if there are none.
    shadow: Option<Rule>,
    /// The same two in the shared ledger, if there is one.
    in_ledger: [Option<RuleNumber>; 2],
    /// The response matters to its charges: it takes places, settles or refunds.
    awaits_response: bool,
    /// What answers always say of it; `None` of rules that charge nothing.
    text: Option<Arc<RuleText>>,
    counts: RuleCounts,
}

/// The buckets of a rule, enforced or as a shadow: in this program's table and, if there is one, in the shared ledger.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handles<'r> {
    pub(super) here: &'r Rule,
    pub(super) in_ledger: Option<RuleNumber>,
}

/// What one rule has done since it came into force.
#[derive(Debug, Default)]
pub(super) struct RuleCounts {
    denied: AtomicU64,
    shadow_denied: AtomicU64,
    unusable_costs: AtomicU64,
    fallbacks: AtomicU64,
}

/// What one rule of a policy has done since that policy came into force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RuleStats {
    /// Checks that it denied.
    pub denied: u64,
    /// Checks that it would have denied, had it been enforced.
    pub shadow_denied: u64,
    /// Requests whose own cost was of no use, so that the default was charged.
    pub unusable_costs: u64,
    /// Charges that its sliding logs remember now.
    pub log_entries: usize,
    /// How many they may; 0 if it has no logs.
    pub log_entries_max: usize,
    /// Checks that were decided without the store's reply.
    pub fallbacks: u64,
}

impl Ruleset {
    /// A policy, declared and put in force, in a shared ledger too if there is one.
    pub(super) fn in_force(
        limiter: &Limiter,
        shadow: &ShadowLimiter,
        policy: Policy,
        ledger: Option<&dyn Ledger>,
    ) -> Result<Ruleset, PolicyError> {
        let mut ruleset = Ruleset::declare(limiter, shadow, policy)?;
        if let Some(ledger) = ledger {
            ruleset.declare_to(ledger)?;
        }
        ruleset.put_in_force()?;
        Ok(ruleset)
    }

    /// The buckets of every rule of the policy: those that a rule of the same name has had before, if they mean something under
    /// this one's limit, or new ones. Limits are as they were until [`Ruleset::put_in_force`].
    fn declare(limiter: &Limiter, shadow: &ShadowLimiter, policy: Policy) -> Result<Ruleset, PolicyError> {
        let rules = policy.rules.iter().map(|rule| Buckets::declare(limiter, shadow, &policy, rule));
        let rules = rules.collect::<Result<_, _>>()?;
        let needs_wall_clock = policy.kill_switches.iter().any(|switch| switch.until_unix_s.is_some());
        let trusts_upstream_claims = policy.rules.iter().any(|rule| rule.trusts_upstream_claims);
        let book = RuleBook::new(policy);
        let (is_in_ledger, checks_shadow_denied) = (false, AtomicU64::new(0));
        Ok(Ruleset {
            book,
            rules,
            needs_wall_clock,
            is_in_ledger,
            trusts_upstream_claims,
            checks_shadow_denied,
        })
    }

    /// Makes the rules known to a shared ledger.
    fn declare_to(&mut self, ledger: &dyn Ledger) -> Result<(), PolicyError> {
        self.is_in_ledger = true;
        let policy = self.book.policy();
        let settings = policy.store.clone().unwrap_or_default();
        let (mut rules, mut places) = (Vec::new(), Vec::new());
        for (at, (buckets, rule)) in self.rules.iter().zip(&policy.rules).enumerate() {
            let Action::Limit(algorithm) = rule.action else { continue };
            let handles = [&buckets.enforced, &buckets.shadow];
            for (kind, _) in handles.iter().enumerate().filter(|(_, handle)| handle.is_some()) {
                let (is_shadow, breadth) = (kind == 1, breadth_of(rule));
                let is_leased = rule.consistency == Consistency::Leased && policy.can_lease(rule).is_ok();
                rules.push(LedgerRule {
                    policy: &policy.name,
                    name: &rule.name,
                    is_shadow,
                    algorithm,
                    breadth,
                    on_store_failure: rule.on_store_failure,
                    is_leased,
                });
                places.push((at, kind));
            }
        }
        let numbers = ledger.declare(&settings, &rules).map_err(|error| {
            let rule = rules.get(error.rule).map(|rule| rule.name.into()).unwrap_or_default();
            PolicyError::Ledger { rule, error }
        })?;
        for ((at, kind), number) in places.into_iter().zip(numbers) {
            if let Some(buckets) = self.rules.get_mut(at) {
                buckets.in_ledger[kind] = Some(number);
            }
        }
        Ok(())
    }

    /// What a hit charges in the shared ledger, and the same as it stands in the list of charges.
    #[inline]
    pub(super) fn charge_afar<'k>(&self, hit: &Hit<'k>) -> Option<(Charge, RuleCharge<'k>)> {
        let (buckets, handle) = self.asked_by(hit)?;
        let rule = buckets.in_ledger[usize::from(!hit.is_enforced)]?;
        KeyKind::Bytes.accept(hit.key).ok()?;
        Some((handle.charge_elsewhere(hit.cost), RuleCharge { rule, key: hit.key, cost: hit.cost }))
    }

    /// Sets the limits that the policy says. Balances carry over.
    fn put_in_force(&self) -> Result<(), PolicyError> {
        for (buckets, rule) in self.rules.iter().zip(&self.policy().rules) {
            let Action::Limit(algorithm) = rule.action else { continue };
            for handle in [&buckets.enforced, &buckets.shadow].into_iter().flatten() {
                handle.set_limit(algorithm).map_err(|error| PolicyError::rule(rule, error))?;
                if rule.overrides.is_none() {
                    handle.set_table_full(rule.table.table_full);
                    let total = handle.shared.store.meters.log_entries_max();
                    handle.set_log_entries_max(self.policy().log_entries_max(rule, total));
                }
            }
        }
        Ok(())
    }

    pub(super) fn policy(&self) -> &Policy {
        self.book.policy()
    }

    /// What a hit charges, and whether it is enforced.
    #[inline]
    pub(super) fn charge(&self, hit: &Hit<'_>) -> Option<Charge> {
        let (_, handle) = self.asked_by(hit)?;
        Some(handle.charge_n(hit.key, hit.cost))
    }

    /// The buckets that a hit asks, and the handle on them. Counts a cost that was of no use.
    #[inline]
    fn asked_by(&self, hit: &Hit<'_>) -> Option<(&Buckets, &Rule)> {
        let buckets = self.rules.get(hit.rule)?;
        let handle = if hit.is_enforced { &buckets.enforced } else { &buckets.shadow };
        if hit.cost_was_unusable {
            buckets.counts.unusable_costs.fetch_add(1, Ordering::Relaxed);
        }
        Some((buckets, handle.as_ref()?))
    }

    /// The buckets of the rule at this position, enforced or as a shadow; `None` if it has none of that kind.
    pub(super) fn handles(&self, rule: usize, is_shadow: bool) -> Option<Handles<'_>> {
        let buckets = self.rules.get(rule)?;
        let here = if is_shadow { &buckets.shadow } else { &buckets.enforced };
        Some(Handles { here: here.as_ref()?, in_ledger: buckets.in_ledger[usize::from(is_shadow)] })
    }

    /// Sends for the bucket that a client most likely has under the first rule that is no standing order.
    #[inline]
    pub(super) fn send_for(&self, address: Option<IpAddr>) {
        self.book.foresee(address, |rule, key| {
            if let Some(rule) = self.rules.get(rule).and_then(|buckets| buckets.enforced.as_ref()) {
                rule.send_for(key);
            }
        });
    }

    /// Whether the response matters to the charges of a rule: it takes places, settles or refunds.
    #[inline]
    pub(super) fn awaits_response(&self, rule: usize) -> bool {
        self.rules.get(rule).is_some_and(|buckets| buckets.awaits_response)
    }

    /// The limit of a rule that is a token bucket, and what answers always say of it.
    #[inline]
    pub(super) fn token_bucket(&self, rule: usize) -> Option<(&Limit, &Arc<RuleText>)> {
        let Action::Limit(Algorithm::TokenBucket(limit)) = &self.policy().rules.get(rule)?.action else {
            return None;
        };
        Some((limit, self.rules.get(rule)?.text.as_ref()?))
    }

    pub(super) fn note_denied(&self, rule: usize) {
        if let Some(buckets) = self.rules.get(rule) {
            buckets.counts.denied.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn note_shadow_denied(&self, rule: usize) {
        if let Some(buckets) = self.rules.get(rule) {
            buckets.counts.shadow_denied.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a check of a rule that was decided without the store's reply.
    pub(super) fn note_fallback(&self, rule: usize) {
        if let Some(buckets) = self.rules.get(rule) {
            buckets.counts.fallbacks.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a check that one rule or several that only watch would have denied.
    pub(super) fn note_check_shadow_denied(&self) {
        self.checks_shadow_denied.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn checks_shadow_denied(&self) -> u64 {
        self.checks_shadow_denied.load(Ordering::Relaxed)
    }

    pub(super) fn stats(&self, rule: usize) -> RuleStats {
        let Some(Buckets { counts, enforced, shadow, .. }) = self.rules.get(rule) else {
            return RuleStats::default();
        };
        let logged = enforced
            .as_ref()
            .or(shadow.as_ref())
            .filter(|rule| matches!(rule.limit(), Algorithm::SlidingLog(_)));
        let (log_entries, log_entries_max) = logged.map_or((0, 0), Rule::log_entries);
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        RuleStats {
            denied: read(&counts.denied),
            shadow_denied: read(&counts.shadow_denied),
            unusable_costs: read(&counts.unusable_costs),
            log_entries,
            log_entries_max,
            fallbacks: read(&counts.fallbacks),
        }
    }
}

impl Buckets {
    fn declare(
        limiter: &Limiter,
        shadow: &ShadowLimiter,
        policy: &Policy,
        rule: &PolicyRule,
    ) -> Result<Buckets, PolicyError> {
        let counts = RuleCounts::default();
        let mode = rule.mode.min(policy.mode);
        let Action::Limit(algorithm) = rule.action else {
            return Ok(Buckets {
                in_ledger: [None; 2],
                enforced: None,
                shadow: None,
                awaits_response: false,
                text: None,
                counts,
            });
        };
        let takes_places = matches!(algorithm, Algorithm::Concurrency(_));
        let watches = mode == Mode::Shadow || (mode == Mode::Enforce && rule.rollout_percent < 100);
        Ok(Buckets {
            enforced: (mode == Mode::Enforce)
                .then(|| handle(limiter, policy, rule, algorithm))
                .transpose()?,
            shadow: watches.then(|| handle(shadow.make()?, policy, rule, algorithm)).transpose()?,
            in_ledger: [None; 2],
            awaits_response: takes_places || rule.settle_header.is_some() || !rule.refund_statuses.is_empty(),
            text: Some(Arc::new(RuleText::of(&rule.name, &algorithm))),
            counts,
        })
    }
}

/// A handle on the buckets of a rule. An override has those of the rule that it stands before, on a tier for its limit: its client takes
/// its balance along, both ways.
fn handle(
    limiter: &Limiter,
    policy: &Policy,
    rule: &PolicyRule,
    algorithm: Algorithm,
) -> Result<Rule, PolicyError> {
    let overridden = rule.overrides.and_then(|at| policy.rules.get(at));
    let Some((overridden, Action::Limit(usual))) = overridden.map(|rule| (rule, rule.action)) else {
        return generation(limiter, rule, algorithm);
    };
    let buckets = generation(limiter, overridden, usual)?;
    // By its limit and not by its order: a limiter keeps the names of all limits that it has had.
    buckets.tier(&limit_text(&algorithm), algorithm).map_err(|error| PolicyError::rule(rule, error))
}

/// The buckets that a rule has had; where those mean nothing under the new limit (another algorithm, another length of a sliding
/// window), the next generation of them.
fn generation(limiter: &Limiter, rule: &PolicyRule, algorithm: Algorithm) -> Result<Rule, PolicyError> {
    let breadth = breadth_of(rule);
    let mut generation = 0;
    loop {
        let name = format!("{} {generation}", rule.name);
        match limiter.rule_for_later(&name, algorithm, breadth) {
            Err(RuleError::AlgorithmConflict { .. } | RuleError::BreadthConflict { .. })
                if generation < GENERATIONS_MAX =>
            {
                generation += 1;
            }
            declared => return declared.map_err(|error| PolicyError::rule(rule, error)),
        }
    }
}

/// How many clients share one bucket of a rule, by what its keys tell apart.
fn breadth_of(rule: &PolicyRule) -> Breadth {
    let narrow = |source: &KeySource| match source {
        KeySource::Address
        | KeySource::Prefix { v4: 32, v6: 64.. }
        | KeySource::User
        | KeySource::Header(_)
        | KeySource::Query(_)
        | KeySource::Cookie(_)
        | KeySource::Claim(_) => Breadth::Client,
        KeySource::Constant(_) => Breadth::Everyone,
        _ => Breadth::Group,
    };
    rule.keys.iter().map(narrow).min().unwrap_or(Breadth::Everyone)
}
