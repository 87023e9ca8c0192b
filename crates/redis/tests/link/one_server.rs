//! One server: killed, restarted, started late, flushed, full, a replica.

use std::time::Duration;

use tollgate_redis::{DialError, LinkError, LinkOptions, LinkStatus, ServerError};

use crate::asking::{PATIENCE, RECOVERY_MAX, answers_again, check, left, notices, open, open_with};
use crate::fleet::{RedisServer, free_port};

#[tokio::test]
async fn a_call_is_one_round_trip_and_one_more_where_the_script_is_unknown() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let link = open(&server.url());
    assert_eq!(left(&link, "ann").await, 999);
    assert_eq!((link.counts().round_trips, link.counts().scripts_sent), (2, 1));
    assert_eq!(left(&link, "ann").await, 998);
    assert_eq!((link.counts().round_trips, link.counts().scripts_sent), (3, 1));
    server.tell("SCRIPT FLUSH").await;
    assert_eq!(left(&link, "ann").await, 997, "a flushed script is charged once");
    assert_eq!((link.counts().round_trips, link.counts().scripts_sent), (5, 2));
    assert!(matches!(link.status(), LinkStatus::Connected(_)));
}

#[tokio::test]
async fn a_unix_socket_and_a_database_are_used_as_the_url_says() {
    needs_redis!();
    let server = RedisServer::start("--unixsocket socket").await;
    let socket = server.folder.join("socket");
    let link = open(&format!("unix:{}?db=3", socket.display()));
    assert_eq!(left(&link, "ann").await, 999);
    let spaces: String = server.ask("INFO keyspace").await.unwrap();
    assert!(spaces.contains("db3:keys=1") && !spaces.contains("db0"), "{spaces}");
    let link = open(&format!("{}/3", server.url()));
    assert_eq!(left(&link, "ann").await, 998);
}

#[tokio::test]
async fn a_link_opens_before_the_store_is_there_and_says_why_it_is_not() {
    needs_redis!();
    let port = free_port();
    let link = open(&format!("redis://127.0.0.1:{port}"));
    let refused = check(&link, "ann", PATIENCE).await.unwrap_err();
    assert!(
        matches!(&refused, LinkError::NotConnected(cause) if matches!(**cause, DialError::Unreachable { .. })),
        "{refused}"
    );
    assert!(refused.to_string().contains("see whether the server runs there"), "{refused}");
    assert!(!refused.may_be_done());
    tokio::time::sleep(Duration::from_millis(600)).await;
    let server = RedisServer::spawn(port, "");
    server.wait().await;
    answers_again(&link, RECOVERY_MAX).await;
}

#[tokio::test]
async fn a_killed_server_is_noticed_at_once_and_found_again_when_it_is_restarted_empty() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let link = open(&server.url());
    assert_eq!(left(&link, "ann").await, 999);
    server.kill();
    notices(&link, Duration::from_millis(500)).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    server.restart().await;
    answers_again(&link, RECOVERY_MAX).await;
    assert_eq!(left(&link, "ann").await, 999, "it was restarted empty, without the script");
    assert_eq!(link.counts().losses, 1);
}

#[tokio::test]
async fn a_stopped_server_holds_no_call_beyond_its_deadline_and_is_replaced() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let link = open(&server.url());
    left(&link, "ann").await;
    server.signal("STOP");
    let deadline = Duration::from_millis(15);
    let hung = tokio::time::timeout(Duration::from_millis(200), check(&link, "ann", deadline)).await;
    assert_eq!(hung.expect("no call outlives its deadline").unwrap_err(), LinkError::TimedOut);
    // It is known to be dead after a heartbeat and the longest silence; then calls are refused at once.
    notices(&link, Duration::from_millis(1_750)).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    server.signal("CONT");
    answers_again(&link, RECOVERY_MAX).await;
}

#[tokio::test]
async fn no_more_calls_are_under_way_than_may_be() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let link = open_with(&server.url(), &LinkOptions { calls_max: 8, ..LinkOptions::default() });
    left(&link, "ann").await;
    server.signal("STOP");
    let mut results = Vec::new();
    for _ in 0..12 {
        // Their callers give up; the calls are still in the socket.
        results.push(check(&link, "ann", Duration::from_millis(1)).await.unwrap_err());
    }
    let refused = results.iter().filter(|error| **error == LinkError::Overloaded { calls_max: 8 }).count();
    assert_eq!((refused, link.counts().overloads), (4, 4), "{results:?}");
    server.signal("CONT");
    answers_again(&link, RECOVERY_MAX).await;
}

#[tokio::test]
async fn a_replica_a_full_server_and_a_stranger_at_the_key_are_told_apart() {
    needs_redis!();
    let master = RedisServer::start("").await;
    let link = open(&master.url());
    left(&link, "ann").await;

    master.tell("LPUSH tg:*:bob stranger").await;
    let batch = crate::asking::batch_of("bob");
    let reply = link.call(batch.call(), PATIENCE).await.unwrap();
    let told = format!("{:?}", batch.read(&reply).unwrap());
    assert!(told.contains("WrongType"), "{told}");

    master.tell("CONFIG SET maxmemory 1").await;
    let full = check(&link, "new", PATIENCE).await.unwrap_err();
    assert!(matches!(full, LinkError::Server(ServerError::OutOfMemory(_))), "{full}");
    master.tell("CONFIG SET maxmemory 0").await;
    left(&link, "new").await;

    master.tell(&format!("REPLICAOF 127.0.0.1 {}", free_port())).await;
    let replica = check(&link, "ann", PATIENCE).await.unwrap_err();
    assert!(
        matches!(&replica, LinkError::Server(ServerError::ReadOnly(_) | ServerError::NotReady(_))),
        "{replica}"
    );
    assert!(!replica.may_be_done());
    master.tell("REPLICAOF NO ONE").await;
    answers_again(&link, RECOVERY_MAX).await;
}

#[tokio::test]
async fn what_is_no_redis_server_is_said_to_be_none() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let answer = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
            let _ = tokio::io::AsyncWriteExt::write_all(&mut socket, answer).await;
        }
    });
    let link = open(&format!("redis://127.0.0.1:{port}"));
    let refused = check(&link, "ann", PATIENCE).await.unwrap_err();
    assert!(refused.to_string().contains("is no Redis server"), "{refused}");
}

#[tokio::test]
async fn each_change_of_status_is_told_once() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let link = open(&server.url());
    left(&link, "ann").await;
    let mut watch = link.watch();
    assert!(matches!(watch.next().await, Some(LinkStatus::Connected(_))));
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.kill();
    let mut told = vec![watch.next().await.unwrap()];
    if told == [LinkStatus::Connecting] {
        told.push(watch.next().await.unwrap());
    }
    assert!(matches!(told.last(), Some(LinkStatus::Down(_))), "{told:?}");
    // A second of attempts that fail alike is no news.
    assert!(tokio::time::timeout(Duration::from_secs(1), watch.next()).await.is_err());
    server.restart().await;
    let back = tokio::time::timeout(RECOVERY_MAX, watch.next()).await;
    assert!(matches!(back, Ok(Some(LinkStatus::Connected(_)))), "{back:?}");
    drop(link);
    assert_eq!(watch.next().await, None, "the watch does not keep the link open");
}
