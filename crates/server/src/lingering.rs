//! Closes a connection so that its last answer arrives.
//!
//! ```text
//!  we:    answer ── no more from us ── read and forget … ── closed
//!  they:  still sending ─────────────► read the answer ── closed
//! ```
//! A connection that is closed while there is something to be read is reset, and a reset takes the answer with it that the other end has
//! not read yet. So what is still coming is read and forgotten, for a bounded time and a bounded number of bytes.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;

/// How long the other end has to notice that we are done.
const LINGER_TIME_MAX: Duration = Duration::from_secs(2);
/// The same while the program ends: whoever knows that the connection ends with this answer sends no more.
const LINGER_TIME_STOPPING_MAX: Duration = Duration::from_millis(200);
/// Bytes that are read and forgotten; who sends more does not listen.
const LINGER_BYTES_MAX: usize = 1_024 * 1_024;
/// Bytes of one read.
const LINGER_READ_BYTES: usize = 16 * 1_024;

/// Says that no more will come, and closes once the other end does so too, or has had its time.
pub(crate) async fn close(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    stop: &mut watch::Receiver<bool>,
) {
    tokio::select! {
        () = forget(stream) => {}
        () = tokio::time::sleep(LINGER_TIME_MAX) => {}
        () = stopping(stop) => {}
    }
}

/// Until the program has been ending for a while.
async fn stopping(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
    tokio::time::sleep(LINGER_TIME_STOPPING_MAX).await;
}

async fn forget(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut left = LINGER_BYTES_MAX;
    // Not in the task: connections that live have no use for the room.
    let mut forgotten = vec![0; LINGER_READ_BYTES];
    while let Ok(bytes @ 1..) = stream.read(&mut forgotten).await {
        left = left.saturating_sub(bytes);
        if left == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};
    use tokio::time::timeout;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(1);

    /// Whether it is closed after so long.
    async fn is_closed_within(time: Duration, stream: &mut DuplexStream, is_stopping: bool) -> bool {
        let (_stop, mut stops) = watch::channel(is_stopping);
        timeout(time, close(stream, &mut stops)).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_at_once_when_the_other_end_is_done() {
        let (theirs, mut ours) = duplex(64);
        drop(theirs);
        assert!(is_closed_within(MOMENT, &mut ours, false).await);
    }

    #[tokio::test(start_paused = true)]
    async fn who_keeps_it_open_is_waited_for_so_long_and_no_longer() {
        for (is_stopping, time) in [(false, LINGER_TIME_MAX), (true, LINGER_TIME_STOPPING_MAX)] {
            let (mut theirs, mut ours) = duplex(64);
            assert!(!is_closed_within(time.saturating_sub(MOMENT), &mut ours, is_stopping).await);
            assert!(is_closed_within(time + MOMENT, &mut ours, is_stopping).await);
            assert!(matches!(theirs.read(&mut [0]).await, Ok(0)), "told that no more will come");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_never_stops_sending_is_read_so_far_and_no_further() {
        let (mut theirs, mut ours) = duplex(LINGER_READ_BYTES);
        let sending = tokio::spawn(async move {
            let mut sent = 0;
            while theirs.write_all(&[0; 1_024]).await.is_ok() {
                sent += 1_024;
            }
            sent
        });
        let (_stop, mut stops) = watch::channel(false);
        close(&mut ours, &mut stops).await;
        drop(ours);
        let sent = sending.await.unwrap();
        assert!((LINGER_BYTES_MAX..LINGER_BYTES_MAX + 4 * LINGER_READ_BYTES).contains(&sent), "{sent}");
    }
}
