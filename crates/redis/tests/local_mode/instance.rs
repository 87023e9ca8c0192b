//! One instance: a limiter by a policy, over a ledger.

use std::sync::Arc;
use std::time::Duration;

use tollgate::policy::{Facts, Policy};
use tollgate::{Asking, Decision, Limiter, PolicyLimiter, StoreMode};
use tollgate_core::BreakerState;
use tollgate_redis::{LedgerOptions, RedisLedger, StoreUrl};

use crate::fleet::until;

/// Longer than anything takes here.
pub(crate) const SOON: Duration = Duration::from_secs(5);

pub(crate) struct Instance {
    pub(crate) limiter: PolicyLimiter,
    pub(crate) ledger: RedisLedger,
}

impl Instance {
    pub(crate) fn begin(url: &str, policy: &str) -> Instance {
        let url: StoreUrl = url.parse().unwrap();
        let ledger = RedisLedger::open(&url, &LedgerOptions::default()).unwrap();
        let policy = Policy::parse("p.yaml", policy).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let limiter = Limiter::builder().build_with_ledger(policy, Arc::new(ledger.clone())).unwrap();
        Instance { limiter, ledger }
    }

    /// One whose limits are agreed upon for all of these paths.
    pub(crate) async fn start(url: &str, policy: &str, paths: &[&str]) -> Instance {
        let instance = Instance::begin(url, policy);
        for path in paths {
            instance.is_exact(path).await;
        }
        instance
    }

    /// Another policy is in force here from now on.
    pub(crate) fn swap(&self, policy: &str) {
        self.limiter.swap(Policy::parse("p.yaml", policy).unwrap()).unwrap();
    }

    /// Until the store decides there.
    pub(crate) async fn is_exact(&self, path: &str) {
        let exact = || async { self.peek(path).await.mode() == StoreMode::Exact };
        until("the store decides", SOON, exact).await;
    }

    /// Until the store counts as unreachable there: from then on shares decide.
    pub(crate) async fn is_cut_off(&self, path: &str) {
        let cut_off = || async {
            let _ = self.peek(path).await;
            self.ledger.counts().breaker != BreakerState::Closed
        };
        until("the store is unreachable", SOON, cut_off).await;
    }

    pub(crate) async fn check(&self, path: &str) -> Decision {
        self.limiter.policy().decide(&facts(path), Asking::Check).await
    }

    pub(crate) async fn peek(&self, path: &str) -> Decision {
        self.limiter.policy().decide(&facts(path), Asking::Peek).await
    }

    /// How many of so many checks, one after the other, are admitted.
    pub(crate) async fn admitted(&self, path: &str, checks: usize) -> usize {
        let mut admitted = 0;
        for _ in 0..checks {
            admitted += usize::from(self.check(path).await.is_admitted());
        }
        admitted
    }

    /// Of so many checks at the same time.
    pub(crate) async fn admitted_at_once(&self, path: &str, checks: usize) -> usize {
        let asking = (0..checks).map(|_| {
            let path = path.to_owned();
            let asked = self.limiter.policy().decide(&facts(&path), Asking::Check);
            tokio::spawn(async move { asked.await.is_admitted() })
        });
        let asking: Vec<_> = asking.collect();
        let mut admitted = 0;
        for asked in asking {
            admitted += usize::from(asked.await.unwrap());
        }
        admitted
    }

    /// Whole tokens that are left there.
    pub(crate) async fn left(&self, path: &str) -> u64 {
        self.left_micros(path).await / 1_000_000
    }

    /// Micro-tokens that are left there: those that a check would leave, and its own.
    pub(crate) async fn left_micros(&self, path: &str) -> u64 {
        let peek = self.peek(path).await;
        let left = self.limiter.balances(&peek).next().unwrap();
        left.as_micros() + 1_000_000 * u64::from(peek.is_admitted())
    }
}

/// A request of one client.
pub(crate) fn facts(path: &str) -> Facts<'_> {
    Facts { address: Some([192, 0, 2, 1].into()), ..Facts::new("GET", path) }
}
