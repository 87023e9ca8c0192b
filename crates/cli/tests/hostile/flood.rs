//! A flood: many connections of one client that send requests as fast as they are answered.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::raw_client::connect;

/// How long a flood takes.
const TIME: Duration = Duration::from_secs(3);

/// The target of a flood and its clients.
#[derive(Clone, Copy)]
pub(crate) struct Flood {
    pub(crate) port: u16,
    pub(crate) client: u8,
    pub(crate) connections: usize,
}

/// Replies to a flood.
#[derive(Debug)]
pub(crate) struct Outcome {
    admitted: usize,
    /// 429.
    pub(crate) denied: usize,
    /// Any other reply, or none.
    other: usize,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { admitted, denied, other } = self;
        write!(f, "replies: {admitted} 200, {denied} 429, {other} others")
    }
}

#[derive(Default)]
struct Counts {
    sent: AtomicUsize,
    admitted: AtomicUsize,
    denied: AtomicUsize,
    other: AtomicUsize,
}

impl Flood {
    pub(crate) async fn run(self) -> Outcome {
        let counts = Arc::new(Counts::default());
        let flooding: Vec<_> = (0..self.connections)
            .map(|number| tokio::spawn(self.flood(number, Arc::clone(&counts))))
            .collect();
        tokio::time::sleep(TIME).await;
        for connection in flooding {
            connection.abort();
            let _ = connection.await;
        }
        let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
        Outcome {
            admitted: count(&counts.admitted),
            denied: count(&counts.denied),
            other: count(&counts.other),
        }
    }

    /// One connection, and another one when it ends. Every second connection asks for another path each time, so that no reply can
    /// be remembered.
    async fn flood(self, number: usize, counts: Arc<Counts>) {
        loop {
            let Ok(mut stream) = connect(self.port, self.client).await else {
                counts.other.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                continue;
            };
            loop {
                let sent = counts.sent.fetch_add(1, Ordering::SeqCst);
                let path = if number.is_multiple_of(2) { "/".to_owned() } else { format!("/?{sent}") };
                let request = format!("GET {path} HTTP/1.1\r\nHost: shop.example\r\n\r\n");
                let Some(status) = exchange(&mut stream, request.as_bytes()).await else {
                    counts.other.fetch_add(1, Ordering::SeqCst);
                    break;
                };
                let counter = match status {
                    200 => &counts.admitted,
                    429 => &counts.denied,
                    _ => &counts.other,
                };
                counter.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

/// Sends a request and reads the reply whole; its status, or none if the connection ended or ends with it.
async fn exchange(stream: &mut tokio::net::TcpStream, request: &[u8]) -> Option<u16> {
    stream.write_all(request).await.ok()?;
    let mut reply = Vec::with_capacity(1_024);
    loop {
        if let Some(end) = reply.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&reply[..end]).to_ascii_lowercase();
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length: "))?.trim().parse::<usize>();
            if reply.len() >= end + 4 + length.ok()? {
                return head.get(9..12)?.parse().ok();
            }
        }
        if stream.read_buf(&mut reply).await.ok()? == 0 {
            return None;
        }
    }
}
