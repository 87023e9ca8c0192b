//! What lies between us and the store: latency, late and lost replies, cables that were cut.

use std::time::Duration;

use tollgate_redis::LinkError;

use crate::asking::{PATIENCE, RECOVERY_MAX, answers_again, check, left, notices, open};
use crate::fleet::{FaultProxy, RedisServer};

#[tokio::test]
async fn a_late_reply_is_not_taken_for_another() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let link = open(&proxy.url());
    left(&link, "ann").await;
    proxy.set_latency(Duration::from_millis(50));
    let late = check(&link, "ann", Duration::from_millis(15)).await.unwrap_err();
    assert_eq!(late, LinkError::TimedOut);
    assert!(late.may_be_done(), "it was charged");
    assert_eq!(left(&link, "bob").await, 999, "the late reply belongs to the one before");
    proxy.set_latency(Duration::ZERO);
    assert_eq!(left(&link, "ann").await, 997);
    assert_eq!(link.counts().losses, 0, "a late reply is no loss");
}

#[tokio::test]
async fn replies_that_are_late_now_and_then_delay_only_those_behind_them() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    proxy.set_late(10, Duration::from_millis(90));
    let link = open(&proxy.url());
    let mut late = 0;
    for _ in 0..300 {
        late += u32::from(check(&link, "ann", Duration::from_millis(60)).await.is_err());
    }
    assert!((1..=30).contains(&late), "{late} of 300");
    assert_eq!(link.counts().losses, 0);
}

#[tokio::test]
async fn a_cable_that_was_cut_is_noticed_though_nobody_says_so() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let link = open(&proxy.url());
    left(&link, "ann").await;
    proxy.cut(true);
    let hung =
        tokio::time::timeout(Duration::from_millis(200), check(&link, "ann", Duration::from_millis(15)))
            .await;
    assert_eq!(hung.expect("no call outlives its deadline").unwrap_err(), LinkError::TimedOut);
    notices(&link, Duration::from_millis(1_750)).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    proxy.cut(false);
    answers_again(&link, RECOVERY_MAX).await;
}

#[tokio::test]
async fn a_half_open_socket_is_replaced_while_new_connections_work() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let link = open(&proxy.url());
    left(&link, "ann").await;
    proxy.lose_replies(true);
    assert_eq!(check(&link, "ann", Duration::from_millis(50)).await.unwrap_err(), LinkError::TimedOut);
    proxy.cut(true);
    tokio::time::sleep(Duration::from_millis(50)).await;
    check(&link, "ann", Duration::from_millis(15)).await.unwrap_err();
    // What is dead stays dead; what is new passes.
    proxy.lose_replies(false);
    proxy.cut(false);
    answers_again(&link, Duration::from_millis(1_250) + RECOVERY_MAX).await;
    assert_eq!(link.counts().losses, 1);
}

#[tokio::test]
async fn a_connection_that_is_closed_under_a_call_is_told_as_lost_and_made_again() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let link = open(&proxy.url());
    left(&link, "ann").await;
    // So that the heartbeat has shown once that the server is sound.
    tokio::time::sleep(Duration::from_millis(300)).await;
    proxy.set_latency(Duration::from_millis(100));
    let pending = tokio::spawn({
        let link = link.clone();
        async move { check(&link, "ann", PATIENCE).await }
    });
    tokio::time::sleep(Duration::from_millis(30)).await;
    proxy.hang_up();
    let lost = pending.await.unwrap().unwrap_err();
    assert_eq!(lost, LinkError::Lost);
    assert!(lost.may_be_done());
    proxy.set_latency(Duration::ZERO);
    check(&link, "ann", PATIENCE)
        .await
        .unwrap_or_else(|error| panic!("waits for the new connection: {error}"));
}
