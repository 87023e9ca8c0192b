//! O2 over one Redis: buckets by the names of their rules and keys are looked at, filled and given tokens for all who share them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate::policy::{Facts, Policy, RuleBook};
use tollgate::{BucketError, Clock, Cost, Decision, NamedBuckets, PolicyLimiter, Span, StoreMode};
use tollgate_core::BreakerState;
use tollgate_redis::RedisLedger;

use crate::fleet::{FaultProxy, RedisServer, until};

const SECOND: Duration = Duration::from_secs(1);

/// Five of everything.
const FIVE: [(&str, &str); 6] = [
    ("token_bucket", "rate: 1/m, burst: 5"),
    ("leaky_bucket", "algorithm: leaky_bucket, rate: 1/m, queue: 5"),
    ("fixed_window", "algorithm: fixed_window, quota: 5, window: 1d"),
    ("sliding_window log", "algorithm: sliding_window, quota: 5, window: 1h"),
    ("sliding_window counter", "algorithm: sliding_window, quota: 5, window: 1h, variant: counter"),
    ("concurrency", "algorithm: concurrency, places: 5, timeout: 1h"),
];

fn policy(limit: &str) -> Policy {
    let text = format!(
        "{{store: {{deadline: 1s, instances_max: 2}}, rules: [{{name: client, scope: ip, {limit}}}]}}"
    );
    Policy::parse("p.yaml", &text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn facts() -> Facts<'static> {
    Facts { address: Some([192, 0, 2, 1].into()), ..Facts::new("GET", "/") }
}

/// One program, and the buckets of one of its clients.
struct Program {
    limiter: PolicyLimiter,
    ledger: RedisLedger,
    buckets: NamedBuckets,
}

impl Program {
    async fn start(server: &RedisServer, limit: &str) -> Program {
        Program::start_at(&server.url(), limit).await
    }

    async fn start_at(url: &str, limit: &str) -> Program {
        let ledger = RedisLedger::at(url).unwrap();
        let limiter = ledger.limiter(policy(limit)).unwrap();
        assert!(ledger.agreed(5 * SECOND).await);
        let mut key = Vec::new();
        RuleBook::new(policy(limit)).rule_on(&facts(), 0, |hit| key = hit.key.to_vec());
        let buckets = limiter.buckets("client", &key).unwrap();
        let program = Program { limiter, ledger, buckets };
        let is_exact = || async { program.looked().await == Some(StoreMode::Exact) };
        until("the store decides", 5 * SECOND, is_exact).await;
        program
    }

    async fn looked(&self) -> Option<StoreMode> {
        self.buckets.look(Cost::ONE).await.ok().map(|look| look.mode)
    }

    /// Until the store counts as unreachable: from then on the share decides.
    async fn is_cut_off(&self) {
        let cut_off = || async {
            let _ = self.looked().await;
            self.ledger.counts().breaker != BreakerState::Closed
        };
        until("the store is unreachable", 10 * SECOND, cut_off).await;
    }

    /// Those of so many checks that are admitted.
    async fn admitted(&self, checks: usize) -> Vec<Decision> {
        let mut admitted = Vec::new();
        for _ in 0..checks {
            admitted.extend(Some(self.limiter.decide(&facts()).await).filter(Decision::is_admitted));
        }
        admitted
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_is_seen_filled_and_given_tokens_under_every_algorithm_by_any_program() {
    needs_redis!();
    let server = RedisServer::start("").await;
    for (name, limit) in FIVE {
        server.tell("FLUSHALL").await;
        let (one, other) = (Program::start(&server, limit).await, Program::start(&server, limit).await);
        let fresh = other.buckets.look(Cost::ONE).await.unwrap();
        assert_eq!((fresh.limit.name(), fresh.balance, fresh.exists()), (name, fresh.limit.full(), false));
        assert_eq!((fresh.next_admit, fresh.full_in), (Some(Span::ZERO), Span::ZERO), "{name}");
        assert_eq!(other.buckets.look(Cost::tokens(6)).await.unwrap().next_admit, None, "{name}");

        let held = one.admitted(7).await;
        assert_eq!(held.len(), 5, "{name}");
        let spent = other.buckets.look(Cost::ONE).await.unwrap();
        assert!(spent.exists() && spent.balance.whole() == 0, "{name}: {spent:?}");
        let next = spent.next_admit.unwrap();
        assert!(next > Span::ZERO && next <= spent.full_in, "{name}: {spent:?}");
        let denied = other.limiter.decide(&facts()).await.retry_after().unwrap();
        let apart = Duration::from(next).abs_diff(denied);
        assert!(apart < SECOND, "{name}: {next} and {denied:?}");

        // Both have been denied, and remember it.
        let granted = other.buckets.grant(Cost::tokens(2)).await;
        if let "leaky_bucket" | "concurrency" = name {
            assert_eq!(granted, Err(BucketError::CannotGrant { algorithm: name }));
        } else {
            assert_eq!(granted.unwrap().balance.whole(), 2, "{name}");
            assert_eq!(other.admitted(5).await.len(), 2, "{name}: at once where it was granted");
        }
        assert_eq!(other.buckets.reset().await.unwrap().balance.whole(), 5, "{name}");
        let filled = one.buckets.look(Cost::ONE).await.unwrap();
        assert_eq!((filled.balance.whole(), filled.next_admit), (5, Some(Span::ZERO)), "{name}");
        // S5: elsewhere within a second.
        let noticed = || async { one.admitted(1).await.len() == 1 };
        until("the other has noticed", SECOND + SECOND / 4, noticed).await;
        drop(held);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_this_program_leases_is_seen_and_given_back_before_the_bucket_is_filled() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let limit = "rate: 1000/s, burst: 100000, consistency: leased";
    let (one, clock) = (Program::start(&server, limit).await, Clock::system());
    let begun = clock.now();
    assert_eq!(one.admitted(3_000).await.len(), 3_000);
    let spent = AtomicU64::new(3_000);
    let is_all_seen = || async {
        let left = 100_000 - spent.fetch_add(20, Ordering::Relaxed) - 20;
        assert_eq!(one.admitted(20).await.len(), 20);
        let look = one.buckets.look(Cost::tokens(100_000)).await.unwrap();
        let minted = clock.now().since(begun).as_nanos() / 1_000_000 + 1;
        assert!(look.balance.whole() <= left + minted && look.exists(), "{left} and {minted}: {look:?}");
        // Not while more is on its way from the store.
        look.mode == StoreMode::Leased
            && look.balance.whole() >= left
            && look.next_admit == Some(look.full_in)
    };
    until("the slice is seen, too", 5 * SECOND, is_all_seen).await;
    assert_eq!(one.buckets.reset().await.unwrap().balance.whole(), 100_000, "nothing is out");
    let look = one.buckets.look(Cost::ONE).await.unwrap();
    assert_eq!((look.balance.whole(), look.mode, look.exists()), (100_000, StoreMode::Exact, false));
    one.ledger.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_gone_is_said_and_this_programs_share_is_seen() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let one = Program::start(&server, "rate: 1/h, burst: 8").await;
    server.kill();
    assert!(matches!(one.buckets.reset().await, Err(BucketError::Down(_))));
    assert!(matches!(one.buckets.grant(Cost::ONE).await, Err(BucketError::Down(_))));
    one.is_cut_off().await;
    assert_eq!(one.admitted(9).await.len(), 4, "half of eight");
    let look = one.buckets.look(Cost::ONE).await.unwrap();
    assert_eq!((look.mode, look.balance.whole()), (StoreMode::Fallback, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_forgives_what_was_spent_by_this_programs_share_in_an_outage() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let one = Program::start_at(&proxy.url(), "rate: 1/h, burst: 8").await;
    proxy.cut(true);
    proxy.hang_up();
    one.is_cut_off().await;
    assert_eq!(one.admitted(9).await.len(), 4, "half of eight");
    proxy.cut(false);
    proxy.hang_up();
    // It may be back in the store by then, or not.
    let is_reset = || async { one.buckets.reset().await.is_ok() };
    until("the store is back", 5 * SECOND, is_reset).await;
    let is_full = || async {
        let look = one.buckets.look(Cost::ONE).await.unwrap();
        look.mode == StoreMode::Exact && look.balance.whole() == 8
    };
    until("nothing is charged for it", 5 * SECOND, is_full).await;
    assert_eq!(one.admitted(9).await.len(), 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_only_watching_rules_meet_charges_them_in_the_store() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let one = Program::start(&server, "rate: 1/h, burst: 5, mode: shadow").await;
    assert!(one.buckets.enforced().is_none());
    assert_eq!(one.admitted(7).await.len(), 7);
    let is_charged = || async { one.buckets.look(Cost::ONE).await.unwrap().balance.whole() == 0 };
    until("they are charged", 5 * SECOND, is_charged).await;
    let is_counted = || async { one.limiter.rule_stats(0).shadow_denied == 2 };
    until("they are counted", 5 * SECOND, is_counted).await;
    assert_eq!(one.buckets.reset().await.unwrap().balance.whole(), 5);
}
