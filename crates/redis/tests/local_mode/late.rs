//! Replies that come after the deadline while the store is reachable: checks are decided by what the last reply proves, and the store is
//! corrected when the reply comes.

use std::time::Duration;

use tollgate::StoreMode;
use tollgate_core::BreakerState;

use crate::fleet::{FaultProxy, RedisServer, until};
use crate::instance::{Instance, SOON};

/// `away_after` is long, so that a slow machine does not make the store unreachable.
const POLICY: &str = "{store: {deadline: 50ms, away_after: 10s, instances_max: 2}, rules: [
    {name: client, scope: ip, path: /client, rate: 1/d, burst: 10},
    {name: window, scope: ip, path: /window, algorithm: fixed_window, quota: 10, window: month},
    {name: queue, scope: ip, path: /queue, algorithm: leaky_bucket, rate: 1/d, queue: 10, max_wait: 3d},
    {name: closed, scope: ip, path: /closed, rate: 1/d, burst: 10, on_store_failure: closed},
    {name: open, scope: ip, path: /open, rate: 1/d, burst: 10, on_store_failure: open}]}";

const PATHS: [&str; 5] = ["/client", "/window", "/queue", "/closed", "/open"];

/// Micro-tokens that 1/d mints within [`SOON`], rounded up.
const MINTED: u64 = 58;

/// An instance behind a proxy that has heard of `checks` checks of a path in time.
async fn instance(server: &RedisServer, path: &str, checks: usize) -> (Instance, FaultProxy) {
    let proxy = FaultProxy::before(server.port).await;
    let instance = Instance::start(&proxy.url(), POLICY, &PATHS).await;
    assert_eq!(instance.admitted(path, checks).await, checks);
    (instance, proxy)
}

/// Asks `checks` times at once while replies are 200 ms late; how many are admitted. Returns when all replies have come.
async fn admitted_late(instance: &Instance, proxy: &FaultProxy, path: &str, checks: usize) -> usize {
    // Checks that were denied before they were sent are withdrawn, and have no reply.
    let over = || instance.ledger.counts().late + instance.ledger.counts().coalescer.unsent;
    let before = over();
    proxy.set_latency(Duration::from_millis(200));
    let admitted = instance.admitted_at_once(path, checks).await;
    let are_late = || async { over() >= before + checks as u64 };
    until("the replies have come", SOON, are_late).await;
    let counts = instance.ledger.counts();
    assert_eq!(
        (counts.local_buckets, counts.breaker),
        (0, BreakerState::Closed),
        "the bucket stays the store's"
    );
    proxy.set_latency(Duration::ZERO);
    instance.is_exact(path).await;
    admitted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_check_is_admitted_by_proof_and_charged_once() {
    needs_redis!();
    for path in ["/client", "/window", "/open"] {
        let server = RedisServer::start("").await;
        let (instance, proxy) = instance(&server, path, 1).await;
        assert_eq!(admitted_late(&instance, &proxy, path, 3).await, 3, "{path}: 9 were left");
        let fresh = Instance::start(&server.url(), POLICY, &PATHS).await;
        let six = || async { fresh.left(path).await == 6 };
        until(&format!("each of {path} was charged once"), SOON, six).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_proven_of_an_unknown_bucket() {
    needs_redis!();
    for path in ["/client", "/window", "/closed"] {
        let server = RedisServer::start("").await;
        let (instance, proxy) = instance(&server, path, 0).await;
        assert_eq!(admitted_late(&instance, &proxy, path, 8).await, 0, "{path}");
        let fresh = Instance::start(&server.url(), POLICY, &PATHS).await;
        // Of each charge that is given back, what was minted meanwhile is kept back.
        let full = 10_000_000 - 8 * MINTED..=10_000_000;
        let is_full = || async { full.contains(&fresh.left_micros(path).await) };
        until(&format!("what the store has charged of {path} is given back"), SOON, is_full).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proof_admits_no_more_than_the_last_balance() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let (instance, proxy) = instance(&server, "/client", 7).await;
    let admitted = admitted_late(&instance, &proxy, "/client", 20).await;
    assert!((1..=3).contains(&admitted), "{admitted} of the 3 that were left");
}

/// The queue lets clients in while 7 of 10 are free, so that none waits longer than 3 days.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_checks_wait_no_longer_than_a_queue_allows() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let (instance, proxy) = instance(&server, "/queue", 1).await;
    let admitted = admitted_late(&instance, &proxy, "/queue", 8).await;
    assert!((1..=3).contains(&admitted), "{admitted} of the 3 that the store would admit");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admission_that_the_store_denied_is_charged() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let (instance, proxy) = instance(&server, "/client", 1).await;
    let other = Instance::start(&server.url(), POLICY, &PATHS).await;
    assert_eq!(other.admitted("/client", 20).await, 9);
    assert_eq!(admitted_late(&instance, &proxy, "/client", 1).await, 1, "9 were left, as far as it knows");
    let is_charged = || async { instance.ledger.counts().late_charges == 1 };
    until("it is charged afterwards", SOON, is_charged).await;
    let fresh = Instance::start(&server.url(), POLICY, &PATHS).await;
    let denied = fresh.check("/client").await;
    assert_eq!(denied.mode(), StoreMode::Exact);
    let wait = denied.retry_after().unwrap();
    assert!(wait > Duration::from_secs(100_000), "one is owed and one is wanted, at one a day: {wait:?}");
}

/// Two of three instances admit 7 each that the store denies: more than a burst of debt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_admission_that_the_store_denied_is_owed() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let policy = POLICY.replace("instances_max: 2", "instances_max: 3");
    let mut instances = Vec::new();
    for _ in 0..3 {
        let proxy = FaultProxy::before(server.port).await;
        let instance = Instance::start(&proxy.url(), &policy, &PATHS).await;
        assert_eq!(instance.admitted("/client", 1).await, 1);
        instances.push((instance, proxy));
    }
    for (instance, proxy) in &instances {
        proxy.set_latency(Duration::from_millis(200));
        assert_eq!(
            instance.admitted_at_once("/client", 7).await,
            7,
            "at least 7 were left, as far as it knows"
        );
        proxy.set_latency(Duration::ZERO);
    }
    let fresh = Instance::start(&server.url(), &policy, &PATHS).await;
    // 24 were admitted, 10 were there, and one is wanted.
    let owed = Duration::from_hours(24 * 14);
    let is_owed = || async { fresh.check("/client").await.retry_after().is_some_and(|wait| wait > owed) };
    until("all 14 are owed", SOON, is_owed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_rule_refuses_late_checks_in_fallback() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let (instance, proxy) = instance(&server, "/closed", 1).await;
    proxy.set_latency(Duration::from_millis(200));
    let refused = instance.check("/closed").await;
    assert!(refused.refused().is_some());
    let told = instance.limiter.answer(&refused, |answering| answering.render());
    let (_, body) = told.body.unwrap();
    assert!(told.status == 503 && body.contains("\"mode\":\"fallback\""), "{body}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_fallback_the_limit_is_a_share() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let (instance, proxy) = instance(&server, "/client", 1).await;
    let quota = |decision: &tollgate::Decision| instance.limiter.standings(decision).next().unwrap().quota();
    assert_eq!(quota(&instance.check("/client").await), 10);
    proxy.set_latency(Duration::from_millis(200));
    let late = instance.check("/client").await;
    assert_eq!((late.mode(), late.is_admitted()), (StoreMode::Fallback, true));
    assert_eq!(quota(&late), 5, "this instance's share of 10");
    assert_eq!(instance.limiter.rule_stats(0).fallbacks, 1);
}

/// The bucket went back into the store with what was spent by this instance's share.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn balance_before_an_outage_proves_nothing_after_it() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let policy = POLICY.replace("away_after: 10s, instances_max: 2", "away_after: 1s, instances_max: 1");
    let instance = Instance::start(&proxy.url(), &policy, &PATHS).await;
    assert_eq!(instance.admitted("/client", 1).await, 1);
    proxy.cut(true);
    instance.is_cut_off("/client").await;
    assert_eq!(instance.admitted("/client", 20).await, 9);
    proxy.cut(false);
    proxy.hang_up();
    let is_back = || async { instance.ledger.counts().local_buckets == 0 };
    until("the bucket is back", SOON, is_back).await;
    proxy.set_latency(Duration::from_millis(200));
    assert_eq!(instance.admitted_at_once("/client", 5).await, 0, "all 10 were spent");
}
