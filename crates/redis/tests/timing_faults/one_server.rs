//! Faults of one server.

use std::time::Duration;

use crate::fleet::RedisServer;
use crate::monotonic;
use crate::trial::{Memory, Way, lasts, survives};

const A_WHILE: Duration = Duration::from_millis(1_500);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_is_killed_and_restarted_empty() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let url = server.url();
    survives("kill -9, then restarted empty", (Way::Straight, &url), Memory::Lost, async {
        server.kill();
        lasts(A_WHILE).await;
        server.launch();
        server.wait().await;
        monotonic::now()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_is_restarted_empty_at_once() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let url = server.url();
    survives("restarted empty at once", (Way::Straight, &url), Memory::Lost, async {
        server.restart().await;
        monotonic::now()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_is_stopped_for_three_seconds() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let url = server.url();
    survives("SIGSTOP for 3 s", (Way::Straight, &url), Memory::Kept, async {
        server.signal("STOP");
        lasts(Duration::from_secs(3)).await;
        server.signal("CONT");
        monotonic::now()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_forgets_its_scripts() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let url = server.url();
    survives("SCRIPT FLUSH", (Way::Straight, &url), Memory::Kept, async {
        for _ in 0..10 {
            server.tell("SCRIPT FLUSH").await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        monotonic::now()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_without_memory() {
    needs_redis!();
    let server = RedisServer::start("--maxmemory-policy noeviction").await;
    let url = server.url();
    survives("maxmemory with noeviction", (Way::Straight, &url), Memory::Kept, async {
        server.tell("CONFIG SET maxmemory 1").await;
        lasts(A_WHILE).await;
        server.tell("CONFIG SET maxmemory 0").await;
        monotonic::now()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_does_not_take_writes_after_a_failover() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let url = server.url();
    survives("READONLY", (Way::Straight, &url), Memory::Kept, async {
        // Of a master that is not there: it keeps what it has, and takes no writes.
        server.tell("REPLICAOF 127.0.0.1 1").await;
        lasts(A_WHILE).await;
        server.tell("REPLICAOF NO ONE").await;
        monotonic::now()
    })
    .await;
}
