//! The three limiters that can be awaited, each with one bucket and without a maximum of waiters.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::DefaultKeyedRateLimiter;
use leaky_bucket::RateLimiter;
use tollgate::{Burst, Cost, Limit, Limiter, Rate};

use super::run::Gate;
use crate::core_suite::quota::Quota;
use crate::core_suite::subjects::limit_of;

const KEY: &str = "api.example.com";

/// Tollgate, with a table as it is by default.
pub(crate) struct Tollgate(Limiter);

/// governor, keyed as its checks are in the other cases.
pub(crate) struct Governor(DefaultKeyedRateLimiter<String>, String);

/// leaky-bucket, which has no keys: one bucket is all there is.
pub(crate) struct LeakyBucket(RateLimiter);

impl Tollgate {
    /// Tokens for everybody.
    pub(crate) fn free() -> Self {
        Self(Limiter::new(limit_of(Quota::ONE_KEY)))
    }

    /// One token, and so many per second.
    pub(crate) fn slow(per_second: u32) -> Self {
        let limit = Limit::new(Rate::per_second(per_second.into()), Burst::tokens(1));
        Self(Limiter::new(limit.expect("a rate within range")))
    }
}

impl Gate for Tollgate {
    async fn acquire(&self) {
        let acquired = self.0.acquire(KEY, Cost::ONE).behind(u32::MAX).await;
        acquired.expect("it waits as long as it takes");
    }
}

impl Governor {
    /// Tokens for everybody.
    pub(crate) fn free() -> Self {
        Self::with(Duration::from_secs(1) / Quota::ONE_KEY.tokens, Quota::ONE_KEY.burst)
    }

    /// One token, and so many per second.
    pub(crate) fn slow(per_second: u32) -> Self {
        Self::with(Duration::from_secs(1) / per_second, 1)
    }

    fn with(per_token: Duration, burst: u32) -> Self {
        let quota = governor::Quota::with_period(per_token).expect("not a period of 0");
        let burst = NonZeroU32::new(burst).expect("not a burst of 0");
        Self(DefaultKeyedRateLimiter::dashmap(quota.allow_burst(burst)), KEY.to_owned())
    }
}

impl Gate for Governor {
    async fn acquire(&self) {
        self.0.until_key_ready(&self.1).await;
    }
}

impl LeakyBucket {
    /// Tokens for everybody.
    pub(crate) fn free() -> Self {
        let tokens = Quota::ONE_KEY.burst as usize;
        Self(RateLimiter::builder().initial(tokens).max(tokens).build())
    }

    /// One token, and so many per second: by the millisecond, which is the shortest interval it has.
    pub(crate) fn slow(per_second: u32) -> Self {
        let per_milli = (per_second / 1_000) as usize;
        let builder = &mut RateLimiter::builder();
        Self(builder.initial(1).max(per_milli).refill(per_milli).interval(Duration::from_millis(1)).build())
    }
}

impl Gate for LeakyBucket {
    async fn acquire(&self) {
        self.0.acquire_one().await;
    }
}
