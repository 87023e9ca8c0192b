//! Buckets whose limits come with the call, each in a slot of its own, asked through a ledger.

use std::time::Duration;

use tollgate::ledger::{
    Answer, Bucket, BucketLimit, BucketState, Ledger, LedgerCharge, Manner, OwnedKey, Question,
};
use tollgate::policy::StoreSettings;
use tollgate::{Burst, Cost, Limit, Rate, Span, StoreMode, Verdict};
use tollgate_redis::{KeySpace, LedgerOptions, RedisLedger, slot_of};

use crate::fleet::{ClusterFleet, until};

/// A limit that refills by less than a micro-token while a test lasts.
pub(crate) fn all_but_still(burst: u64) -> Limit {
    Limit::new(Rate::per_year(1), Burst::tokens(burst)).unwrap()
}

/// The slot of a bucket whose limit comes with the call.
pub(crate) fn slot(name: &str) -> u16 {
    slot_of(KeySpace::default().explicit(name).unwrap().as_bytes())
}

/// So many names in as many slots, one after the other on each of the three nodes.
pub(crate) fn names(count: usize) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for number in 0.. {
        if names.len() == count {
            break;
        }
        let name = format!("bucket-{number}");
        if ClusterFleet::owner(slot(&name)) == names.len() % 3 {
            names.push(name);
        }
    }
    names
}

pub(crate) fn bucket(name: &str, limit: Limit) -> Bucket {
    Bucket { limit: BucketLimit::Explicit(limit), key: OwnedKey::new(name).unwrap() }
}

pub(crate) fn charge(name: &str, limit: Limit, cost: u64) -> LedgerCharge {
    LedgerCharge { bucket: bucket(name, limit), cost: Cost::tokens(cost) }
}

/// A ledger that has found the cluster.
pub(crate) async fn open(url: &str, deadline: Duration) -> RedisLedger {
    let ledger = RedisLedger::open(&url.parse().unwrap(), &LedgerOptions::default()).unwrap();
    let deadline = Span::from_millis(u64::try_from(deadline.as_millis()).unwrap());
    ledger.declare(&StoreSettings { deadline, ..StoreSettings::default() }, &[]).unwrap();
    let charges: Vec<LedgerCharge> =
        names(3).iter().map(|name| charge(&format!("x{name}"), all_but_still(1), 1)).collect();
    let is_there = || async {
        for charge in &charges {
            if !is_exact(&ask(&ledger, vec![charge.clone()], Manner::Peek).await) {
                return false;
            }
        }
        true
    };
    until("the cluster is found", Duration::from_secs(10), is_there).await;
    ledger
}

pub(crate) async fn ask(ledger: &RedisLedger, charges: Vec<LedgerCharge>, manner: Manner) -> Answer {
    ledger.decide(Question { charges, manner, watched: None }).await
}

pub(crate) fn is_exact(answer: &Answer) -> bool {
    matches!(answer, Answer::Decided { mode: StoreMode::Exact, .. })
}

/// The verdict of the store, and what it says of each bucket.
#[track_caller]
pub(crate) fn exact(answer: Answer) -> (Verdict, Vec<BucketState>) {
    match answer {
        Answer::Decided { verdict, buckets, mode: StoreMode::Exact } => (verdict, buckets),
        other => panic!("the store has not decided: {other:?}"),
    }
}

/// What a bucket holds, in micro-tokens.
pub(crate) async fn held(ledger: &RedisLedger, name: &str, limit: Limit) -> u64 {
    let limit_of = |cost| LedgerCharge { bucket: bucket(name, limit), cost };
    let (_, buckets) = exact(ask(ledger, vec![limit_of(Cost::micros(0))], Manner::Peek).await);
    buckets[0].remaining.as_micros()
}

/// Waits until every release has come in: until a bucket lacks so many tokens, but for what is minted meanwhile: much less than a thousandth
/// of one.
pub(crate) async fn until_spent(ledger: &RedisLedger, name: &str, limit: Limit, tokens: u64) {
    let full = limit.burst().as_micros();
    let mut spent = 0;
    for _ in 0..500 {
        spent = full - held(ledger, name, limit).await;
        if spent.abs_diff(tokens * 1_000_000) < 1_000 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{name} has spent {spent} micro-tokens, not {tokens} tokens");
}
