//! What connections of the Redis protocol make us hold takes room, of which there is so much.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::time::timeout;

use super::{NO_ROOM, READ_BYTES, serve};
use crate::gatehouse::Gatehouse;
use crate::metrics;

/// Much shorter than any patience of the door.
const MOMENT: Duration = Duration::from_millis(10);

/// The client's end of a connection on which so many bytes may be on their way.
fn connect(gatehouse: &Arc<Gatehouse>, way_bytes: usize) -> DuplexStream {
    let (theirs, ours) = duplex(way_bytes);
    let gatehouse = Arc::clone(gatehouse);
    tokio::spawn(async move {
        // The sender lives as long as the connection: nobody is told to stop.
        let (_stop, stops) = watch::channel(false);
        serve(&gatehouse, ours, None, None, stops).await;
    });
    theirs
}

fn shed(gatehouse: &Gatehouse) -> String {
    let page = metrics::page(&gatehouse.engine).unwrap();
    let line = page.lines().find(|line| line.starts_with("tollgate_requests_shed_total{door=\"resp\"}"));
    line.unwrap().rsplit(' ').next().unwrap().to_owned()
}

/// Asks for long replies and takes none of them.
async fn deaf(gatehouse: &Arc<Gatehouse>) -> DuplexStream {
    let mut deaf = connect(gatehouse, 4 * READ_BYTES);
    deaf.write_all(&b"COMMAND\r\n".repeat(1_000)).await.unwrap();
    // Virtual: until the server waits for the client.
    tokio::time::sleep(MOMENT).await;
    deaf
}

/// Whether the other end has closed it.
async fn is_closed(stream: &mut DuplexStream) -> bool {
    let mut rest = Vec::new();
    timeout(MOMENT, stream.read_to_end(&mut rest)).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn replies_that_are_not_taken_take_room_and_who_finds_none_is_closed_and_counted() {
    let gatehouse = Gatehouse::with_room(400 * 1_024);
    let first = deaf(&gatehouse).await;
    assert_eq!(shed(&gatehouse), "0");
    let mut second = deaf(&gatehouse).await;
    assert_eq!(shed(&gatehouse), "1");
    assert!(is_closed(&mut second).await);
    let mut polite = connect(&gatehouse, READ_BYTES);
    polite.write_all(b"PING\r\n").await.unwrap();
    assert_eq!(polite.read_u8().await.unwrap(), b'+', "who takes its replies needs no room");
    drop(first);
    tokio::time::sleep(MOMENT).await;
    let _third = deaf(&gatehouse).await;
    assert_eq!(shed(&gatehouse), "1", "room is given back");
}

#[tokio::test(start_paused = true)]
async fn a_long_request_that_is_not_finished_takes_room_and_who_finds_none_is_told_and_counted() {
    let gatehouse = Gatehouse::with_room(100 * 1_024);
    let begin = async || {
        let mut begun = connect(&gatehouse, 4 * READ_BYTES);
        begun.write_all(b"*3\r\n$4\r\nECHO\r\n$32768\r\n").await.unwrap();
        begun.write_all(&vec![b'a'; 32_768]).await.unwrap();
        tokio::time::sleep(MOMENT).await;
        begun
    };
    let mut held = begin().await;
    let mut all = Vec::new();
    while shed(&gatehouse) == "0" {
        all.push(begin().await);
        assert!(all.len() < 5, "each takes more than 32 KiB of 100");
    }
    let mut said = vec![0; NO_ROOM.len()];
    all.pop().unwrap().read_exact(&mut said).await.unwrap();
    assert_eq!(said, NO_ROOM);
    held.write_all(b"\r\n$1\r\na\r\n").await.unwrap();
    assert_eq!(held.read_u8().await.unwrap(), b'-', "what has its room is answered: too many words");
    drop(held);
    drop(all);
    tokio::time::sleep(MOMENT).await;
    let _again = begin().await;
    assert_eq!(shed(&gatehouse), "1", "room is given back");
}

#[tokio::test(start_paused = true)]
async fn who_takes_long_replies_drop_by_drop_is_given_up() {
    let gatehouse = Gatehouse::with_room(10 * 1_024 * 1_024);
    let mut slow = connect(&gatehouse, 4 * READ_BYTES);
    slow.write_all(&b"COMMAND\r\n".repeat(1_000)).await.unwrap();
    let mut taken = [0; 2_000];
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        if slow.read(&mut taken).await.unwrap() == 0 {
            return;
        }
    }
    // What was on its way may still be read; then it ends.
    assert!(is_closed(&mut slow).await, "still served after 30 s");
}

#[tokio::test(start_paused = true)]
async fn queued_commands_take_room_and_are_not_charged_without_it() {
    let gatehouse = Gatehouse::with_room(100 * 1_024);
    let begin = async || {
        let mut begun = connect(&gatehouse, 64 * READ_BYTES);
        begun.write_all(b"MULTI\r\nCL.THROTTLE k 9 1 3600\r\n").await.unwrap();
        begun.write_all(format!("ECHO {}\r\n", "x".repeat(40_000)).as_bytes()).await.unwrap();
        tokio::time::sleep(MOMENT).await;
        begun
    };
    let mut held = begin().await;
    let mut all = Vec::new();
    while shed(&gatehouse) == "0" {
        all.push(begin().await);
        assert!(all.len() < 5, "each takes more than 40 KB of 100 KiB");
    }
    let mut told = Vec::new();
    all.pop().unwrap().read_to_end(&mut told).await.unwrap();
    assert!(told.starts_with(b"+OK\r\n+QUEUED\r\n") && told.ends_with(NO_ROOM), "{}", told.escape_ascii());
    drop(all);
    held.write_all(b"DISCARD\r\nCL.THROTTLE k 9 1 3600 0\r\n").await.unwrap();
    let expected = b"+OK\r\n+QUEUED\r\n+QUEUED\r\n+OK\r\n*5\r\n:0\r\n:10\r\n:10\r\n:-1\r\n:0\r\n";
    let mut replies = vec![0; expected.len()];
    held.read_exact(&mut replies).await.unwrap();
    assert_eq!(replies, expected, "nothing was charged");
    let _again = begin().await;
    assert_eq!(shed(&gatehouse), "1", "room is given back");
}

#[tokio::test(start_paused = true)]
async fn a_long_transaction_must_end_in_time() {
    let gatehouse = Gatehouse::with_room(1_024 * 1_024);
    let echo = format!("ECHO {}\r\n", "x".repeat(10_000));
    let mut short = connect(&gatehouse, 4 * READ_BYTES);
    let mut long = connect(&gatehouse, 4 * READ_BYTES);
    short.write_all(format!("MULTI\r\n{echo}").as_bytes()).await.unwrap();
    long.write_all(format!("MULTI\r\n{echo}{echo}{echo}").as_bytes()).await.unwrap();
    let mut busy = connect(&gatehouse, 4 * READ_BYTES);
    // Always inside of a long transaction, and each of them ends in time.
    busy.write_all(format!("MULTI\r\n{echo}{echo}{echo}").as_bytes()).await.unwrap();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(400)).await;
        busy.write_all(format!("DISCARD\r\nMULTI\r\n{echo}{echo}{echo}").as_bytes()).await.unwrap();
        // The commands of the long one do not prolong its time.
        let _ = long.write_all(b"PING\r\n").await;
    }
    assert!(is_closed(&mut long).await, "8 s after it began");
    assert!(!is_closed(&mut busy).await);
    short.write_all(b"EXEC\r\n").await.unwrap();
    let mut replies = vec![0; 30];
    short.read_exact(&mut replies).await.unwrap();
    assert!(replies.starts_with(b"+OK\r\n+QUEUED\r\n*1\r\n$10000\r\n"), "{}", replies.escape_ascii());
}
