//! One connection that asks without end takes little from the others, and nothing beyond its maximum. No time is measured:
//! what passes between a question and its answer is counted in bytes that the greedy one was served.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, duplex};
use tokio::sync::watch;

use super::{READ_BYTES, serve};
use crate::gatehouse::Gatehouse;

/// Where the greedy one gives up, so that a test in which nobody else has a turn ends.
const ENOUGH_BYTES: usize = 64 * 1_024 * 1_024;
/// Most that the greedy one may be served between a question of another and its answer: a turn before the question is read, and
/// one before the answer is. A buffer that has grown makes for a turn of twice the size.
const BETWEEN_BYTES_MAX: usize = 4 * READ_BYTES;

/// A connection on which the next request has always arrived already.
struct Greedy {
    request: &'static [u8],
    /// The request again and again, longer than any read.
    endless: Vec<u8>,
    /// What one read finds, in bytes.
    read_bytes: usize,
    takes_answers: bool,
    asked: Arc<AtomicUsize>,
}

impl Greedy {
    fn new(request: &'static [u8], read_bytes: usize, takes_answers: bool) -> (Greedy, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let endless = request.repeat(5 * READ_BYTES / request.len());
        (Greedy { request, endless, read_bytes, takes_answers, asked: Arc::clone(&asked) }, asked)
    }
}

impl AsyncRead for Greedy {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let asked = self.asked.load(Ordering::Relaxed);
        if asked < ENOUGH_BYTES {
            let begun = asked % self.request.len();
            let bytes = self.read_bytes.min(buffer.remaining()).min(self.endless.len() - begun);
            buffer.put_slice(&self.endless[begun..begun + bytes]);
            self.asked.fetch_add(bytes, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Greedy {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.takes_answers { Poll::Ready(Ok(bytes.len())) } else { Poll::Pending }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

const THROTTLE: &[u8] = b"*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$1\r\n9\r\n$1\r\n1\r\n$1\r\n1\r\n";
const CHECK: &[u8] = b"*3\r\n$14\r\nTOLLGATE.CHECK\r\n$2\r\nip\r\n$9\r\n192.0.2.7\r\n";

/// The most that a greedy client was served, in bytes, between a question of a polite one and its answer; one thread serves both.
async fn served_between(request: &'static [u8], read_bytes: usize) -> usize {
    let gatehouse = Arc::new(Gatehouse::without_doors());
    let (_stop, stops) = watch::channel(false);
    let (greedy, asked) = Greedy::new(request, read_bytes, true);
    let (mut polite, theirs) = duplex(64);
    let (one, other) = (Arc::clone(&gatehouse), Arc::clone(&gatehouse));
    let (stop, stop_too) = (stops.clone(), stops);
    let greedy = tokio::spawn(async move { serve(&one, greedy, None, None, stop).await });
    let served = tokio::spawn(async move { serve(&other, theirs, None, None, stop_too).await });
    let mut most = 0;
    for _ in 0..10 {
        let before = asked.load(Ordering::Relaxed);
        polite.write_all(b"PING\r\n").await.unwrap();
        let mut pong = [0; 7];
        polite.read_exact(&mut pong).await.unwrap();
        assert_eq!(&pong, b"+PONG\r\n");
        most = most.max(asked.load(Ordering::Relaxed) - before);
    }
    assert!(asked.load(Ordering::Relaxed) > 100, "the greedy one is served too");
    greedy.abort();
    served.abort();
    most
}

#[tokio::test(flavor = "current_thread")]
async fn who_asks_without_end_lets_others_go_in_between() {
    for request in [THROTTLE, CHECK, b"PING\r\n", b"\n", b"COMMAND\r\n"] {
        for read_bytes in [usize::MAX, READ_BYTES - 1, 1_000, 60] {
            let most = served_between(request, read_bytes).await;
            assert!(
                most <= BETWEEN_BYTES_MAX,
                "{most} bytes of {:?} by {read_bytes} came first",
                String::from_utf8_lossy(request)
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_takes_no_answers_is_asked_for_no_more_questions_and_then_given_up() {
    let gatehouse = Gatehouse::without_doors();
    let (_stop, stops) = watch::channel(false);
    for request in [THROTTLE, CHECK, b"PING\r\n", b"COMMAND\r\n"] {
        let (greedy, asked) = Greedy::new(request, usize::MAX, false);
        serve(&gatehouse, greedy, None, None, stops.clone()).await;
        let asked = asked.load(Ordering::Relaxed);
        assert!(asked <= 2 * READ_BYTES, "{asked} bytes were read of who takes no answers");
    }
}
