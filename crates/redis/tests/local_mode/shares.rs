//! Every algorithm is kept by a share while the store is away, and what was spent is charged when it is back.

use std::time::Duration;

use tollgate::ledger::TrueCosts;
use tollgate::{Span, StoreMode};

use crate::fleet::{FaultProxy, RedisServer, until};
use crate::instance::{Instance, SOON, facts};

/// Every limit but that of places: 10 at once, and nothing more for an hour.
const POLICY: &str = "{store: {deadline: 50ms, instances_max: 2}, rules: [
    {name: tokens, scope: ip, path: /tokens, rate: 1/d, burst: 10},
    {name: log, scope: ip, path: /log, algorithm: sliding_window, quota: 10, window: 1d},
    {name: counter, scope: ip, path: /counter, algorithm: sliding_window, variant: counter, quota: 10, window: 1d},
    {name: window, scope: ip, path: /window, algorithm: fixed_window, quota: 10, window: month},
    {name: queue, scope: ip, path: /queue, algorithm: leaky_bucket, rate: 1/d, queue: 10},
    {name: one, scope: ip, path: /one, algorithm: concurrency, places: 1, timeout: 1h},
    {name: jobs, scope: ip, path: /jobs, algorithm: concurrency, places: 5, timeout: 1h}]}";

const COUNTED: [&str; 5] = ["/tokens", "/log", "/counter", "/window", "/queue"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_algorithm_is_kept_by_a_share_and_what_was_spent_is_charged_at_the_return() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let instance = Instance::start(&proxy.url(), POLICY, &COUNTED).await;
    for path in COUNTED {
        assert_eq!(instance.admitted(path, 3).await, 3);
    }
    proxy.cut(true);
    instance.is_cut_off("/tokens").await;
    for path in COUNTED {
        // Of a token bucket the share is of what was left: 7.
        let share = if path == "/tokens" { 3 } else { 5 };
        assert_eq!(instance.admitted(path, 20).await, share, "half, by its share: {path}");
        let denied = instance.check(path).await;
        assert_eq!(denied.mode(), StoreMode::Fallback, "{path}");
        assert!(denied.retry_after().unwrap() > Duration::ZERO, "{path}");
    }
    assert_eq!(instance.admitted("/one", 3).await, 0, "a share too small to be a limit admits nobody");
    proxy.cut(false);
    proxy.hang_up();
    for path in COUNTED {
        instance.is_exact(path).await;
    }
    assert_eq!(instance.ledger.counts().local_buckets, 0);
    for path in COUNTED {
        let left = if path == "/tokens" { 4 } else { 2 };
        assert_eq!(instance.left(path).await, left, "10 less 3 before and 5, or 3, meanwhile: {path}");
        assert_eq!(instance.admitted(path, 9).await, usize::try_from(left).unwrap(), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_taken_here_are_given_back_here_and_the_share_is_never_exceeded() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), POLICY, &["/jobs"]).await;
    server.kill();
    instance.is_cut_off("/jobs").await;
    let (one, other) = (instance.check("/jobs").await, instance.check("/jobs").await);
    assert!(one.is_admitted() && other.is_admitted());
    assert!(!instance.check("/jobs").await.is_admitted(), "two of five places are this node's");
    drop(one);
    let free = || async { instance.check("/jobs").await.is_admitted() };
    until("the place is free again", SOON, free).await;
    drop(other);
    // Whoever held them has gone; in the store they never were.
    server.launch();
    server.wait().await;
    instance.is_exact("/jobs").await;
    let mut held = Vec::new();
    for _ in 0..9 {
        held.push(instance.check("/jobs").await);
    }
    assert_eq!(held.iter().filter(|held| held.is_admitted()).count(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_reserved_by_a_share_is_settled_by_this_node_while_the_store_is_away_and_after_it_is_back() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let instance = Instance::start(&proxy.url(), POLICY, &["/tokens", "/log"]).await;
    proxy.cut(true);
    proxy.hang_up();
    instance.is_cut_off("/tokens").await;
    for path in ["/tokens", "/log"] {
        let mut reserved = Vec::new();
        for _ in 0..5 {
            let asked = instance.limiter.policy().decide_and_reserve(&facts(path), Span::from_secs(60)).await;
            reserved.push(asked.unwrap().1.unwrap());
        }
        assert_eq!(instance.admitted(path, 3).await, 0, "{path}");
        instance.limiter.settle_reservation(reserved[0], TrueCosts::Nothing).await.unwrap();
        let again = instance.limiter.settle_reservation(reserved[0], TrueCosts::Nothing).await;
        assert!(again.is_err(), "once");
        assert_eq!(instance.admitted(path, 3).await, 1, "{path}: one was given back");
        if path == "/tokens" {
            proxy.cut(false);
            proxy.hang_up();
            instance.is_exact(path).await;
            instance.limiter.settle_reservation(reserved[1], TrueCosts::Nothing).await.unwrap();
            let six = || async { instance.left(path).await == 6 };
            until("it was given back in the store", SOON, six).await;
            proxy.cut(true);
            proxy.hang_up();
            instance.is_cut_off(path).await;
        }
    }
}
