//! governor, keyed by `String`, with the state store (`DashMap`) and the clock (quanta) that it has by default.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::DefaultKeyedRateLimiter;

use crate::core_suite::quota::Quota;
use crate::core_suite::subject::{Subject, count_admitted};

/// Its map grows as keys come: no constructor with the default store takes a capacity.
pub(crate) struct Governor(DefaultKeyedRateLimiter<String>);

impl Governor {
    /// An empty limiter.
    pub(crate) fn new(quota: Quota) -> Self {
        let per_token = Duration::from_secs(quota.period_s.into()) / quota.tokens;
        let theirs = governor::Quota::with_period(per_token).expect("no quota of ours has a period of 0");
        let burst = NonZeroU32::new(quota.burst).expect("no quota of ours has a burst of 0");
        Self(DefaultKeyedRateLimiter::dashmap(theirs.allow_burst(burst)))
    }
}

impl Subject for Governor {
    fn check_stream(&self, keys: &[String]) -> u64 {
        count_admitted(keys, |key| black_box(self.0.check_key(key)).is_ok())
    }
}
