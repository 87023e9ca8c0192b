//! Room for buckets that are kept here is for those that say something: what is full goes, and what the store can never keep is not kept here either.

use std::time::Duration;

use tollgate::ledger::{
    Answer, Bucket, BucketLimit, Ledger, LedgerCharge, LimitRefused, Manner, OwnedKey, Question,
};
use tollgate::policy::Facts;
use tollgate::{Asking, Burst, Cause, CheckError, Cost, Decision, Limit, Rate, Span, Tokens, Verdict};

use crate::fleet::RedisServer;
use crate::instance::{Instance, SOON};

const POLICY: &str = "{store: {deadline: 50ms, instances_max: 1}, rules: [{name: user, scope: user, rate: 1000/s, burst: 10}]}";

const TWO: &str = "{store: {deadline: 50ms, instances_max: 1}, rules: [
    {name: quick, scope: user, path: /quick, rate: 1000/s, burst: 10},
    {name: slow, scope: user, path: /slow, rate: 1/d, burst: 1}]}";
/// As many as a node keeps.
const MANY: usize = 100_000;

async fn decided(instance: &Instance, user: &str, path: &str) -> Decision {
    let facts = Facts { user: Some(user), ..Facts::new("GET", path) };
    instance.limiter.policy().decide(&facts, Asking::Check).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_an_outage_a_newcomer_takes_the_place_of_a_bucket_that_is_full_again_and_of_no_other() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let instance = Instance::begin(&server.url(), TWO);
    assert!(instance.ledger.agreed(SOON).await);
    server.kill();
    instance.is_cut_off("/quick").await;
    // Half of them are full again after a millisecond, the others not in a day.
    for number in 0..MANY {
        let path = if number % 2 == 0 { "/quick" } else { "/slow" };
        assert!(decided(&instance, &number.to_string(), path).await.is_admitted(), "{number}");
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    // A check looks at a few of them, so the last ones that are full may take several to be found.
    let mut newcomers = 0;
    for newcomer in 0..MANY {
        let told = decided(&instance, &format!("newcomer {newcomer}"), "/slow").await;
        newcomers += usize::from(told.is_admitted());
        match told.verdict() {
            Some(Verdict::Admit { .. }) => {}
            Some(Verdict::Deny { cause: Cause::TableFull(_), .. }) if newcomers > MANY * 49 / 100 => break,
            other => panic!("{newcomer}: {other:?}"),
        }
    }
    assert!(newcomers <= MANY / 2, "only a bucket that is full makes room: {newcomers}");
    assert!(!decided(&instance, "1", "/slow").await.is_admitted(), "nobody who has spent was forgotten");
    assert_eq!(instance.ledger.counts().local_buckets, MANY);
}

/// A check under a limit that comes with the call.
async fn check(instance: &Instance, limit: Limit, manner: Manner) -> Answer {
    let bucket = Bucket { limit: BucketLimit::Explicit(limit), key: OwnedKey::new("odd").unwrap() };
    let charges = vec![LedgerCharge { bucket, cost: Cost::ONE }];
    instance.ledger.decide(Question { charges, manner, watched: None }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_that_the_store_cannot_keep_is_refused_whether_it_answers_or_not_and_takes_no_room() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let instance = Instance::begin(&server.url(), POLICY);
    assert!(instance.ledger.agreed(SOON).await);
    // As `{"rate": 0.123456789, …}` of `/v1/check`, and faster.
    let fine = Limit::new(Rate::new(1_234_567_891, Span::from_secs(10_000_019)), Burst::tokens(10)).unwrap();
    let large = Limit::new(Rate::per_second(1_000_000), Burst::tokens(9_000_000_001)).unwrap();
    let burst = Tokens::from_micros(9_000_000_001_000_000);
    for is_there in [true, false] {
        if !is_there {
            server.kill();
        }
        for manner in [Manner::Check, Manner::Peek] {
            for limit in [fine, large] {
                let told = check(&instance, limit, manner.clone()).await.verdict();
                assert_eq!(told, Some(Verdict::Invalid(CheckError::LimitRefused { charge: 0 })));
            }
        }
        let refused = instance.ledger.accept(&fine).unwrap_err();
        assert!(refused.to_string().starts_with("`rate` is "), "{refused}");
        assert_eq!(instance.ledger.accept(&large), Err(LimitRefused::BurstTooLarge(burst)));
        assert_eq!(instance.ledger.counts().local_buckets, 0);
    }
}

/// Rules with logs that one request charges together.
const FLOODED: usize = 16;
/// Entries of each log of the flood.
const ENTRIES: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_of_some_rules_logs_leaves_room_for_another_rule() {
    needs_redis!();
    let log = |name: &str, path: &str| {
        let limit = format!("algorithm: sliding_window, quota: {ENTRIES}, window: 1d");
        format!("{{name: {name}, scope: user, path: {path}, {limit}}}")
    };
    let mut rules: Vec<String> =
        (0..FLOODED).map(|number| log(&format!("flooded-{number}"), "/flood")).collect();
    rules.push(log("other", "/other"));
    let policy = format!("{{store: {{deadline: 50ms, instances_max: 1}}, rules: [{}]}}", rules.join(", "));
    let mut server = RedisServer::start("").await;
    let instance = Instance::begin(&server.url(), &policy);
    assert!(instance.ledger.agreed(SOON).await);
    server.kill();
    instance.is_cut_off("/other").await;
    // One million entries, if there were no bound for each rule.
    let clients = 1_000_000 / (FLOODED * ENTRIES) + 1;
    let mut denied = 0;
    for client in 0..clients {
        for _ in 0..ENTRIES {
            let decision = decided(&instance, &format!("client {client}"), "/flood").await;
            match decision.verdict() {
                Some(Verdict::Admit { .. }) => {}
                Some(Verdict::Deny { cause: Cause::TableFull(_), .. }) => denied += 1,
                other => panic!("{client}: {other:?}"),
            }
        }
    }
    let with_log = (1_000_000 / (FLOODED + 1)).div_ceil(ENTRIES);
    assert_eq!(denied, (clients - with_log) * ENTRIES, "clients with a log go on, others are denied");
    assert!(decided(&instance, "ann", "/other").await.is_admitted(), "the other rule has a part of its own");
    assert!(!decided(&instance, "client 0", "/flood").await.is_admitted(), "what was spent is not forgotten");
}
