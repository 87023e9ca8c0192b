//! Faults between us and the store.

use std::time::Duration;

use crate::fleet::{FaultProxy, RedisServer};
use crate::monotonic;
use crate::trial::{Memory, Way, lasts, survives};

const A_WHILE: Duration = Duration::from_millis(1_500);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn replies_that_are_fifty_milliseconds_late() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    survives("50 ms latency", (Way::ThroughAProxy, &proxy.url()), Memory::Kept, async {
        proxy.set_latency(Duration::from_millis(50));
        lasts(A_WHILE).await;
        proxy.set_latency(Duration::ZERO);
        monotonic::now()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn replies_of_which_one_in_a_hundred_is_fifty_milliseconds_late() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    survives("1 % of replies 50 ms late", (Way::ThroughAProxy, &proxy.url()), Memory::Kept, async {
        proxy.set_late(10, Duration::from_millis(50));
        lasts(Duration::from_secs(3)).await;
        proxy.set_late(0, Duration::ZERO);
        monotonic::now()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn sockets_that_are_open_and_dead() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    survives("half-open sockets", (Way::ThroughAProxy, &proxy.url()), Memory::Kept, async {
        proxy.cut(true);
        lasts(A_WHILE).await;
        // What was dead stays dead; what is new passes.
        proxy.cut(false);
        monotonic::now()
    })
    .await;
}
