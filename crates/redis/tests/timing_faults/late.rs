//! Late replies beside a saturated bucket: no interval exceeds the limit, and the bucket never changes to shares.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tollgate_core::{Burst, Limit, Rate, Span};
use tollgate_sim::checker::worst_ratio;
use tollgate_sim::history::Event;

use crate::fleet::{FaultProxy, RedisServer};
use crate::instance::Instance;
use crate::monotonic;

/// `away_after` is long, so that a slow machine does not make the store unreachable.
const POLICY: &str = "{store: {away_after: 10s, instances_max: 2}, rules: [\
                      {name: key, scope: ip, path: /key, rate: 100/s, burst: 100}]}";
const LENGTH: Span = Span::from_secs(4);
/// Between two checks of one instance: 500 a second.
const BETWEEN: Duration = Duration::from_millis(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_replies_do_not_exceed_the_limit() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let mut proxies = Vec::new();
    let mut instances = Vec::new();
    for _ in 0..2 {
        let proxy = FaultProxy::before(server.port).await;
        instances.push(Arc::new(Instance::start(&proxy.url(), POLICY, &["/key"]).await));
        // One reply in two hundred holds up all that follow.
        proxy.set_late(5, Duration::from_millis(60));
        proxies.push(proxy);
    }
    let mut asking = JoinSet::new();
    for instance in &instances {
        asking.spawn(offer(Arc::clone(instance)));
    }
    let events: Vec<Event> = asking.join_all().await.into_iter().flatten().collect();
    let late: u64 = instances.iter().map(|instance| instance.ledger.counts().late).sum();
    assert!(late > 0, "no reply was late, so this shows nothing");
    let limit = Limit::new(Rate::per_second(100), Burst::tokens(100)).unwrap();
    let admitted = events.len();
    let worst = worst_ratio(events, limit, Span::from_secs(1));
    println!("{late} late replies, {admitted} admitted, worst {worst}");
    assert!(worst <= 1.02, "{worst} of burst + rate·d, with {late} late replies");
    assert!(admitted >= 400, "{admitted} of 500 admitted");
}

/// Asks 500 times a second; the admitted checks.
async fn offer(instance: Arc<Instance>) -> Vec<Event> {
    let begun = monotonic::now();
    let mut asking = JoinSet::new();
    let mut ticks = tokio::time::interval(BETWEEN);
    while monotonic::now().since(begun) < LENGTH {
        ticks.tick().await;
        assert_eq!(instance.ledger.counts().local_buckets, 0, "the bucket changed to shares");
        let instance = Arc::clone(&instance);
        asking.spawn(async move {
            let called = monotonic::now();
            let admitted = instance.check("/key").await.is_admitted();
            Event { key: 0, called, answered: monotonic::now(), cost: 1_000_000, admitted }
        });
    }
    asking.join_all().await.into_iter().filter(|event| event.admitted).collect()
}
