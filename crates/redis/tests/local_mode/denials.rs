//! Who was denied costs the store nothing for a while (S5), whatever other buckets its checks have.

use std::time::Duration;

use tollgate::StoreMode;
use tollgate::policy::Facts;
use tollgate::{Asking, BucketSet, Decision, Tokens, Verdict};

use crate::fleet::RedisServer;
use crate::instance::Instance;

/// Every request has three buckets: its client's, its path's, everybody's.
const TIERS: &str = "{store: {deadline: 1s, instances_max: 1}, rules: [
    {name: client, scope: ip, rate: 1/h, burst: 5},
    {name: route, limit_keys: [path], rate: 100000/s, burst: 1000000},
    {name: all, scope: global, rate: 200000/s, burst: 2000000}]}";

async fn check(instance: &Instance, client: u8, path: &str) -> Decision {
    let facts = Facts { address: Some([198, 51, 100, client].into()), ..Facts::new("GET", path) };
    instance.limiter.policy().decide(&facts, Asking::Check).await
}

fn denied(decision: &Decision) -> BucketSet {
    match decision.verdict() {
        Some(Verdict::Deny { denied, .. }) => denied,
        _ => BucketSet::EMPTY,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_nine_in_ten_checks_from_denied_clients_an_eighth_of_the_checks_reach_the_store() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), TIERS, &["/"]).await;
    for client in 0..9 {
        for _ in 0..6 {
            let _ = check(&instance, client, "/").await;
        }
    }
    let before = instance.ledger.counts();
    let (mut checks, mut denied) = (0, 0);
    // Two thousand checks, more than a second's worth for a debug build: who is forgotten is asked for again.
    for round in 0..2_000_u32 {
        let client = u8::try_from(round % 10).unwrap();
        let decision = check(
            &instance,
            if client == 9 { 100 + u8::try_from(round / 10 % 100).unwrap() } else { client },
            "/",
        )
        .await;
        checks += 1;
        denied += u64::from(!decision.is_admitted());
        assert_eq!(decision.mode(), StoreMode::Exact);
    }
    let sent = instance.ledger.counts().coalescer.operations - before.coalescer.operations;
    assert!(denied >= checks * 9 / 10, "{denied} of {checks}");
    assert!(sent * 8 <= checks, "{sent} of {checks} checks were sent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remembered_denial_tells_what_the_store_would_tell() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), TIERS, &["/"]).await;
    let mut told = Vec::new();
    for _ in 0..7 {
        told.push(check(&instance, 1, "/a").await);
    }
    assert_eq!(instance.ledger.counts().denials_remembered, 1);
    let [asked, remembered] = &told[5..] else { panic!("seven") };
    for decision in [asked, remembered] {
        assert!(!decision.is_admitted());
        let those: Vec<bool> = (0..3).map(|at| denied(decision).contains(at)).collect();
        assert_eq!(those, [true, false, false], "of its own bucket alone");
        let balances: Vec<u64> = instance.limiter.balances(decision).map(Tokens::whole).collect();
        assert_eq!(balances[0], 0);
        assert!(balances[1] > 900_000 && balances[2] > 1_900_000, "{balances:?}");
    }
    let (asked, remembered) = (asked.retry_after().unwrap(), remembered.retry_after().unwrap());
    // To a second that passed, and a micro-token, which takes 3.6 ms here.
    assert!(asked.abs_diff(remembered) < Duration::from_secs(1), "{asked:?} {remembered:?}");
    // Another path: of its bucket nothing was heard, so it is not said to be tight.
    let other = check(&instance, 1, "/b").await;
    assert_eq!(instance.ledger.counts().denials_remembered, 2);
    assert_eq!(instance.limiter.balances(&other).map(Tokens::whole).min(), Some(0));
    assert!(!denied(&other).contains(1) && !denied(&other).contains(2));
    assert!(instance.limiter.balances(&other).nth(1).unwrap().whole() >= 900_000);
}
