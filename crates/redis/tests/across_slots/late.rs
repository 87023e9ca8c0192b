//! Replies that come after the deadline while every node is reachable: checks over several slots are decided by what the last replies
//! prove, and each admission is charged once.

use std::time::Duration;

use tollgate::ledger::{Manner, OwnedKey};
use tollgate::policy::Facts;
use tollgate::{Asking, Decision, Span, StoreMode};

use crate::asking::{all_but_still, ask, charge, is_exact, names, open, until_spent};
use crate::fleet::{ClusterFleet, FaultProxy, until};
use crate::policies::Instance;

/// `away_after` is long, so that a slow machine does not make a node unreachable.
const POLICY: &str = "{store: {deadline: 200ms, away_after: 10s, instances_max: 1}, rules: [
    {name: all, path: /both, scope: global, rate: 1/d, burst: 40},
    {name: client, scope: ip, rate: 1/d, burst: 10}]}";
/// Longer than anything takes here.
const SOON: Duration = Duration::from_secs(10);

/// A proxy before each node, by which clients reach it.
async fn proxies(fleet: &ClusterFleet) -> Vec<FaultProxy> {
    let mut proxies = Vec::new();
    for node in &fleet.nodes {
        let proxy = FaultProxy::before(node.port).await;
        node.tell(&format!("CONFIG SET cluster-announce-port {}", proxy.port)).await;
        proxies.push(proxy);
    }
    let are_announced = || async {
        for node in &fleet.nodes {
            let listed = node.ask::<String>("CLUSTER NODES").await.unwrap_or_default();
            if !proxies.iter().all(|proxy| listed.contains(&format!("127.0.0.1:{}@", proxy.port))) {
                return false;
            }
        }
        true
    };
    until("the nodes announce the proxies", SOON, are_announced).await;
    proxies
}

fn set_latency(proxies: &[FaultProxy], millis: u64) {
    for proxy in proxies {
        proxy.set_latency(Duration::from_millis(millis));
    }
}

fn facts(client: u8, path: &str) -> Facts<'_> {
    Facts { address: Some([192, 0, 2, client].into()), ..Facts::new("GET", path) }
}

async fn check(instance: &Instance, client: u8, path: &str) -> Decision {
    instance.ask(&facts(client, path), Asking::Check).await
}

/// Waits until the store says that so many whole tokens are left of the bucket of a client.
async fn until_left(instance: &Instance, client: u8, left: u64) {
    let is_left = || async {
        let seen = instance.ask(&facts(client, "/one"), Asking::Peek).await;
        let balance = instance.limiter.balances(&seen).next().unwrap().as_micros();
        let held = balance + 1_000_000 * u64::from(seen.is_admitted());
        // Some micro-tokens are minted, or kept back.
        seen.mode() == StoreMode::Exact && held.abs_diff(left * 1_000_000) < 10_000
    };
    until(&format!("{left} are left of client {client}"), SOON, is_left).await;
}

/// A look takes 130 ms, a look and a hold more than the deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_is_always_late_still_serves() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let proxies = proxies(&fleet).await;
    let instance = Instance::start(&fleet.url(), POLICY).await;
    instance.until_exact(&facts(1, "/both"), SOON).await;
    set_latency(&proxies, 130);
    let mut admitted = 0;
    for _ in 0..3 {
        let decision = check(&instance, 1, "/both").await;
        assert_eq!(decision.mode(), StoreMode::Fallback, "a reply was in time");
        admitted += u64::from(decision.is_admitted());
    }
    assert_eq!(instance.ledger.counts().local_buckets, 0, "the buckets stay the store's");
    assert_eq!(admitted, 3, "10 and 40 were left");
    set_latency(&proxies, 0);
    until_left(&instance, 1, 10 - admitted).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_check_knows_what_checks_over_slots_have_spent() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let proxies = proxies(&fleet).await;
    let instance = Instance::start(&fleet.url(), POLICY).await;
    instance.until_exact(&facts(1, "/both"), SOON).await;
    assert!(check(&instance, 1, "/one").await.is_admitted());
    for _ in 0..9 {
        let decision = check(&instance, 1, "/both").await;
        assert_eq!((decision.mode(), decision.is_admitted()), (StoreMode::Exact, true));
    }
    set_latency(&proxies, 400);
    let late = check(&instance, 1, "/one").await;
    assert_eq!((late.mode(), late.is_admitted()), (StoreMode::Fallback, false), "all 10 were spent");
}

/// Some deadlines pass while the record is written, which says that the check was admitted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_idempotent_check_over_slots_is_charged_once() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let proxies = proxies(&fleet).await;
    let ledger = open(&fleet.url(), Duration::from_millis(230)).await;
    let (names, limit) = (names(2), all_but_still(50));
    let both = || names.iter().map(|name| charge(name, limit, 1)).collect::<Vec<_>>();
    assert!(ask(&ledger, both(), Manner::Check).await.is_admitted());
    let (mut admitted, mut late) = (1, 0);
    // A look, two holds and the record are four replies, or five where the record's node has a bucket, too.
    for number in 0..8 {
        set_latency(&proxies, [52, 64][number % 2]);
        let manner = Manner::Once {
            idempotency_key: OwnedKey::new(&format!("order-{number}")[..]).unwrap(),
            lifetime: Span::from_secs(60),
        };
        let answer = ask(&ledger, both(), manner).await;
        admitted += u64::from(answer.is_admitted());
        late += u64::from(!is_exact(&answer));
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(late > 0, "all replies were in time, so this shows nothing");
    assert_eq!(admitted, 9, "50 were left");
    set_latency(&proxies, 0);
    for name in &names {
        until_spent(&ledger, name, limit, admitted).await;
    }
}
