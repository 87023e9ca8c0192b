//! A hash tag puts all keys of a policy into one slot; without one, buckets spread, and limits that come with the call work all the same.

use std::time::Duration;

use tollgate::ledger::Manner;

use crate::asking::{all_but_still, ask, charge, exact, names, open};
use crate::fleet::{ClusterFleet, RedisServer};
use crate::policies::{Instance, facts, parsed};

fn policy(tag: &str) -> String {
    format!(
        "{{store: {{deadline: 1s{tag}}}, rules: [{{name: all, scope: global, rate: 1/365d, burst: 40}}, \
         {{name: client, scope: ip, rate: 1/365d, burst: 5}}]}}"
    )
}

async fn keys(fleet: &ClusterFleet) -> Vec<Vec<Vec<u8>>> {
    let mut keys = Vec::new();
    for node in &fleet.nodes {
        keys.push(node.ask("KEYS *").await.unwrap());
    }
    keys
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_hash_tag_all_keys_are_in_one_slot_and_a_check_is_one_round_trip() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let instance = Instance::start(&fleet.url(), &policy(", hash_tag: 'shop:eu-1'")).await;
    assert!(instance.check(1).await.is_admitted());
    let before = instance.ledger.counts().coalescer.batches;
    for client in 1..=8 {
        assert!(instance.check(client).await.is_admitted());
    }
    assert_eq!(instance.ledger.counts().coalescer.batches - before, 8);
    let keys = keys(&fleet).await;
    assert_eq!(keys.iter().filter(|keys| !keys.is_empty()).count(), 1, "{keys:?}");
    assert!(keys.iter().flatten().all(|key| key.starts_with(b"tg:{shop:eu-1}")), "{keys:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_another_hash_tag_all_buckets_are_others() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let instance = Instance::start(&fleet.url(), &policy("")).await;
    let admitted = async || {
        let mut admitted = 0;
        while instance.check(1).await.is_admitted() {
            admitted += 1;
        }
        admitted
    };
    assert_eq!(admitted().await, 5);
    for (tag, left) in [(", hash_tag: a", 5), (", hash_tag: b", 5), (", hash_tag: a", 0), ("", 0)] {
        instance.limiter.swap(parsed(&policy(tag))).unwrap();
        instance.until_exact(&facts(0), Duration::from_secs(5)).await;
        assert_eq!(admitted().await, left, "{tag}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_whose_limit_comes_with_the_call_works_wherever_it_is() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let ledger = open(&fleet.url(), Duration::from_secs(1)).await;
    let before = ledger.counts().coalescer.batches;
    for name in names(6) {
        for left in [2, 1, 0] {
            let (verdict, buckets) =
                exact(ask(&ledger, vec![charge(&name, all_but_still(3), 1)], Manner::Check).await);
            assert!(verdict.is_admitted() && buckets[0].remaining.whole() == left, "{verdict:?}");
        }
        let (verdict, _) = exact(ask(&ledger, vec![charge(&name, all_but_still(3), 1)], Manner::Check).await);
        assert!(!verdict.is_admitted());
    }
    assert_eq!(ledger.counts().coalescer.batches - before, 24, "one for each");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_cluster_a_check_over_several_buckets_is_one_call() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let ledger = open(&server.url(), Duration::from_secs(1)).await;
    let before = ledger.counts().coalescer.batches;
    let charges = names(4).iter().map(|name| charge(name, all_but_still(3), 1)).collect();
    assert!(exact(ask(&ledger, charges, Manner::Check).await).0.is_admitted());
    assert_eq!(ledger.counts().coalescer.batches - before, 1);
}
