//! Instances with a policy over one cluster.

use std::sync::Arc;
use std::time::Duration;

use tollgate::policy::{Facts, Policy};
use tollgate::{Asking, Decision, Limiter, PolicyLimiter, StoreMode};
use tollgate_redis::{LedgerOptions, RedisLedger};

use crate::fleet::until;

/// One instance.
pub(crate) struct Instance {
    pub(crate) limiter: PolicyLimiter,
    pub(crate) ledger: RedisLedger,
}

impl Instance {
    /// One that has agreed with the others on its limits.
    pub(crate) async fn start(url: &str, policy: &str) -> Instance {
        let ledger = RedisLedger::open(&url.parse().unwrap(), &LedgerOptions::default()).unwrap();
        let limiter = Limiter::builder().build_with_ledger(parsed(policy), Arc::new(ledger.clone())).unwrap();
        let instance = Instance { limiter, ledger };
        instance.until_exact(&facts(0), Duration::from_secs(10)).await;
        instance
    }

    pub(crate) async fn ask(&self, facts: &Facts<'_>, asking: Asking<'_>) -> Decision {
        self.limiter.policy().decide(facts, asking).await
    }

    pub(crate) async fn check(&self, client: u8) -> Decision {
        self.ask(&facts(client), Asking::Check).await
    }

    /// Until the store decides about this request.
    pub(crate) async fn until_exact(&self, facts: &Facts<'_>, within: Duration) {
        let is_exact = || async {
            let seen = self.ask(facts, Asking::Peek).await;
            seen.refused().is_none() && seen.mode() == StoreMode::Exact
        };
        until("the store decides", within, is_exact).await;
    }
}

pub(crate) fn parsed(policy: &str) -> Policy {
    Policy::parse("p.yaml", policy).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

pub(crate) fn facts(client: u8) -> Facts<'static> {
    Facts { address: Some([192, 0, 2, client].into()), ..Facts::new("GET", "/") }
}
