//! Tollgate as its users have it: the default rule, the system clock, as many keys as there are.

use std::hint::black_box;

use tollgate::{Burst, Limit, Limiter, Rate, Span};

use crate::core_suite::quota::Quota;
use crate::core_suite::subject::{Subject, count_admitted};

const BATCH_CHECKS: usize = 16;

/// A table of exactly as many buckets as keys come: full, but never crowded by more than its own making.
pub(crate) struct Tollgate(Limiter);

impl Tollgate {
    /// An empty limiter with room for `keys`.
    pub(crate) fn new(quota: Quota, keys: u32) -> Self {
        let limiter = Limiter::builder().keys_max(keys as usize).build(limit_of(quota));
        Self(limiter.expect("a table for at least one key can be built"))
    }
}

/// The quota as Tollgate spells it.
pub(crate) fn limit_of(quota: Quota) -> Limit {
    let rate = Rate::new(quota.tokens.into(), Span::from_secs(quota.period_s.into()));
    Limit::new(rate, Burst::tokens(quota.burst.into()))
        .expect("every quota of ours is within 146 years to full")
}

impl Subject for Tollgate {
    fn check_stream(&self, keys: &[String]) -> u64 {
        count_admitted(keys, |key| black_box(self.0.check(key.as_str())).is_admitted())
    }

    fn check_batches(&self, keys: &[String]) -> u64 {
        let rule = self.0.default_rule();
        let mut charges = Vec::with_capacity(BATCH_CHECKS);
        let mut verdicts = Vec::with_capacity(BATCH_CHECKS);
        let mut admitted = 0;
        for batch in keys.chunks(BATCH_CHECKS) {
            charges.clear();
            charges.extend(batch.iter().map(|key| rule.charge(key.as_str())));
            self.0.check_each(&charges, &mut verdicts);
            admitted +=
                black_box(&verdicts).iter().map(|verdict| u64::from(verdict.is_admitted())).sum::<u64>();
        }
        admitted
    }

    fn keys_lost(&self) -> u64 {
        let stats = self.0.stats();
        stats.evicted + stats.denied_new + stats.overflowed
    }
}
