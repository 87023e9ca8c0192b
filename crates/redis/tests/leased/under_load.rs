//! Instances that ask as much as they can: what they admit together is judged over every interval.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tollgate::policy::Policy;
use tollgate::{Burst, Clock, Limit, Rate, Span, StoreMode};
use tollgate_core::Moment;
use tollgate_sim::checker::{Promise, judge};
use tollgate_sim::history::Event;

use crate::fleet::{ClusterFleet, FaultProxy, RedisServer};
use crate::{EXACT, Instance, LEASED};

/// Callers of one instance.
const CALLERS: usize = 4;

/// What instances were asked until a moment; denied callers come back a little later.
struct Load {
    clock: Clock,
    until: Moment,
    asking: JoinSet<Vec<Event>>,
}

impl Load {
    fn new(millis: u64) -> Load {
        let clock = Clock::system();
        let until = clock.now() + Span::from_millis(millis);
        Load { clock, until, asking: JoinSet::new() }
    }

    /// `answers` is whether every check must be decided by the store or by a slice.
    fn on(&mut self, instance: &Arc<Instance>, answers: bool) {
        for _ in 0..CALLERS {
            let (instance, clock, until) = (Arc::clone(instance), self.clock.clone(), self.until);
            self.asking.spawn(async move {
                let mut events = Vec::new();
                while clock.now() < until {
                    let called = clock.now();
                    let decision = instance.check(1).await;
                    assert!(!answers || decision.mode() != StoreMode::Fallback);
                    // What a rule admits without the store is another promise.
                    let admitted = decision.is_admitted() && decision.mode() != StoreMode::Fallback;
                    events.push(Event { key: 0, cost: 1_000_000, called, answered: clock.now(), admitted });
                    if !admitted {
                        tokio::time::sleep(Duration::from_micros(300)).await;
                    }
                }
                events
            });
        }
    }

    /// All that was admitted, judged; how many that were.
    async fn judged(self, promise: &Promise) -> u64 {
        let events: Vec<Event> = self.asking.join_all().await.into_iter().flatten().collect();
        let admitted = events.iter().filter(|event| event.admitted).count() as u64;
        judge(events, promise).assert_kept();
        admitted
    }
}

fn limit(per_second: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_second(per_second), Burst::tokens(burst)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_that_lease_and_one_that_does_not_keep_the_limit_in_every_interval() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let mut instances = Vec::new();
    for policy in [LEASED, LEASED, EXACT] {
        instances.push(Arc::new(Instance::start(&server.url(), policy).await));
    }
    let mut load = Load::new(2_000);
    for instance in &instances {
        load.on(instance, true);
    }
    let admitted = load.judged(&Promise::of(limit(1_000, 1_000))).await;
    assert!(admitted >= 2_700, "{admitted} of 3,000");
}

/// Up and down, while slices are out. For a life after a limit was lowered the more generous one holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_limit_is_kept_while_it_is_changed_under_load() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let policy = |rate: u64, burst: u64| {
        format!(
            "{{store: {{deadline: 1s, instances_max: 2}}, rules: [\
             {{name: all, scope: global, rate: {rate}/s, burst: {burst}, consistency: leased}}]}}"
        )
    };
    let mut instances = Vec::new();
    for _ in 0..2 {
        instances.push(Arc::new(Instance::start(&server.url(), &policy(1_000, 1_000)).await));
    }
    let mut load = Load::new(3_600);
    for instance in &instances {
        load.on(instance, true);
    }
    let (clock, mut promise) = (load.clock.clone(), Promise::of(limit(1_000, 1_000)));
    let mut before = (1_000, 1_000);
    for next in [(3_000, 400), (600, 400), (600, 2_000), (2_000, 200)] {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let (rate, burst) = next;
        promise = promise.then(clock.now(), limit(rate.max(before.0), burst.max(before.1)));
        for instance in &instances {
            instance.limiter.swap(Policy::parse("p.yaml", &policy(rate, burst)).unwrap()).unwrap();
        }
        // Both have agreed, and slices from before have ended.
        tokio::time::sleep(Duration::from_millis(600)).await;
        promise = promise.then(clock.now(), limit(rate, burst));
        before = next;
    }
    let admitted = load.judged(&promise).await;
    assert!(admitted > 3_000, "{admitted}");
}

/// Replies that are late or lost, and connections that break: whatever becomes of an ask, it counts once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_limit_is_kept_while_asks_and_answers_are_late_or_lost() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let policy = "{store: {deadline: 20ms, instances_max: 2}, rules: [{name: all, scope: global, rate: 1000/s, \
                  burst: 1000, consistency: leased, on_store_failure: open}]}";
    let (mut proxies, mut instances) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let proxy = FaultProxy::before(server.port).await;
        instances.push(Arc::new(Instance::start(&proxy.url(), policy).await));
        proxies.push(proxy);
    }
    let mut load = Load::new(2_600);
    for instance in &instances {
        load.on(instance, false);
    }
    for round in 0..10 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let proxy = &proxies[round % 2];
        match round % 5 {
            0 => proxy.set_late(300, Duration::from_millis(40)),
            1 => proxy.hang_up(),
            2 => proxy.lose_replies(true),
            3 => proxy.set_late(500, Duration::from_millis(300)),
            _ => {
                for proxy in &proxies {
                    proxy.lose_replies(false);
                    proxy.set_late(0, Duration::ZERO);
                    proxy.hang_up();
                }
            }
        }
    }
    let admitted = load.judged(&Promise::of(limit(1_000, 1_000))).await;
    assert!(admitted > 1_000, "{admitted}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buckets_are_leased_in_a_cluster_as_well() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let policy = "{store: {deadline: 1s, instances_max: 2}, rules: [\
                  {name: client, scope: ip, rate: 1000/s, burst: 1000, consistency: leased}]}";
    let instance = Instance::start(&fleet.url(), policy).await;
    let before = instance.ledger.counts();
    for client in 1..20 {
        for _ in 0..50 {
            let decision = instance.check(client).await;
            assert!(decision.is_admitted() && decision.mode() == StoreMode::Leased);
        }
    }
    let counts = instance.ledger.counts();
    // On a slow machine some have been given back and forgotten by now.
    assert!(counts.fallbacks == before.fallbacks && (1..=19).contains(&counts.leased_buckets), "{counts:?}");
    instance.ledger.close().await;
    let counts = instance.ledger.counts();
    assert!(counts.lease_returned_micros > 0 && counts.failed == before.failed, "{counts:?}");
}
