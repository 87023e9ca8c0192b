//! What most checks of leased buckets come to: one bucket, of which this node holds enough. Nothing is owned, sent or awaited.
//!
//! Whatever is not as simple as that is left to `leased_checks`, which decides the same, and more.

use tollgate::ledger::{Bucket, BucketLimit, BucketState, LedgerCharge};
use tollgate_core::Cost;

use super::Inner;

impl Inner {
    /// Has the slice of a bucket pay; how the bucket stands then. `None` if there is more to it: nothing was spent.
    #[inline]
    pub(super) fn spend_at_once(&self, charge: &LedgerCharge) -> Option<BucketState> {
        let LedgerCharge { bucket: Bucket { limit: BucketLimit::Rule(number), key }, cost } = charge else {
            return None;
        };
        // Where any bucket is kept by its share, this one may be.
        if *cost == Cost::micros(0) || self.locals.len() > 0 || self.leases.len() == 0 {
            return None;
        }
        let rules = self.rules.now();
        let rule = rules.get(number.0 as usize)?;
        let agreed = rule.agreed.load();
        // By the limit that was agreed upon alone: slices must not be spent faster than the store mints.
        let agreed = agreed.as_ref().filter(|agreed| agreed.algorithm == rule.algorithm)?;
        let now = self.clock.now();
        let spent = self.keys.now().with_plain_bucket(&agreed.identity, key, |name| {
            self.leases.spend_at_once(name, rule, *cost, now)
        });
        let state = spent.flatten()?;
        self.counters.lease_hits.add(1);
        Some(state)
    }
}
