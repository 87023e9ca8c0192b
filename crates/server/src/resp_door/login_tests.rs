//! Connections that have not sent the password: their time, their quota, and wrong passwords. The time is virtual.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::{EVICTED, LOGIN_TIME_MAX, PendingLogins, serve};
use crate::gatehouse::Gatehouse;
use crate::metrics;
use crate::resp::{Password, Settings};
use crate::test_log::Log;

const WRONG: &str = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
const SOON: Duration = Duration::from_millis(10);

/// A listener with a password and so many connections.
struct Listener {
    gatehouse: Arc<Gatehouse>,
    permits: Arc<Semaphore>,
    logins: Arc<PendingLogins>,
}

impl Listener {
    fn new(connections_max: usize, idle_timeout: Duration) -> Listener {
        let settings = Settings { password: Some(Password::new("open sesame")), ..Settings::default() };
        let mut gatehouse = Gatehouse::without_doors();
        (gatehouse.resp, gatehouse.idle_timeout) = (settings.into(), idle_timeout);
        Listener {
            gatehouse: Arc::new(gatehouse),
            permits: Arc::new(Semaphore::new(connections_max)),
            logins: PendingLogins::new(connections_max),
        }
    }

    /// The client's end of a new connection; `None` if the listener is full.
    fn connect(&self) -> Option<DuplexStream> {
        self.connect_from([192, 0, 2, 7])
    }

    /// Connects from this address.
    fn connect_from(&self, peer: [u8; 4]) -> Option<DuplexStream> {
        let (theirs, ours) = duplex(1_024);
        let pending = self.logins.admit(Arc::clone(&self.permits).try_acquire_owned().ok(), None)?;
        let gatehouse = Arc::clone(&self.gatehouse);
        tokio::spawn(async move {
            let (_stop, stops) = watch::channel(false);
            serve(&gatehouse, ours, Some(IpAddr::from(peer)), Some(pending), stops).await;
        });
        Some(theirs)
    }

    fn metric(&self, name: &str) -> String {
        let page = metrics::page(&self.gatehouse.engine).unwrap();
        let line = page.lines().find(|line| line.starts_with(name));
        line.unwrap().rsplit(' ').next().unwrap().to_owned()
    }
}

/// Everything until the other end closes.
async fn rest(stream: &mut DuplexStream) -> String {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    String::from_utf8(rest).unwrap()
}

/// The virtual time that this takes, rounded to 50 ms.
async fn time_of(work: impl Future<Output = ()>) -> Duration {
    let (mut work, mut millis) = (pin!(work), 0);
    loop {
        tokio::select! {
            biased;
            () = &mut work => return Duration::from_millis((millis + 25) / 50 * 50),
            () = tokio::time::sleep(Duration::from_millis(1)) => millis += 1,
        }
    }
}

/// Sends a line and asserts its reply. Returns the time that the reply took.
async fn ask(stream: &mut DuplexStream, line: &str, expected: &str) -> Duration {
    time_of(async {
        stream.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
        let mut reply = vec![0; expected.len()];
        stream.read_exact(&mut reply).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&reply), expected, "{line}");
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_closed_before_it_logs_in() {
    for (idle_timeout, time) in [(1, 1), (60, LOGIN_TIME_MAX.as_secs())] {
        let listener = Listener::new(100, Duration::from_secs(idle_timeout));
        let mut silent = listener.connect().unwrap();
        let open_for = time_of(async { assert_eq!(rest(&mut silent).await, "") }).await;
        assert_eq!(open_for.as_secs(), time);
        tokio::time::sleep(SOON).await;
        assert_eq!(listener.permits.available_permits(), 100);
    }
}

#[tokio::test(start_paused = true)]
async fn requests_do_not_prolong_the_time_to_log_in() {
    let listener = Listener::new(100, Duration::from_mins(1));
    let most = LOGIN_TIME_MAX + Duration::from_secs(1);
    let mut busy = listener.connect().unwrap();
    let open_for = time_of(async {
        while busy.write_all(b"PING\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let _ = timeout(SOON, busy.read(&mut [0; 1_024])).await;
        }
    });
    assert!(open_for.await <= most);
    // One that does not take its replies has no more time.
    let mut deaf = listener.connect().unwrap();
    assert!(time_of(async { while deaf.write_all(b"PING\r\n").await.is_ok() {} }).await <= most);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_logged_in_may_be_silent() {
    let listener = Listener::new(4, Duration::from_secs(1));
    let mut client = listener.connect().unwrap();
    ask(&mut client, "AUTH \"open sesame\"", "+OK\r\n").await;
    tokio::time::sleep(Duration::from_mins(30)).await;
    ask(&mut client, "PING", "+PONG\r\n").await;
}

#[tokio::test(start_paused = true)]
async fn the_right_client_gets_in_while_silent_ones_fill_the_listener() {
    let listener = Listener::new(100, Duration::from_mins(1));
    let mut silent: Vec<_> = (0..100).map(|_| listener.connect().unwrap()).collect();
    let mut client = listener.connect().unwrap();
    ask(&mut client, "AUTH \"open sesame\"", "+OK\r\n").await;
    assert_eq!(rest(&mut silent[0]).await.as_bytes(), EVICTED);
    let _more: Vec<_> = (0..100).map(|_| listener.connect().unwrap()).collect();
    ask(&mut client, "PING", "+PONG\r\n").await;
    // 75 of the first, one for the client, whose slot one of the others takes, and 99.
    assert_eq!(listener.metric("tollgate_connections_shed_total{door=\"resp\"}"), "175");
    let clients: Vec<_> = (0..99).map(|_| listener.connect().unwrap()).collect();
    for mut client in clients.into_iter().rev().take(25) {
        ask(&mut client, "AUTH \"open sesame\"", "+OK\r\n").await;
    }
}

#[tokio::test(start_paused = true)]
async fn wrong_passwords_are_slowed_counted_and_end_the_connection() {
    let listener = Listener::new(100, Duration::from_mins(1));
    let mut guesser = listener.connect().unwrap();
    let mut delays = Vec::new();
    for guess in ["AUTH a", "AUTH default b", "HELLO 3 AUTH default c", "AUTH bob \"open sesame\"", "AUTH e"]
    {
        delays.push(ask(&mut guesser, guess, WRONG).await.as_millis());
    }
    assert_eq!(delays, [100, 200, 400, 800, 1_600]);
    assert_eq!(rest(&mut guesser).await, "");
    assert_eq!(listener.metric("tollgate_resp_auth_failures_total"), "5");
    let mut client = listener.connect().unwrap();
    assert!(ask(&mut client, "AUTH \"open sesame\"", "+OK\r\n").await < SOON, "the right one is not slowed");
}

#[tokio::test(start_paused = true)]
async fn wrong_passwords_of_all_peers_are_logged_without_a_further_one() {
    let (log, _listening) = Log::of_this_thread();
    let logged = || {
        let text = log.text();
        let events = text.lines().filter_map(|line| line.split_once("RESP authentication failed "));
        events.map(|(_, fields)| fields.to_owned()).collect::<Vec<_>>()
    };
    let listener = Listener::new(100, Duration::from_mins(1));
    for (host, guesses) in [(5, 4), (6, 4), (7, 1)] {
        let mut guesser = listener.connect_from([127, 0, 0, host]).unwrap();
        for _ in 0..guesses {
            ask(&mut guesser, "AUTH wrong", WRONG).await;
        }
    }
    let first = "failures_all_peers=1 last_peer=127.0.0.5";
    assert_eq!(logged(), [first]);
    sleep(Duration::from_secs(30)).await;
    let rest = "failures_all_peers=8 last_peer=127.0.0.7";
    assert_eq!(logged(), [first, rest]);
    ask(&mut listener.connect_from([127, 0, 0, 8]).unwrap(), "AUTH wrong", WRONG).await;
    let later = "failures_all_peers=1 last_peer=127.0.0.8";
    assert_eq!(logged(), [first, rest, later], "after a pause the first is logged at once");
}

#[tokio::test(start_paused = true)]
async fn guesses_in_one_write_are_answered_one_by_one() {
    let listener = Listener::new(100, Duration::from_mins(1));
    let mut guesser = listener.connect().unwrap();
    guesser.write_all("AUTH a\r\n".repeat(100).as_bytes()).await.unwrap();
    let open_for = time_of(async { assert_eq!(rest(&mut guesser).await, WRONG.repeat(5)) }).await;
    assert_eq!(open_for.as_millis(), 3_100);
    assert_eq!(listener.metric("tollgate_resp_auth_failures_total"), "5");
}

#[tokio::test(start_paused = true)]
async fn an_address_with_many_guesses_waits_longest_but_gets_in() {
    let listener = Listener::new(400, Duration::from_mins(1));
    let mut guessers: Vec<_> = (0..50).map(|_| listener.connect().unwrap()).collect();
    for guesser in &mut guessers {
        guesser.write_all(b"AUTH wrong\r\n").await.unwrap();
    }
    let longest = time_of(async {
        for guesser in &mut guessers {
            guesser.read_exact(&mut vec![0; WRONG.len()]).await.unwrap();
        }
    });
    assert_eq!(longest.await.as_millis(), 2_000);
    let mut client = listener.connect().unwrap();
    assert!(ask(&mut client, "AUTH \"open sesame\"", "+OK\r\n").await < SOON);
}

#[tokio::test(start_paused = true)]
async fn requests_behind_the_password_are_answered() {
    let listener = Listener::new(4, Duration::from_secs(1));
    let mut client = listener.connect().unwrap();
    let sent = "AUTH \"open sesame\"\r\nCL.THROTTLE k 0 1 60\r\nPING";
    ask(&mut client, sent, "+OK\r\n*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n+PONG\r\n").await;
}
