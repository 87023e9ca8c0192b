//! A relay before Redis that passes calls on at once and holds back all replies now and then: 20 to 100 ms at random moments, 5 % of the time.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::splitmix::SplitMix;

/// The shortest and the longest time for which replies are held back, in milliseconds.
const HELD_MS: (u32, u32) = (20, 100);
/// The longest time between two of those, in milliseconds: 1,140 on average, so that 60 of 1,200 are held.
const BETWEEN_MS_MAX: u32 = 2_280;
const BUFFER_BYTES: usize = 1 << 16;

/// Passes on whatever arrives at `listener`, for as long as it is polled.
pub(crate) async fn run(listener: TcpListener, store: SocketAddr, seed: u64) {
    let (holding, is_held) = watch::channel(false);
    tokio::spawn(hold_now_and_then(holding, SplitMix::new(seed)));
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(pass(client, store, is_held.clone()));
    }
}

async fn hold_now_and_then(holding: watch::Sender<bool>, mut random: SplitMix) {
    let millis = |millis: u32| Duration::from_millis(millis.into());
    while !holding.is_closed() {
        tokio::time::sleep(millis(random.below(BETWEEN_MS_MAX + 1))).await;
        holding.send_replace(true);
        tokio::time::sleep(millis(HELD_MS.0 + random.below(HELD_MS.1 - HELD_MS.0 + 1))).await;
        holding.send_replace(false);
    }
}

async fn pass(client: TcpStream, store: SocketAddr, mut is_held: watch::Receiver<bool>) {
    let Ok(server) = TcpStream::connect(store).await else { return };
    if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
        return;
    }
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let calls = async { tokio::io::copy(&mut from_client, &mut to_server).await.map(|_| ()) };
    let replies = async {
        let mut bytes = vec![0; BUFFER_BYTES];
        loop {
            let count = from_server.read(&mut bytes).await?;
            if count == 0 || is_held.wait_for(|is_held| !is_held).await.is_err() {
                return Ok(());
            }
            to_client.write_all(bytes.get(..count).unwrap_or_default()).await?;
        }
    };
    let _: Result<(), std::io::Error> = tokio::select! {
        done = calls => done,
        done = replies => done,
    };
}
