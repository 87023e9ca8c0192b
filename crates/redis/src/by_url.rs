//! A ledger, and a limiter that enforces a policy over it, by a URL alone.

use std::sync::Arc;

use tollgate::policy::Policy;
use tollgate::{Limiter, PolicyError, PolicyLimiter};

use crate::{LedgerOptions, OpenError, RedisLedger, StoreUrl};

/// A limiter that enforces `policy` over the buckets of the store at `url`: one limit for all programs that do so with a policy of
/// the same name. `tollgate_tower::TollgateLayer` takes it as it is.
///
/// Returns at once: the store need not be there, and while it does not answer every rule does what its `on_store_failure` says. Must be called
/// within a Tokio runtime. Where rules lease ([`RedisLedger::close`]), open the ledger by [`RedisLedger::at`], keep a clone,
/// and make the limiter by [`RedisLedger::limiter`].
pub fn limiter(url: &str, policy: Policy) -> Result<PolicyLimiter, OpenError> {
    RedisLedger::at(url)?.limiter(policy).map_err(OpenError::Policy)
}

impl RedisLedger {
    /// [`RedisLedger::open`] by a URL as it is typed, and with options as they are by default.
    pub fn at(url: &str) -> Result<RedisLedger, OpenError> {
        RedisLedger::at_with(url, &LedgerOptions::default())
    }

    pub(crate) fn at_with(url: &str, options: &LedgerOptions) -> Result<RedisLedger, OpenError> {
        let url: StoreUrl = url.parse().map_err(OpenError::Url)?;
        tokio::runtime::Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        RedisLedger::open(&url, options).map_err(OpenError::Tls)
    }

    /// A limiter that enforces `policy` over these buckets. A ledger is for one policy at a time: the next one's `store` settings
    /// would be in force for all.
    pub fn limiter(&self, policy: Policy) -> Result<PolicyLimiter, PolicyError> {
        // The tables of this program stay empty.
        let tables = Limiter::builder().keys_max(1).explicit_keys_max(1);
        tables.build_with_ledger(policy, Arc::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_of_a_runtime_nothing_is_opened_and_nothing_panics() {
        assert!(matches!(RedisLedger::at("redis://localhost"), Err(OpenError::NoRuntime)));
        assert!(matches!(RedisLedger::at("http://localhost"), Err(OpenError::Url(_))));
    }
}
