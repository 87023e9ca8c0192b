//! All or nothing, whoever else asks at the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate::ledger::{LedgerCharge, Manner};
use tollgate::{Burst, Clock, Cost, Limit, Rate, Verdict};
use tollgate_sim::checker::{Promise, judge_each};
use tollgate_sim::history::Event;

use crate::asking::{all_but_still, ask, charge, exact, names, open, until_spent};
use crate::fleet::ClusterFleet;

const PATIENCE: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_bucket_denies_and_none_is_charged_and_all_that_deny_are_named() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let ledger = open(&fleet.url(), PATIENCE).await;
    let names = names(4);
    let limits = [5, 1, 7, 2].map(all_but_still);
    let all = |cost| -> Vec<LedgerCharge> {
        names.iter().zip(limits).map(|(name, limit)| charge(name, limit, cost)).collect()
    };
    let (verdict, buckets) = exact(ask(&ledger, all(1), Manner::Check).await);
    assert!(verdict.is_admitted(), "{verdict:?}");
    assert_eq!(buckets.iter().map(|bucket| bucket.remaining.whole()).collect::<Vec<_>>(), [4, 0, 6, 1]);
    assert!(exact(ask(&ledger, vec![charge(&names[3], limits[3], 1)], Manner::Check).await).0.is_admitted());

    let (verdict, buckets) = exact(ask(&ledger, all(1), Manner::Check).await);
    let Verdict::Deny { denied, wait, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!(denied.iter().collect::<Vec<_>>(), [1, 3], "every bucket that denies is named");
    assert_eq!(wait, buckets[1].wait.max(buckets[3].wait));
    assert_eq!(buckets.iter().map(|bucket| bucket.remaining.whole()).collect::<Vec<_>>(), [4, 0, 6, 0]);
    for (name, (limit, spent)) in names.iter().zip(limits.into_iter().zip([1, 1, 1, 2])) {
        until_spent(&ledger, name, limit, spent).await;
    }
    let (verdict, _) = exact(ask(&ledger, all(3), Manner::Peek).await);
    let Verdict::Never { denied } = verdict else { panic!("{verdict:?}") };
    assert_eq!(denied.iter().collect::<Vec<_>>(), [1, 3]);
    assert_eq!(ledger.counts().released, 0, "a look has shown all of it, and nothing was held");
    assert_eq!(ledger.counts().fallbacks, 0);
}

/// The limits refill by nothing, so that what is missing at the end is what was admitted, to the micro-token or nearly.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_at_once_spend_in_every_bucket_just_what_was_admitted() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let ledgers = [open(&fleet.url(), PATIENCE).await, open(&fleet.url(), PATIENCE).await];
    let mut released = 0;
    for seed in 0..4 {
        let mut random = fastrand::Rng::with_seed(seed);
        let names: Arc<Vec<String>> =
            Arc::new(names(6).iter().map(|name| format!("{name}-{seed}")).collect());
        let limits: Arc<Vec<Limit>> = Arc::new((0..6).map(|_| all_but_still(random.u64(20..70))).collect());
        let spent: Arc<Vec<AtomicU64>> = Arc::new((0..6).map(|_| AtomicU64::new(0)).collect());
        let mut callers = tokio::task::JoinSet::new();
        for caller in 0..24_u64 {
            let (names, limits, spent) = (Arc::clone(&names), Arc::clone(&limits), Arc::clone(&spent));
            let ledger = ledgers[usize::try_from(caller).unwrap() % 2].clone();
            let mut random = fastrand::Rng::with_seed(seed << 8 | caller);
            callers.spawn(async move {
                for _ in 0..12 {
                    let mut of: Vec<usize> = (0..6).collect();
                    random.shuffle(&mut of);
                    of.truncate(random.usize(2..=4));
                    let cost = random.u64(1..=3);
                    let charges = of.iter().map(|at| charge(&names[*at], limits[*at], cost)).collect();
                    let (verdict, _) = exact(ask(&ledger, charges, Manner::Check).await);
                    if verdict.is_admitted() {
                        for at in of {
                            spent[at].fetch_add(cost, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
        callers.join_all().await;
        for (at, name) in names.iter().enumerate() {
            let spent = spent[at].load(Ordering::Relaxed);
            assert!(spent <= limits[at].burst().whole(), "{spent} of {}", limits[at].burst());
            until_spent(&ledgers[0], name, limits[at], spent).await;
        }
        released = ledgers.iter().map(|ledger| ledger.counts().released).sum();
        assert_eq!(ledgers.iter().map(|ledger| ledger.counts().unreleased).sum::<u64>(), 0);
    }
    assert!(released > 0, "nobody was ever denied by what another held, so this shows nothing");
}

/// Buckets that refill while they are held and released: no interval admits more than its limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_interval_admits_more_than_one_bucket_alone_would() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let ledgers = [open(&fleet.url(), PATIENCE).await, open(&fleet.url(), PATIENCE).await];
    let names = Arc::new(names(4));
    let limit = |at: usize| {
        Limit::new(Rate::per_second([400, 300, 500, 200][at]), Burst::tokens([8, 5, 20, 12][at])).unwrap()
    };
    let clock = Clock::system();
    let ends = clock.now() + tollgate::Span::from_secs(3);
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..16_u64 {
        let (names, clock) = (Arc::clone(&names), clock.clone());
        let ledger = ledgers[usize::try_from(caller).unwrap() % 2].clone();
        let mut random = fastrand::Rng::with_seed(caller);
        callers.spawn(async move {
            let mut events = Vec::new();
            while clock.now() < ends {
                let mut of: Vec<usize> = (0..4).collect();
                random.shuffle(&mut of);
                of.truncate(random.usize(1..=3));
                let cost = random.u64(1..=2);
                let charges = of.iter().map(|at| charge(&names[*at], limit(*at), cost)).collect();
                let called = clock.now();
                let (verdict, _) = exact(ask(&ledger, charges, Manner::Check).await);
                let (answered, admitted) = (clock.now(), verdict.is_admitted());
                let cost = i64::try_from(Cost::tokens(cost).as_micros()).unwrap();
                let event = |at: &usize| Event { key: *at as u64, called, answered, cost, admitted };
                events.extend(of.iter().map(event));
            }
            events
        });
    }
    let events = callers.join_all().await.concat();
    let admitted = events.iter().filter(|event| event.admitted).count();
    let judgement = judge_each(events, |key| Promise::of(limit(usize::try_from(key).unwrap())));
    judgement.assert_kept();
    assert!(admitted > 500, "{admitted}");
    let released: u64 = ledgers.iter().map(|ledger| ledger.counts().released).sum();
    assert!(released > 0, "nothing was released, so this shows little");
}
