//! What most checks of leased buckets come to: one bucket, of which this node holds enough. Nothing is owned, sent or awaited.
//!
//! Whatever is not as simple as that is left to `leased_checks`, which decides the same, and more.

use tollgate::ledger::{BucketState, RuleCharge};
use tollgate_core::Cost;

use super::Inner;
use crate::key_name::is_plain_key;

impl Inner {
    /// Has the slice of a bucket pay; how the bucket stands then. `None` if there is more to it: nothing was spent.
    #[inline]
    pub(super) fn spend_at_once(&self, charge: &RuleCharge<'_>) -> Option<BucketState> {
        let RuleCharge { rule, key, cost } = *charge;
        // Where any bucket is kept by its share, this one may be.
        if cost == Cost::micros(0) || self.locals.len() > 0 || !is_plain_key(key) {
            return None;
        }
        let rules = self.leased_rules.now();
        let rule = rules.get(rule.0 as usize)?.as_ref()?;
        let state = self.leases.spend_at_once(rule, key, cost, self.clock.now())?;
        self.counters.lease_hits.add(1);
        Some(state)
    }
}
