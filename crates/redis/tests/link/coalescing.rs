//! Concurrent checks become one call: each has its own answer, none waits needlessly, and there is an end to what may gather.

use std::time::Duration;

use tollgate_core::{Burst, Cost, Limit, Rate};
use tollgate_redis::{
    AskError, BatchError, Charge, Checked, Coalescer, CoalescerCounts, CoalescerOptions, KeySpace, LinkError,
    ServerError, SharedLimit, Told, slot_of,
};

use crate::asking::{PATIENCE, left, open};
use crate::fleet::{ClusterFleet, FaultProxy, RedisServer};

/// A bucket of a thousand tokens that hardly refills.
fn charge_of(key: &str) -> Charge {
    charge_in(&KeySpace::default(), key)
}

fn charge_in(keys: &KeySpace, key: &str) -> Charge {
    let limit = Limit::new(Rate::per_day(1), Burst::tokens(1_000)).unwrap();
    Charge::new(keys.explicit(key).unwrap(), &SharedLimit::explicit(&limit).unwrap(), Cost::ONE)
}

/// What a bucket holds after a check, in whole tokens.
fn tokens(checked: &Checked, bucket: usize) -> i64 {
    checked.buckets[bucket].balance / 1_000_000
}

fn coalescer(url: &str, options: &CoalescerOptions) -> Coalescer {
    Coalescer::new(open(url), options)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_callers_share_calls_and_each_has_its_own_answer() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let coalescer = coalescer(&server.url(), &CoalescerOptions::default());
    let callers: Vec<_> = (0..50)
        .map(|caller| {
            let coalescer = coalescer.clone();
            tokio::spawn(async move {
                let own = format!("caller {caller}");
                for round in 0..10 {
                    let checked =
                        coalescer.check(vec![charge_of("all"), charge_of(&own)], PATIENCE).await.unwrap();
                    assert!(checked.is_admitted());
                    assert_eq!(tokens(&checked, 1), 999 - round, "nobody else's answer");
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    assert_eq!(left(coalescer.link(), "all").await, 1_000 - 500 - 1);
    let CoalescerCounts { operations, batches, unsent } = coalescer.counts();
    assert_eq!((operations, unsent), (500, 0));
    assert!(batches * 3 <= operations, "{batches} calls carried {operations} checks");
}

#[tokio::test]
async fn a_lonely_check_leaves_at_once_and_alone() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let coalescer = coalescer(&server.url(), &CoalescerOptions::default());
    for _ in 0..5 {
        coalescer.check(vec![charge_of("ann")], PATIENCE).await.unwrap();
    }
    assert_eq!(coalescer.counts(), CoalescerCounts { operations: 5, batches: 5, unsent: 0 });
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_spoils_no_other() {
    needs_redis!();
    let server = RedisServer::start("").await;
    server.tell("LPUSH tg:*:stranger here").await;
    let coalescer = coalescer(&server.url(), &CoalescerOptions::default());
    let (good, none, stranger, two) = tokio::join!(
        coalescer.check(vec![charge_of("ann")], PATIENCE),
        coalescer.check(Vec::new(), PATIENCE),
        coalescer.check(vec![charge_of("stranger")], PATIENCE),
        coalescer.check(vec![charge_of("bob"), charge_of("ann")], PATIENCE),
    );
    assert!(good.unwrap().is_admitted() && two.unwrap().is_admitted());
    assert!(matches!(none, Err(AskError::Batch(BatchError::Check(_)))), "{none:?}");
    assert!(
        matches!(stranger, Err(AskError::Link(LinkError::Server(ServerError::WrongType(_))))),
        "{stranger:?}"
    );
    assert_eq!(coalescer.counts().batches, 1, "all left together");
}

#[tokio::test]
async fn a_batch_takes_no_more_than_it_may_and_no_more_wait_than_may() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let options = CoalescerOptions { flights_max: 1, batch_max: 10, waiting_max: 25 };
    let coalescer = coalescer(&server.url(), &options);
    coalescer.check(vec![charge_of("ann")], PATIENCE).await.unwrap();
    let mut pending = Vec::new();
    for _ in 0..25 {
        pending.push(coalescer.submit(&[], |batch| batch.check(&[charge_of("ann")])).unwrap());
    }
    let refused = coalescer.submit(&[], |batch| batch.check(&[charge_of("ann")])).unwrap_err();
    assert_eq!(refused, AskError::Link(LinkError::Overloaded { calls_max: 25 }));
    for pending in pending {
        assert!(matches!(pending.await.unwrap(), Told::Checked(checked) if checked.is_admitted()));
    }
    assert_eq!(coalescer.counts(), CoalescerCounts { operations: 26, batches: 4, unsent: 0 });
}

#[tokio::test]
async fn a_late_answer_is_still_true_and_a_batch_that_nobody_waits_for_is_not_sent() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let coalescer =
        coalescer(&proxy.url(), &CoalescerOptions { flights_max: 1, ..CoalescerOptions::default() });
    coalescer.check(vec![charge_of("ann")], PATIENCE).await.unwrap();
    proxy.set_latency(Duration::from_millis(100));
    let mut first = coalescer.submit(&[], |batch| batch.check(&[charge_of("ann")])).unwrap();
    assert_eq!(first.within(Duration::from_millis(15)).await, Err(LinkError::TimedOut));
    let second = coalescer.check(vec![charge_of("ann")], Duration::from_millis(15)).await;
    assert_eq!(second.unwrap_err(), AskError::Link(LinkError::TimedOut));
    let Ok(Told::Checked(late)) = first.await else { panic!("no late answer") };
    assert_eq!(tokens(&late, 0), 998);
    proxy.set_latency(Duration::ZERO);
    assert_eq!(left(coalescer.link(), "ann").await, 997, "the second was never sent");
    assert_eq!(coalescer.counts().unsent, 1);
}

#[tokio::test]
async fn everybody_in_a_batch_is_told_that_the_store_is_gone() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let coalescer = coalescer(&server.url(), &CoalescerOptions::default());
    coalescer.check(vec![charge_of("ann")], PATIENCE).await.unwrap();
    server.signal("STOP");
    let callers: Vec<_> = (0..20)
        .map(|_| {
            let coalescer = coalescer.clone();
            tokio::spawn(async move { coalescer.check(vec![charge_of("ann")], PATIENCE).await.unwrap_err() })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.kill();
    for caller in callers {
        let error = caller.await.unwrap();
        let AskError::Link(LinkError::Lost | LinkError::NotConnected(_)) = error else { panic!("{error}") };
    }
}

/// While a slot moves, some of a batch's keys are at the old node and new ones belong to the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_whose_slot_is_moving_is_taken_apart() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let coalescer = coalescer(&fleet.url(), &CoalescerOptions::default());
    let keys = KeySpace::default().tagged("acme").unwrap();
    let slot = slot_of(keys.explicit("a").unwrap().as_bytes());
    let from = ClusterFleet::owner(slot);
    let to = (from + 1) % 3;
    for old in ["old-1", "old-2"] {
        coalescer.check(vec![charge_in(&keys, old)], PATIENCE).await.unwrap();
    }
    fleet.begin_move(slot, from, to).await;
    for round in 0..3 {
        let (old, new, other, elsewhere) = tokio::join!(
            coalescer.check(vec![charge_in(&keys, "old-1")], PATIENCE),
            coalescer.check(vec![charge_in(&keys, &format!("new-{round}"))], PATIENCE),
            coalescer.check(vec![charge_in(&keys, "old-2")], PATIENCE),
            coalescer.check(vec![charge_of("elsewhere")], PATIENCE),
        );
        let balances = [old, new, other, elsewhere].map(|checked| tokens(&checked.unwrap(), 0));
        assert_eq!(balances, [998 - round, 999, 998 - round, 999 - round]);
    }
    fleet.move_keys(slot, from, to).await;
    fleet.end_move(slot, to).await;
    let both =
        coalescer.check(vec![charge_in(&keys, "old-1"), charge_in(&keys, "new-1")], PATIENCE).await.unwrap();
    assert_eq!((tokens(&both, 0), tokens(&both, 1)), (995, 998));
    let apart = coalescer.check(vec![charge_of("a"), charge_of("b")], PATIENCE).await.unwrap_err();
    assert_eq!(apart, AskError::Link(LinkError::CrossSlot));
}
