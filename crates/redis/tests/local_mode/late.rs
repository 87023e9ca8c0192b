//! Answers that come after their deadline, when this node has decided by its share.

use std::time::Duration;

use crate::fleet::{FaultProxy, RedisServer, until};
use crate::instance::{Instance, SOON};

fn policy(instances: u32) -> String {
    format!(
        "{{store: {{deadline: 50ms, instances_max: {instances}}}, rules: [
         {{name: client, scope: ip, path: /client, rate: 1/d, burst: 10}},
         {{name: window, scope: ip, path: /window, algorithm: fixed_window, quota: 10, window: month}},
         {{name: closed, scope: ip, path: /closed, rate: 1/d, burst: 10, on_store_failure: closed}},
         {{name: open, scope: ip, path: /open, rate: 1/d, burst: 10, on_store_failure: open}}]}}"
    )
}

const PATHS: [&str; 4] = ["/client", "/window", "/closed", "/open"];

/// Micro-tokens that 1/d mints within [`SOON`], rounded up.
const MINTED: u64 = 58;

/// An instance behind a proxy, whose store answers 200 ms late while `checks` ask at once. How many are admitted, and the proxy, through
/// which what is to be given back still goes.
async fn late(server: &RedisServer, instances: u32, path: &str, checks: usize) -> (usize, FaultProxy) {
    let proxy = FaultProxy::before(server.port).await;
    let instance = Instance::start(&proxy.url(), &policy(instances), &PATHS).await;
    proxy.set_latency(Duration::from_millis(200));
    let admitted = instance.admitted_at_once(path, checks).await;
    // One answer for each question, since all were sent.
    let is_late = || async { instance.ledger.counts().late >= checks as u64 };
    until("the answers have come", SOON, is_late).await;
    proxy.set_latency(Duration::ZERO);
    instance.is_exact(path).await;
    (admitted, proxy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_this_node_admitted_and_the_store_charged_late_is_charged_once() {
    needs_redis!();
    for path in ["/client", "/window", "/open"] {
        let server = RedisServer::start("").await;
        let (admitted, _proxy) = late(&server, 1, path, 3).await;
        assert_eq!(admitted, 3);
        let fresh = Instance::start(&server.url(), &policy(1), &PATHS).await;
        let seven = || async { fresh.left(path).await == 7 };
        until(&format!("each of {path} was charged once"), SOON, seven).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_this_node_denied_and_the_store_charged_late_is_given_back() {
    needs_redis!();
    for (path, expected) in [("/client", 5), ("/window", 5), ("/closed", 0)] {
        let server = RedisServer::start("").await;
        let (admitted, _proxy) = late(&server, 2, path, 8).await;
        assert_eq!(admitted, expected, "{path}: its share, or nobody");
        let fresh = Instance::start(&server.url(), &policy(2), &PATHS).await;
        let left = 1_000_000 * (10 - u64::try_from(expected).unwrap());
        // Of each charge that is given back, what was minted meanwhile is kept back.
        let as_told = left - 8 * MINTED..=left + MINTED;
        let as_decided = || async { as_told.contains(&fresh.left_micros(path).await) };
        until(&format!("of {path} only what was admitted is charged"), SOON, as_decided).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_answer_corrects_what_this_node_believes_of_the_bucket() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let other = Instance::start(&server.url(), &policy(2), &PATHS).await;
    assert_eq!(other.admitted("/client", 9).await, 9);
    let proxy = FaultProxy::before(server.port).await;
    let instance = Instance::start(&proxy.url(), &policy(2), &PATHS[1..]).await;
    proxy.set_latency(Duration::from_millis(200));
    assert!(instance.check("/client").await.is_admitted(), "by a whole share, as far as it knows");
    let is_late = || async { instance.ledger.counts().late >= 1 };
    until("the answer has come", SOON, is_late).await;
    assert_eq!(instance.admitted("/client", 9).await, 0, "half of the one that was left was spent");
}
