//! A connection of which some was read ahead, to see what it is about; whoever reads it then reads that first.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// Bytes that are read ahead at a time: requests that are longer are for others to read.
const READ_BYTES: usize = 4 * 1_024;

/// A connection, and what was read of it that nobody has taken.
#[derive(Debug)]
pub(super) struct ReadAhead<S> {
    stream: S,
    ahead: BytesMut,
}

impl<S: AsyncRead + Unpin> ReadAhead<S> {
    pub(super) fn new(stream: S) -> ReadAhead<S> {
        ReadAhead { stream, ahead: BytesMut::new() }
    }

    /// What was read and nobody has taken.
    pub(super) fn ahead(&self) -> &[u8] {
        &self.ahead
    }

    /// Waits for more of it. Says how many bytes came; none at the end of the connection. Nothing is lost where this is dropped.
    pub(super) async fn more(&mut self) -> io::Result<usize> {
        self.ahead.reserve(READ_BYTES);
        self.stream.read_buf(&mut self.ahead).await
    }

    /// Takes so many bytes of what was read.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.ahead.advance(bytes.min(self.ahead.len()));
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReadAhead<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let bytes = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(&self.ahead.split_to(bytes));
        if self.ahead.is_empty() {
            // Whoever reads now has room of its own.
            self.ahead = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReadAhead<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn what_was_read_ahead_and_not_taken_is_read_again_and_in_order() {
        let (mut theirs, ours) = duplex(64);
        let mut ours = ReadAhead::new(ours);
        theirs.write_all(b"one two ").await.unwrap();
        assert_eq!(ours.more().await.unwrap(), 8);
        theirs.write_all(b"three").await.unwrap();
        assert_eq!(ours.more().await.unwrap(), 5);
        assert_eq!(ours.ahead(), b"one two three");
        ours.consume(4);
        theirs.write_all(b" four").await.unwrap();
        drop(theirs);
        let mut read = [0; 2];
        ours.read_exact(&mut read).await.unwrap();
        assert_eq!((&read, ours.ahead()), (b"tw", &b"o three"[..]));
        let mut rest = Vec::new();
        ours.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"o three four");
        assert_eq!(ours.more().await.unwrap(), 0);
    }
}
