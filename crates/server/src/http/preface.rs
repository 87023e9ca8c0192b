//! Which HTTP a connection speaks: the first bytes of HTTP/2 with prior knowledge are fixed, and no request of HTTP/1 begins so.
//!
//! Costs HTTP/1 one short read for each connection: its first byte or two tell it apart, and what was read is read again.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// What a client of HTTP/2 says first (RFC 9113, 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoken {
    Http1,
    Http2,
}

/// A connection whose first bytes were looked at; whoever reads it reads them too.
#[derive(Debug)]
pub(super) struct Overheard<S> {
    stream: S,
    first: [u8; PREFACE.len()],
    /// Those of `first` that came.
    heard: usize,
    /// Those of them that were read again.
    given: usize,
}

impl<S: AsyncRead + Unpin> Overheard<S> {
    pub(super) fn new(stream: S) -> Overheard<S> {
        Overheard { stream, first: [0; PREFACE.len()], heard: 0, given: 0 }
    }

    /// Reads until it is clear what is spoken. A connection that ends before that speaks HTTP/1, if anything.
    pub(super) async fn spoken(&mut self) -> io::Result<Spoken> {
        loop {
            let Some(free) = self.first.get_mut(self.heard..).filter(|free| !free.is_empty()) else {
                return Ok(Spoken::Http2);
            };
            let bytes = self.stream.read(free).await?;
            self.heard += bytes;
            if bytes == 0 || !PREFACE.starts_with(self.first()) {
                return Ok(Spoken::Http1);
            }
        }
    }

    /// What was heard before it was clear.
    pub(super) fn first(&self) -> &[u8] {
        self.first.get(..self.heard).unwrap_or_default()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Overheard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.given == this.heard {
            return Pin::new(&mut this.stream).poll_read(cx, buffer);
        }
        let again = this.first.get(this.given..this.heard).unwrap_or_default();
        let again = again.get(..buffer.remaining()).unwrap_or(again);
        buffer.put_slice(again);
        this.given += again.len();
        // Mostly the rest is there already, and one read is enough. How that goes is told by the next.
        if this.given == this.heard && buffer.remaining() > 0 {
            let _ = Pin::new(&mut this.stream).poll_read(cx, buffer);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Overheard<S> {
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
    use super::*;

    /// What is spoken by these pieces, and what is read afterwards.
    async fn heard(pieces: &[&[u8]]) -> (Spoken, Vec<u8>) {
        let mut script = in_pieces(pieces);
        let mut overheard = Overheard::new(&mut script);
        let spoken = overheard.spoken().await.unwrap();
        let mut read = Vec::new();
        overheard.read_to_end(&mut read).await.unwrap();
        (spoken, read)
    }

    /// Pieces that come one by one.
    fn in_pieces<'p>(pieces: &[&'p [u8]]) -> impl AsyncRead + Unpin + 'p {
        struct Pieces<'p>(std::collections::VecDeque<&'p [u8]>);
        impl AsyncRead for Pieces<'_> {
            fn poll_read(
                mut self: Pin<&mut Self>,
                _: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                if let Some(piece) = self.0.pop_front() {
                    let (now, later) = piece.split_at(piece.len().min(buffer.remaining()));
                    buffer.put_slice(now);
                    if !later.is_empty() {
                        self.0.push_front(later);
                    }
                }
                Poll::Ready(Ok(()))
            }
        }
        Pieces(pieces.iter().copied().collect())
    }

    #[tokio::test]
    async fn the_preface_is_http_2_however_it_is_cut_and_nothing_is_lost() {
        let all = [&PREFACE[..], b"and more"].concat();
        for at in 1..all.len() {
            let (first, second) = all.split_at(at);
            assert_eq!(heard(&[first, second]).await, (Spoken::Http2, all.clone()), "cut at {at}");
        }
        let single: Vec<&[u8]> = all.chunks(1).collect();
        assert_eq!(heard(&single).await, (Spoken::Http2, all.clone()));
    }

    #[tokio::test]
    async fn everything_else_is_http_1_and_nothing_is_lost() {
        for all in [
            &b""[..],
            b"P",
            b"POST /v1/check HTTP/1.1\r\nhost: a\r\n\r\n",
            b"PRI * HTTP/1.1\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rx and more",
        ] {
            assert_eq!(heard(&[all]).await, (Spoken::Http1, all.to_vec()));
            let single: Vec<&[u8]> = all.chunks(1).collect();
            assert_eq!(heard(&single).await, (Spoken::Http1, all.to_vec()));
        }
    }
}
