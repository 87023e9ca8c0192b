//! A connection whose other end must make progress: one that neither reads nor writes for too long is given up.
//!
//! Costs nothing while there is progress: the timer is not set anew by every read, so time-outs are between one and two times
//! as long as they are said to be.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A connection with time-outs.
#[derive(Debug)]
pub(crate) struct PatientStream<S> {
    stream: S,
    reading: Patience,
    writing: Patience,
}

/// How long one end waits for the other.
#[derive(Debug)]
struct Patience {
    /// `None`: forever.
    limit: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    has_progressed: bool,
}

impl<S> PatientStream<S> {
    /// Gives up reading after `read`, if it is given, and writing after `write`.
    pub(crate) fn new(stream: S, read: Option<Duration>, write: Duration) -> PatientStream<S> {
        PatientStream { stream, reading: Patience::new(read), writing: Patience::new(Some(write)) }
    }
}

impl Patience {
    fn new(limit: Option<Duration>) -> Patience {
        Patience { limit, timer: None, has_progressed: false }
    }

    /// What a read or write came to: an error if it has been waited for too long.
    fn judge<T>(&mut self, result: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.has_progressed = true;
            return result;
        }
        ready!(self.poll_spent(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_spent(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(limit) = self.limit else { return Poll::Pending };
        loop {
            let timer = self.timer.get_or_insert_with(|| {
                self.has_progressed = false;
                Box::pin(tokio::time::sleep(limit))
            });
            ready!(timer.as_mut().poll(cx));
            self.timer = None;
            if !self.has_progressed {
                return Poll::Ready(());
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PatientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.reading.judge(result, cx)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PatientStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.writing.judge(result, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        self.writing.judge(result, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.writing.judge(result, cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_is_given_up() {
        let (_silent, ours) = duplex(64);
        let mut ours = PatientStream::new(ours, Some(SECOND), SECOND);
        assert_eq!(ours.read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn who_keeps_talking_is_heard() {
        let (mut theirs, ours) = duplex(64);
        tokio::spawn(async move {
            for byte in 0..20 {
                tokio::time::sleep(SECOND * 9 / 10).await;
                theirs.write_u8(byte).await.unwrap();
            }
        });
        let mut ours = PatientStream::new(ours, Some(SECOND), SECOND);
        for byte in 0..20 {
            assert_eq!(ours.read_u8().await.unwrap(), byte);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_take_the_answer_is_given_up() {
        let (_deaf, ours) = duplex(64);
        let mut ours = PatientStream::new(ours, None, SECOND);
        assert_eq!(ours.write_all(&[0; 65]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
