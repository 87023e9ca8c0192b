//! Which HTTP a connection speaks: the first bytes of HTTP/2 with prior knowledge are fixed, and no request of HTTP/1 begins so.
//!
//! Costs HTTP/1 nothing: its first byte or two tell it apart.

use std::io;

use tokio::io::AsyncRead;

use super::read_ahead::ReadAhead;

/// What a client of HTTP/2 says first (RFC 9113, 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoken {
    Http1,
    Http2,
}

/// Reads ahead until it is clear what is spoken. A connection that ends before that speaks HTTP/1, if anything.
pub(super) async fn spoken(stream: &mut ReadAhead<impl AsyncRead + Unpin>) -> io::Result<Spoken> {
    loop {
        if stream.ahead().starts_with(PREFACE) {
            return Ok(Spoken::Http2);
        }
        if !PREFACE.starts_with(stream.ahead()) || stream.more().await? == 0 {
            return Ok(Spoken::Http1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use tokio::io::{AsyncReadExt, ReadBuf};

    use super::*;

    /// What is spoken by these pieces, and what is read afterwards.
    async fn heard(pieces: &[&[u8]]) -> (Spoken, Vec<u8>) {
        let mut script = in_pieces(pieces);
        let mut stream = ReadAhead::new(&mut script);
        let spoken = spoken(&mut stream).await.unwrap();
        let mut read = Vec::new();
        stream.read_to_end(&mut read).await.unwrap();
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
