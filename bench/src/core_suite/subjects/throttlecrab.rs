//! throttlecrab's library with its periodic store. Its check needs `&mut`, so it stands behind a lock, and wants the
//! calendar time from its caller, who reads it before taking the lock.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use throttlecrab::{PeriodicStore, RateLimiter};

use crate::core_suite::quota::Quota;
use crate::core_suite::subject::{Subject, count_admitted};
use crate::stopwatch;

/// The limit is not in the limiter: every check brings it.
pub(crate) struct Throttlecrab {
    limiter: Mutex<RateLimiter<PeriodicStore>>,
    quota: Quota,
}

impl Throttlecrab {
    /// An empty limiter with room for `keys`.
    pub(crate) fn new(quota: Quota, keys: u32) -> Self {
        let store = PeriodicStore::with_capacity(keys as usize);
        Self { limiter: Mutex::new(RateLimiter::new(store)), quota }
    }
}

impl Subject for Throttlecrab {
    fn check_stream(&self, keys: &[String]) -> u64 {
        let Quota { tokens, period_s, burst } = self.quota;
        let (burst, tokens, period_s) = (i64::from(burst), i64::from(tokens), i64::from(period_s));
        count_admitted(keys, |key| {
            let now = stopwatch::system_time();
            let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
            let outcome = limiter.rate_limit(key, burst, tokens, period_s, 1, now);
            matches!(black_box(outcome), Ok((true, _)))
        })
    }
}
