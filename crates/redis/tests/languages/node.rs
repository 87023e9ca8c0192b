//! A node in Rust: a limiter over the shared ledger, as services have it.

use std::sync::Arc;
use std::time::Duration;

use tollgate::ledger::{Answer, Bucket, BucketLimit, Ledger, LedgerCharge, Manner, OwnedKey, Question};
use tollgate::policy::{Facts, Policy};
use tollgate::{Asking, Cost, Decision, Limit, Limiter, PolicyLimiter, StoreMode};
use tollgate_redis::{LedgerOptions, RedisLedger};

use crate::fleet::until;

/// One node.
pub(crate) struct Node {
    limiter: PolicyLimiter,
    ledger: RedisLedger,
}

impl Node {
    /// One that has declared its limits.
    pub(crate) async fn start(url: &str, policy: &str) -> Node {
        let ledger = RedisLedger::open(&url.parse().unwrap(), &LedgerOptions::default()).unwrap();
        let policy = Policy::parse("p.yaml", policy).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let limiter = Limiter::builder().build_with_ledger(policy, Arc::new(ledger.clone())).unwrap();
        let node = Node { limiter, ledger };
        let is_agreed = || async { node.ask("nobody", Asking::Peek).await.mode() == StoreMode::Exact };
        until("limits are agreed upon", Duration::from_secs(10), is_agreed).await;
        node
    }

    /// A request of a user.
    pub(crate) async fn check(&self, user: &str) -> Decision {
        self.ask(user, Asking::Check).await
    }

    /// What a request of a user would be told by the store.
    pub(crate) async fn peek(&self, user: &str) -> Decision {
        self.ask(user, Asking::Peek).await
    }

    async fn ask(&self, user: &str, asking: Asking<'_>) -> Decision {
        let address = Some([192, 0, 2, 7].into());
        self.ask_of(&Facts { user: Some(user), address, ..Facts::new("GET", "/") }, asking).await
    }

    pub(crate) async fn ask_of(&self, facts: &Facts<'_>, asking: Asking<'_>) -> Decision {
        self.limiter.policy().decide(facts, asking).await
    }

    /// One token of a bucket whose limit comes with the call.
    pub(crate) async fn ask_explicitly(&self, key: &str, limit: Limit, manner: Manner) -> Answer {
        let bucket = Bucket { limit: BucketLimit::Explicit(limit), key: OwnedKey::new(key).unwrap() };
        let charges = vec![LedgerCharge { bucket, cost: Cost::ONE }];
        self.ledger.decide(Question { charges, manner, watched: None }).await
    }
}
