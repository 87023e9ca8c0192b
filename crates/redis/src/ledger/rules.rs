//! The rules that this node has declared, by number. Numbers are never given twice; what is known of a rule is swapped whole.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};
use tollgate::Breadth;
use tollgate::ledger::{LedgerRefusal, LedgerRule, RuleNumber};
use tollgate::policy::{OnStoreFailure, StoreSettings};
use tollgate_core::{Algorithm, LeaseTerms, Moment};

use super::fallback::FallbackLogged;
use crate::{RuleIdentity, SharedLimit};

/// The rules of this node.
#[derive(Debug, Default)]
pub(super) struct Rules {
    entries: ArcSwap<Vec<Arc<RuleEntry>>>,
    numbers: Mutex<HashMap<Named, u32>>,
    /// How many of them keep sliding logs.
    with_logs: AtomicUsize,
}

/// The names of a policy and of a rule.
type Named = (Box<str>, Box<str>);

/// One rule.
#[derive(Debug)]
pub(super) struct RuleEntry {
    pub(super) number: RuleNumber,
    pub(super) identity: RuleIdentity,
    pub(super) algorithm: Algorithm,
    /// Since when this node has wanted it so.
    pub(super) since: Moment,
    pub(super) on_failure: OnStoreFailure,
    /// How many clients share a bucket.
    pub(super) breadth: Breadth,
    /// If instances lease its buckets.
    pub(super) lease: Option<LeaseTerms>,
    /// What was agreed upon with the other nodes; `None` until the store was reached.
    pub(super) agreed: Arc<ArcSwapOption<Agreed>>,
    /// Whether it was told that it is not agreed upon.
    pub(super) is_told: AtomicBool,
    pub(super) fallback_logged: FallbackLogged,
}

/// A rule's limit as all nodes see it.
#[derive(Debug)]
pub(super) struct Agreed {
    /// Under which name its buckets are: another where the rule has changed its algorithm.
    pub(super) identity: RuleIdentity,
    /// What this node wanted when it declared the rule.
    pub(super) declared: Algorithm,
    /// What is in force: another limit, if another node has declared the rule since.
    pub(super) algorithm: Algorithm,
    pub(super) limit: SharedLimit,
    /// Whether that is what this node declared.
    pub(super) is_own: bool,
}

impl Rules {
    /// Makes rules known; those of the same name keep their number, and what was agreed upon until another limit is.
    pub(super) fn declare(
        &self,
        settings: &StoreSettings,
        rules: &[LedgerRule<'_>],
        now: Moment,
    ) -> Result<Vec<RuleNumber>, LedgerRefusal> {
        for (at, rule) in rules.iter().enumerate() {
            SharedLimit::accept(&rule.algorithm)
                .map_err(|refused| LedgerRefusal { rule: at, problem: refused.to_string() })?;
        }
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = Vec::clone(&self.entries.load());
        let declared = rules.iter().map(|rule| {
            let name = if rule.is_shadow { format!("{} (shadow)", rule.name) } else { rule.name.to_owned() };
            let next = u32::try_from(entries.len()).unwrap_or(u32::MAX);
            let known = (rule.policy.into(), name.as_str().into());
            let number = *numbers.entry(known).or_insert(next);
            let before = entries.get(number as usize);
            let same = before.filter(|before| before.algorithm == rule.algorithm);
            let entry = Arc::new(RuleEntry {
                number: RuleNumber(number),
                identity: RuleIdentity::new(rule.policy, &name),
                algorithm: rule.algorithm,
                since: same.map_or(now, |before| before.since),
                on_failure: rule.on_store_failure,
                breadth: rule.breadth,
                lease: lease_terms(settings, rule),
                agreed: before.map_or_else(Arc::default, |before| Arc::clone(&before.agreed)),
                is_told: AtomicBool::new(false),
                fallback_logged: FallbackLogged::default(),
            });
            match entries.get_mut(number as usize) {
                Some(place) => *place = entry,
                None => entries.push(entry),
            }
            RuleNumber(number)
        });
        let declared = declared.collect();
        let has_log = |entry: &&Arc<RuleEntry>| matches!(entry.algorithm, Algorithm::SlidingLog(_));
        self.with_logs.store(entries.iter().filter(has_log).count(), Ordering::Relaxed);
        self.entries.store(Arc::new(entries));
        Ok(declared)
    }

    pub(super) fn get(&self, number: RuleNumber) -> Option<Arc<RuleEntry>> {
        self.entries.load().get(number.0 as usize).cloned()
    }

    /// How many rules keep sliding logs; at least 1.
    pub(super) fn with_logs(&self) -> usize {
        self.with_logs.load(Ordering::Relaxed).max(1)
    }

    /// How many rules of this node have a limit in force that another has declared.
    pub(super) fn overruled(&self) -> usize {
        let is_overruled =
            |entry: &&Arc<RuleEntry>| entry.agreed.load().as_ref().is_some_and(|agreed| !agreed.is_own);
        self.entries.load().iter().filter(is_overruled).count()
    }

    /// What was agreed upon of a rule, if that is what this node wants now.
    pub(super) fn agreed(&self, number: RuleNumber) -> Option<Arc<Agreed>> {
        let entries = self.entries.load();
        let entry = entries.get(number.0 as usize)?;
        entry.agreed.load_full().filter(|agreed| agreed.declared == entry.algorithm)
    }

    pub(super) fn all(&self) -> Arc<Vec<Arc<RuleEntry>>> {
        self.entries.load_full()
    }
}

/// On which terms instances lease a rule's buckets, if they may. A rule that only watches is not: nobody waits for it.
fn lease_terms(settings: &StoreSettings, rule: &LedgerRule<'_>) -> Option<LeaseTerms> {
    let instances = settings.instances_max.unwrap_or(1);
    let Algorithm::TokenBucket(limit) = &rule.algorithm else { return None };
    if !rule.is_leased || rule.is_shadow {
        return None;
    }
    LeaseTerms::new(limit, instances, settings.lease).ok()
}

impl RuleEntry {
    /// Whether this node has declared what it wants. What is in force may be another limit since: whoever declares last is right.
    pub(super) fn is_agreed(&self) -> bool {
        self.agreed.load().as_ref().is_some_and(|agreed| agreed.declared == self.algorithm)
    }
}
