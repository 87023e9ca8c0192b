//! A proxy before a server that spoils what passes: late replies, lost replies, sockets that are open and dead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What is done to what passes. All can be changed while it passes.
#[derive(Default)]
pub(crate) struct Faults {
    /// Every reply is so late, in microseconds.
    latency_us: AtomicU64,
    /// Of a thousand reads of replies so many are later, by as much as `late_us`.
    late_per_mille: AtomicU64,
    late_us: AtomicU64,
    /// Replies are swallowed.
    loses_replies: AtomicBool,
    /// Nothing passes, and nobody is told: a cable that was cut.
    is_cut: AtomicBool,
    seed: AtomicU64,
}

/// A running proxy. Gone with the test.
pub(crate) struct FaultProxy {
    pub(crate) port: u16,
    faults: Arc<Faults>,
    hang_up: watch::Sender<u64>,
    accepting: JoinHandle<()>,
}

impl FaultProxy {
    /// Listens on a free port, and passes on to this one.
    pub(crate) async fn before(port: u16) -> FaultProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let faults = Arc::new(Faults::default());
        let hang_up = watch::Sender::new(0);
        let accepting = tokio::spawn(accept(listener, port, Arc::clone(&faults), hang_up.subscribe()));
        FaultProxy { port: own, faults, hang_up, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Every reply is so late.
    pub(crate) fn set_latency(&self, latency: Duration) {
        self.faults.latency_us.store(micros(latency), Ordering::Relaxed);
    }

    /// Of a thousand reads of replies so many are later, by as much.
    pub(crate) fn set_late(&self, per_mille: u64, by: Duration) {
        self.faults.late_us.store(micros(by), Ordering::Relaxed);
        self.faults.late_per_mille.store(per_mille, Ordering::Relaxed);
    }

    /// Calls arrive, and their replies do not.
    pub(crate) fn lose_replies(&self, loses: bool) {
        self.faults.loses_replies.store(loses, Ordering::Relaxed);
    }

    /// Nothing passes on connections that are open, and new ones are accepted and dead as well.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.faults.is_cut.store(is_cut, Ordering::Relaxed);
    }

    /// Closes every connection.
    pub(crate) fn hang_up(&self) {
        self.hang_up.send_modify(|times| *times += 1);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.hang_up();
        self.accepting.abort();
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap()
}

async fn accept(listener: TcpListener, port: u16, faults: Arc<Faults>, hang_up: watch::Receiver<u64>) {
    while let Ok((client, _)) = listener.accept().await {
        let (faults, mut hang_up) = (Arc::clone(&faults), hang_up.clone());
        hang_up.mark_unchanged();
        tokio::spawn(async move {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
            client.set_nodelay(true).unwrap();
            server.set_nodelay(true).unwrap();
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::select! {
                () = pass_calls(from_client, to_server, &faults) => {}
                () = pass_replies(from_server, to_client, &faults) => {}
                _ = hang_up.changed() => {}
            }
        });
    }
}

async fn pass_calls(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, faults: &Faults) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if faults.is_cut.load(Ordering::Relaxed) {
            return std::future::pending().await;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

async fn pass_replies(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, faults: &Faults) {
    let mut bytes = vec![0; 1 << 16];
    let mut random = fastrand::Rng::with_seed(faults.seed.fetch_add(1, Ordering::Relaxed));
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let latency = faults.latency_us.load(Ordering::Relaxed);
        let is_late = random.u64(..1_000) < faults.late_per_mille.load(Ordering::Relaxed);
        let pause = latency + if is_late { faults.late_us.load(Ordering::Relaxed) } else { 0 };
        if pause > 0 {
            tokio::time::sleep(Duration::from_micros(pause)).await;
        }
        if faults.is_cut.load(Ordering::Relaxed) {
            return std::future::pending().await;
        }
        if faults.loses_replies.load(Ordering::Relaxed) {
            continue;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
