//! Reservations, idempotency keys and places whose record is in another slot than their buckets.

use std::time::Duration;

use tollgate::ledger::{Gift, Ledger, LedgerCharge, Manner, OwnedKey, TrueCosts};
use tollgate::{Cost, ReservationId, Span};
use tollgate_redis::RedisLedger;

use crate::asking::{all_but_still, ask, bucket, charge, exact, names, open, until_spent};
use crate::fleet::{ClusterFleet, until};
use crate::policies::{Instance, facts};

const PATIENCE: Duration = Duration::from_secs(1);

fn three(names: &[String], burst: u64, cost: u64) -> Vec<LedgerCharge> {
    names.iter().take(3).map(|name| charge(name, all_but_still(burst), cost)).collect()
}

async fn all_have_spent(ledger: &RedisLedger, names: &[String], burst: u64, tokens: u64) {
    for name in names.iter().take(3) {
        until_spent(ledger, name, all_but_still(burst), tokens).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_are_charged_once_and_told_the_same_even_if_all_come_at_once() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let ledgers = [open(&fleet.url(), PATIENCE).await, open(&fleet.url(), PATIENCE).await];
    let names = names(3);
    let once = |key: &str| Manner::Once {
        idempotency_key: OwnedKey::new(key).unwrap(),
        lifetime: Span::from_secs(60),
    };
    let first = ask(&ledgers[0], three(&names, 50, 2), once("order-1")).await;
    assert!(exact(first.clone()).0.is_admitted());
    for ledger in [&ledgers[1], &ledgers[0]] {
        assert_eq!(
            ask(ledger, three(&names, 50, 2), once("order-1")).await,
            first,
            "a retry is told the same"
        );
    }
    all_have_spent(&ledgers[0], &names, 50, 2).await;

    let mut retries = tokio::task::JoinSet::new();
    for at in 0..12 {
        let (ledger, charges) = (ledgers[at % 2].clone(), three(&names, 50, 1));
        let manner = once("order-2");
        retries.spawn(async move { exact(ask(&ledger, charges, manner).await).0.is_admitted() });
    }
    assert!(retries.join_all().await.into_iter().all(|is_admitted| is_admitted));
    all_have_spent(&ledgers[0], &names, 50, 3).await;
    // One bucket alone is in another slot than its record, too.
    for _ in 0..3 {
        let alone = vec![charge(&names[0], all_but_still(50), 5)];
        assert!(exact(ask(&ledgers[0], alone, once("order-3")).await).0.is_admitted());
    }
    until_spent(&ledgers[0], &names[0], all_but_still(50), 8).await;
    // What is denied leaves no record.
    let much = || three(&names, 50, 45);
    assert!(!exact(ask(&ledgers[0], much(), once("order-4")).await).0.is_admitted());
    for name in &names {
        ledgers[0].give(bucket(name, all_but_still(50)), Gift::Reset).await.unwrap();
    }
    assert!(exact(ask(&ledgers[0], much(), once("order-4")).await).0.is_admitted());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reservations_are_settled_once_by_any_instance() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let ledgers = [open(&fleet.url(), PATIENCE).await, open(&fleet.url(), PATIENCE).await];
    let names = names(3);
    let reserve = |number: u128| {
        let id: ReservationId = format!("{number:032x}").parse().unwrap();
        (id, Manner::Reserve { id, timeout: Span::from_secs(60) })
    };
    let (id, manner) = reserve(1);
    assert!(exact(ask(&ledgers[0], three(&names, 50, 10), manner).await).0.is_admitted());
    all_have_spent(&ledgers[0], &names, 50, 10).await;
    let settled = ledgers[1].settle(id, TrueCosts::Same(Cost::tokens(4))).await.unwrap();
    assert_eq!(settled.returned.whole(), 6);
    all_have_spent(&ledgers[0], &names, 50, 4).await;
    assert!(ledgers[0].settle(id, TrueCosts::Nothing).await.is_err(), "it was settled");

    let (id, manner) = reserve(2);
    assert!(exact(ask(&ledgers[0], three(&names, 50, 10), manner).await).0.is_admitted());
    let costs = [12, 10, 1].map(Cost::tokens).to_vec();
    let settled = ledgers[1].settle(id, TrueCosts::Each(costs)).await.unwrap();
    assert_eq!((settled.charged.whole(), settled.returned.whole()), (2, 0));
    for (name, spent) in names.iter().zip([16, 14, 5]) {
        until_spent(&ledgers[0], name, all_but_still(50), spent).await;
    }
    // Whoever settles at the same time as others is the only one who does.
    let (id, manner) = reserve(3);
    assert!(exact(ask(&ledgers[0], three(&names, 50, 10), manner).await).0.is_admitted());
    let mut settling = tokio::task::JoinSet::new();
    for at in 0..6 {
        let ledger = ledgers[at % 2].clone();
        settling.spawn(async move { ledger.settle(id, TrueCosts::Nothing).await.is_ok() });
    }
    assert_eq!(settling.join_all().await.into_iter().filter(|is_settled| *is_settled).count(), 1);
    for (name, spent) in names.iter().zip([16, 14, 5]) {
        until_spent(&ledgers[0], name, all_but_still(50), spent).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_are_taken_and_given_back_across_slots_and_every_algorithm_is_all_or_nothing() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let policy = "{store: {deadline: 1s}, rules: [
        {name: all, scope: global, rate: 1/365d, burst: 40},
        {name: work, scope: ip, algorithm: concurrency, places: 3, timeout: 5m},
        {name: log, scope: ip, algorithm: sliding_window, quota: 15, window: 1h},
        {name: even, scope: global, algorithm: leaky_bucket, rate: 1/m, queue: 30},
        {name: month, scope: ip, algorithm: fixed_window, quota: 12, window: month}]}";
    let one = Instance::start(&fleet.url(), policy).await;
    let other = Instance::start(&fleet.url(), policy).await;
    let mut at_work = Vec::new();
    for turn in 0..4 {
        let decision = [&one, &other][turn % 2].check(1).await;
        assert_eq!(decision.is_admitted(), turn < 3, "three places");
        at_work.push(decision);
    }
    at_work.clear();
    let is_free = || async { one.check(1).await.is_admitted() };
    until("places are given back", Duration::from_secs(5), is_free).await;

    let mut callers = tokio::task::JoinSet::new();
    let instances = [std::sync::Arc::new(one), std::sync::Arc::new(other)];
    for caller in 0..20_usize {
        let instance = std::sync::Arc::clone(&instances[caller % 2]);
        callers.spawn(async move {
            let mut admitted = 0;
            for _ in 0..10 {
                let decision = instance.ask(&facts(2), tollgate::Asking::Check).await;
                assert_eq!(decision.mode(), tollgate::StoreMode::Exact);
                admitted += usize::from(decision.is_admitted());
            }
            admitted
        });
    }
    let admitted: usize = callers.join_all().await.into_iter().sum();
    assert!((3..=12).contains(&admitted), "{admitted}");
    // What was not admitted is not missing: the month has 12, and all of them can be had.
    let rest = || async {
        let mut more = 0;
        while more + admitted < 12 && instances[0].check(2).await.is_admitted() {
            more += 1;
        }
        more + admitted == 12
    };
    assert!(rest().await || admitted == 12, "{admitted} of 12 at once, and not the rest after it");
}
