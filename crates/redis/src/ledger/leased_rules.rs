//! The rules of which this node may hold slices now, ready for checks that are decided at once.
//!
//! Made anew whenever rules are declared or agreed upon, or keys are called otherwise: so that a check has one thing to look at.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};
use siphasher::sip::SipHasher13;

use super::Inner;
use super::rules::RuleEntry;

/// By the numbers of rules; `None` of those that are not leased, or not agreed upon.
type ByNumber = Vec<Option<LeasedRule>>;

/// Those rules.
#[derive(Debug, Default)]
pub(super) struct LeasedRules {
    now: ArcSwap<ByNumber>,
    /// Held by whoever makes them anew: whoever is last has seen everything.
    renewing: Mutex<()>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct LeasedRule {
    pub(super) rule: Arc<RuleEntry>,
    /// What the names of its buckets begin with, where the keys are plain.
    pub(super) begin: Box<[u8]>,
    /// The hash of that, to be gone on with.
    pub(super) hashed: SipHasher13,
}

impl LeasedRules {
    #[inline]
    pub(super) fn now(&self) -> Guard<Arc<ByNumber>> {
        self.now.load()
    }
}

impl Inner {
    /// To be called after every change of the rules, of what was agreed upon, and of the key space.
    pub(super) fn renew_leased_rules(&self) {
        let _renewing = self.leased_rules.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        let (rules, keys) = (self.rules.all(), self.keys.now());
        let is_any_leased = rules.iter().any(|rule| rule.lease.is_some());
        if !is_any_leased && self.leased_rules.now.load().is_empty() {
            return;
        }
        let leased = rules.iter().map(|rule| {
            let agreed = rule.agreed.load();
            // By the limit that was agreed upon alone: slices must not be spent faster than the store mints.
            let agreed = agreed.as_ref().filter(|agreed| agreed.algorithm == rule.algorithm)?;
            rule.lease.as_ref()?;
            Some(self.leases.leased_rule(rule, keys.plain_begin(&agreed.identity)))
        });
        self.leased_rules.now.store(Arc::new(leased.collect()));
    }
}
