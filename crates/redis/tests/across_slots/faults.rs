//! Nodes that stop, slots that move, nodes that are lost: what was admitted is what was charged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tollgate::ledger::Manner;
use tollgate::policy::Facts;
use tollgate::{Asking, Clock, Span, StoreMode, Tokens};
use tollgate_redis::LATENCY_BOUNDS_MICROS;

use crate::asking::{all_but_still, ask, charge, exact, held, names, open, slot, until_spent};
use crate::fleet::{ClusterFleet, until};
use crate::policies::Instance;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_held_when_an_answer_came_late_is_released() {
    needs_redis!();
    while_nodes_stop("").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reservation_that_came_too_late_is_given_back() {
    needs_redis!();
    // Whoever takes a place reserves.
    let places = "{name: work, scope: ip, algorithm: concurrency, places: 16000, timeout: 1h, on_store_failure: closed},";
    while_nodes_stop(places).await;
}

/// Callers that ask at the same time.
const CALLERS: u64 = 24;
/// For so long a node is stopped: longer than the deadline.
const STOPPED: Duration = Duration::from_millis(400);
/// Longer than anything takes here; what is promised about times is shown by `timing_faults`.
const PATIENCE: Duration = Duration::from_secs(10);

/// Counts how often this process could not run for as long as an answer must be late to count as far beyond its deadline: each such time,
/// every caller may have had one.
struct Stalls {
    counted: Arc<AtomicU64>,
    watching: tokio::task::JoinHandle<()>,
}

impl Stalls {
    /// Between the deadline and what is far beyond it.
    const LATE: Span = Span::from_millis(90);

    fn watch() -> Stalls {
        let counted = Arc::new(AtomicU64::new(0));
        let (counting, clock) = (Arc::clone(&counted), Clock::system());
        let watching = tokio::spawn(async move {
            loop {
                let begun = clock.now();
                tokio::time::sleep(Duration::from_millis(5)).await;
                counting.fetch_add(u64::from(clock.now().since(begun) > Stalls::LATE), Ordering::Relaxed);
            }
        });
        Stalls { counted, watching }
    }

    fn end(self) -> u64 {
        self.watching.abort();
        self.counted.load(Ordering::Relaxed)
    }
}

/// A node that stops for a while makes holds and their answers late, at every step of the protocol.
async fn while_nodes_stop(rule: &str) {
    let fleet = ClusterFleet::start().await;
    let policy = "{store: {deadline: 150ms}, rules: [RULE
        {name: all, scope: global, rate: 1/d, burst: 15000, on_store_failure: closed},
        {name: client, scope: ip, rate: 1/d, burst: 15000, on_store_failure: closed},
        {name: path, limit_keys: [path], path: '/{name}', rate: 1/d, burst: 15000, on_store_failure: closed}]}";
    let instance = Arc::new(Instance::start(&fleet.url(), &policy.replace("RULE", rule)).await);
    let (is_over, admitted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let refused = Arc::new(AtomicU64::new(0));
    let client = || Facts { address: Some([192, 0, 2, 1].into()), ..Facts::new("GET", "/one") };
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let (instance, is_over) = (Arc::clone(&instance), Arc::clone(&is_over));
        let (admitted, refused) = (Arc::clone(&admitted), Arc::clone(&refused));
        callers.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let decision = instance.ask(&client(), Asking::Check).await;
                admitted.fetch_add(u64::from(decision.is_admitted()), Ordering::Relaxed);
                refused.fetch_add(u64::from(decision.refused().is_some()), Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
    }
    let stalls = Stalls::watch();
    for turn in 0..6 {
        instance.until_exact(&client(), PATIENCE).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let node = &fleet.nodes[turn % 3];
        node.signal("STOP");
        tokio::time::sleep(STOPPED).await;
        node.signal("CONT");
    }
    is_over.store(true, Ordering::Relaxed);
    callers.join_all().await;
    assert!(refused.load(Ordering::Relaxed) > 0, "nothing was late, so this shows nothing");
    let admitted = admitted.load(Ordering::Relaxed);
    instance.until_exact(&client(), PATIENCE).await;
    let is_released = || async {
        let seen = instance.ask(&client(), Asking::Peek).await;
        let left = seen.verdict().and_then(|verdict| verdict.remaining());
        // What a check would leave in the bucket that holds least, but for what was minted.
        let expected = (15_000 - 1 - admitted) * 1_000_000;
        let is_so = |left: Tokens| left.as_micros().abs_diff(expected) < 10_000;
        seen.mode() == StoreMode::Exact && left.is_some_and(is_so)
    };
    until("what was not admitted is released", PATIENCE, is_released).await;
    let counts = instance.ledger.counts();
    assert_eq!(counts.unreleased, 0);
    let (far_beyond, stalls) = (counts.latency[LATENCY_BOUNDS_MICROS.len()], stalls.end());
    assert!(
        far_beyond <= stalls * CALLERS,
        "{far_beyond} answers are far beyond their deadline, and {stalls} times nobody could run"
    );
    assert!(counts.released > 0, "nothing was held when a node stopped, so this shows nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_moves_under_load_keeps_every_bucket_exact() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let ledgers =
        [open(&fleet.url(), Duration::from_secs(1)).await, open(&fleet.url(), Duration::from_secs(1)).await];
    let names = Arc::new(names(3));
    let limits = [60, 70, 65].map(all_but_still);
    let (is_over, admitted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..4 {
        let (ledger, names) = (ledgers[caller % 2].clone(), Arc::clone(&names));
        let (is_over, admitted) = (Arc::clone(&is_over), Arc::clone(&admitted));
        callers.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let charges = names.iter().zip(limits).map(|(name, limit)| charge(name, limit, 1)).collect();
                let (verdict, _) = exact(ask(&ledger, charges, Manner::Check).await);
                admitted.fetch_add(u64::from(verdict.is_admitted()), Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(60)).await;
            }
        });
    }
    for name in names.iter() {
        let (slot, from) = (slot(name), ClusterFleet::owner(slot(name)));
        let to = (from + 1) % 3;
        fleet.begin_move(slot, from, to).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        fleet.move_keys(slot, from, to).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        fleet.end_move(slot, to).await;
    }
    is_over.store(true, Ordering::Relaxed);
    callers.join_all().await;
    let admitted = admitted.load(Ordering::Relaxed);
    assert!(admitted > 3, "{admitted}");
    for (name, limit) in names.iter().zip(limits) {
        until_spent(&ledgers[0], name, limit, admitted).await;
    }
    assert!(ledgers[0].link().counts().redirects > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_node_touches_no_other_slot_and_its_own_are_back_when_a_replica_has_taken_its_place() {
    needs_redis!();
    let mut fleet = ClusterFleet::start().await;
    let names = names(3);
    let lost = ClusterFleet::owner(slot(&names[2]));
    fleet.add_replica(lost).await;
    let ledger = open(&fleet.url(), Duration::from_millis(300)).await;
    let limit = all_but_still(50);
    let of = |some: &[usize]| some.iter().map(|at| charge(&names[*at], limit, 1)).collect::<Vec<_>>();
    assert!(exact(ask(&ledger, of(&[0, 1, 2]), Manner::Check).await).0.is_admitted());
    let has_it = || async { fleet.nodes[3].ask::<u64>("DBSIZE").await.is_ok_and(|keys| keys >= 1) };
    until("the charge is replicated", Duration::from_secs(5), has_it).await;

    fleet.nodes[lost].kill();
    let mut others = 0;
    let replica = &fleet.nodes[3];
    for _ in 0..300 {
        // Many more ask for what is lost than for what is not: its breaker opens, and that of the others does not.
        for _ in 0..4 {
            let _ = ask(&ledger, of(&[2]), Manner::Peek).await;
            let _ = ask(&ledger, of(&[0, 1, 2]), Manner::Peek).await;
        }
        if others < 20 {
            let (verdict, _) = exact(ask(&ledger, of(&[0, 1]), Manner::Check).await);
            assert!(verdict.is_admitted());
            others += 1;
        }
        let info: String = replica.ask("INFO replication").await.unwrap();
        if info.contains("role:master") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(ledger.counts().fallbacks > 0);
    let is_back = || async { crate::asking::is_exact(&ask(&ledger, of(&[0, 1, 2]), Manner::Peek).await) };
    until("its slots are answered", Duration::from_secs(1), is_back).await;
    assert!(exact(ask(&ledger, of(&[0, 1, 2]), Manner::Check).await).0.is_admitted());
    assert_eq!(held(&ledger, &names[0], limit).await / 1_000_000, 50 - 2 - others);
    until_spent(&ledger, &names[2], limit, 2).await;
}
