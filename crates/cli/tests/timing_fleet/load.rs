//! Checks that come whether or not the ones before were answered: an open loop.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http_client::Connection;
use crate::stopwatch::now;

/// Clients, each with a connection.
const CLIENTS: u32 = 4;
/// Pause from one check of a client to its next.
const EVERY: Duration = Duration::from_millis(5);
/// Denials of a batch, each of another user, and the pause to the next: a little more rows each second than the log stores at most.
pub(crate) const BATCH: u32 = 150;
const BATCH_EVERY: Duration = Duration::from_millis(250);

/// Clients that ask until they are told to stop.
pub(crate) struct Load {
    is_over: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Seen>>,
}

/// What clients have seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// How many answers of each status.
    pub(crate) statuses: BTreeMap<u16, u32>,
    /// The longest from the moment that a check was due to its answer.
    pub(crate) slowest: Duration,
}

impl Load {
    /// Every other check of each client is denied.
    pub(crate) fn checks(door: SocketAddr) -> Load {
        Load::begin(CLIENTS, EVERY, door, |client, number| {
            let (user, path) =
                (format!("load-{client}-{number}"), ["/a", "/dear?cost=2"][number as usize % 2]);
            ("/v1/check", json!({ "method": "GET", "path": path, "user": user }).to_string())
        })
    }

    /// More denials than can be kept while the database is away for long.
    pub(crate) fn flood(door: SocketAddr) -> Load {
        Load::begin(1, BATCH_EVERY, door, |_, number| {
            let check = |at: u32| json!({ "method": "GET", "path": "/dear?cost=2", "user": format!("flood-{number}-{at}") });
            let checks: Vec<_> = (0..BATCH).map(check).collect();
            ("/v1/check/batch", json!({ "checks": checks }).to_string())
        })
    }

    fn begin(
        clients: u32,
        every: Duration,
        door: SocketAddr,
        request: impl Fn(u32, u32) -> (&'static str, String) + Copy + Send + 'static,
    ) -> Load {
        let is_over = Arc::new(AtomicBool::new(false));
        let clients = (0..clients).map(|client| {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || ask(door, &is_over, every, |number| request(client, number)))
        });
        let clients = clients.collect();
        Load { is_over, clients }
    }

    /// Stops, and says what was seen by all.
    pub(crate) fn end(self) -> Seen {
        self.is_over.store(true, Ordering::Relaxed);
        let mut all = Seen::default();
        for client in self.clients {
            let seen = client.join().unwrap();
            all.slowest = all.slowest.max(seen.slowest);
            for (status, count) in seen.statuses {
                *all.statuses.entry(status).or_default() += count;
            }
        }
        all
    }
}

fn ask(
    door: SocketAddr,
    is_over: &AtomicBool,
    every: Duration,
    request: impl Fn(u32) -> (&'static str, String),
) -> Seen {
    let (mut connection, mut seen) = (Connection::to(door), Seen::default());
    let mut due: Instant = now();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let (path, body) = request(number);
        std::thread::park_timeout(due.saturating_duration_since(now()));
        // Counted from when it was due: whoever is answered late asks the next one late, too.
        let answer = connection.post(path, &body);
        seen.slowest = seen.slowest.max(now().saturating_duration_since(due));
        *seen.statuses.entry(answer.status).or_default() += 1;
        due += every;
    }
    seen
}
