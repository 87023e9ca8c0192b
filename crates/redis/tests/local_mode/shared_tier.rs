//! Checks over several buckets on the way back, where clients share one of them.

use std::time::Duration;

use tollgate::policy::Facts;
use tollgate::{Asking, Clock, Decision, Span, StoreMode};

use crate::fleet::{FaultProxy, RedisServer, until};
use crate::instance::{Instance, SOON};

const CLIENTS: u8 = 4;
/// Clients share a bucket, and each has one of its own.
const TIERS: &str = "{store: {deadline: 500ms, instances_max: 2}, rules: [\
                     {name: client, scope: ip, rate: 1/d, burst: 1000}, \
                     {name: all, scope: global, rate: 1/d, burst: 10000}]}";

async fn ask(instance: &Instance, client: u8, asking: Asking<'_>) -> Decision {
    let facts = Facts { address: Some([192, 0, 2, client].into()), ..Facts::new("GET", "/") };
    instance.limiter.policy().decide(&facts, asking).await
}

/// What a client has left, in whole tokens: of its own bucket, and of that of all.
async fn left(instance: &Instance, client: u8) -> Vec<u64> {
    let peek = ask(instance, client, Asking::Peek).await;
    // A check would leave one less.
    instance.limiter.balances(&peek).map(|left| left.as_micros() / 1_000_000 + 1).collect()
}

/// Whoever was asked while another's bucket settled must not begin anew by its share, nor bring what all share along: they would keep each
/// other from the store for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_who_share_a_bucket_do_not_keep_each_other_from_the_store() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let instance = Instance::start(&proxy.url(), TIERS, &["/"]).await;
    proxy.cut(true);
    let mut admitted = [0; CLIENTS as usize];
    assert!(ask(&instance, 0, Asking::Check).await.is_admitted(), "by its share");
    admitted[0] += 1;
    proxy.cut(false);
    proxy.hang_up();
    // One client after the other, each while the bucket of those before it settles.
    let clock = Clock::system();
    let begun = clock.now();
    let mut without_store = None;
    while clock.now().since(begun) < Span::from_secs(3) {
        for client in 0..CLIENTS {
            let decision = ask(&instance, client, Asking::Check).await;
            assert!(decision.is_admitted());
            admitted[usize::from(client)] += 1;
            if decision.mode() == StoreMode::Fallback {
                without_store = Some(clock.now().since(begun));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let last = without_store.expect("its bucket settles first");
    assert!(last < Span::from_secs(2), "{last:?} after the return somebody was decided without the store");
    // Each check is charged once, wherever it was decided.
    let fresh = Instance::start(&server.url(), TIERS, &["/"]).await;
    let all: u64 = admitted.iter().sum();
    for client in 0..CLIENTS {
        let expected = vec![1_000 - admitted[usize::from(client)], 10_000 - all];
        let is_charged = || async { left(&fresh, client).await == expected };
        until(&format!("client {client} has {expected:?} left"), SOON, is_charged).await;
    }
}

/// All or nothing, also where one bucket is kept here and the other in the store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_store_denies_is_not_charged_to_the_bucket_that_is_kept_here() {
    needs_redis!();
    let policy = TIERS.replace("burst: 1000}", "burst: 4}");
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let instance = Instance::start(&proxy.url(), &policy, &["/"]).await;
    for _ in 0..4 {
        assert!(ask(&instance, 1, Asking::Check).await.is_admitted());
    }
    proxy.cut(true);
    assert!(ask(&instance, 0, Asking::Check).await.is_admitted(), "by its share");
    proxy.cut(false);
    proxy.hang_up();
    // Client 1 has spent what it has, as the store knows; what all share is kept here until it has settled.
    let (mut admitted, mut denied) = (5, 0);
    for _ in 0..200 {
        let decision = ask(&instance, 1, Asking::Check).await;
        admitted += u64::from(decision.is_admitted());
        denied += u64::from(!decision.is_admitted() && decision.mode() == StoreMode::Fallback);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(denied > 0, "nobody was denied while one bucket was kept here, so this shows nothing");
    let fresh = Instance::start(&server.url(), &policy, &["/"]).await;
    let is_charged = || async { left(&fresh, 0).await == [3, 10_000 - admitted] };
    until(&format!("{admitted} checks were charged, and none of {denied}"), SOON, is_charged).await;
}
