//! Adds the status field to the replies that the HTTP/2 library makes by itself: 431 for a head that is too long.
//!
//! ```text
//!  HEADERS, end of stream │ :status 431 │          as the library writes it
//!  HEADERS, end of stream │ :status 431 │ tollgate-status: 431 │      as it is sent
//! ```
//! Such a reply has one field; every other reply has a date as well. The added field is a literal without indexing, which leaves
//! the compression tables of both ends as they are (RFC 7541, section 6.2.2).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::STATUS_FIELD;

const HEAD_BYTES: usize = 9;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// Longest payload that is looked at, in bytes: one field, and changes of the table's size before it.
const BARE_BYTES_MAX: usize = 32;
const REFUSAL: &[u8; 3] = b"431";

/// A connection of HTTP/2 on which every reply has the status field.
#[derive(Debug)]
pub(super) struct MarkedRefusals<S> {
    stream: S,
    /// Bytes that are to be sent.
    out: Vec<u8>,
    sent: usize,
    /// The frame that is being looked at, as far as it was written.
    frame: Vec<u8>,
    /// Bytes of the current frame that pass without a look.
    passing: usize,
}

impl<S: AsyncWrite + Unpin> MarkedRefusals<S> {
    pub(super) fn new(stream: S) -> MarkedRefusals<S> {
        MarkedRefusals { stream, out: Vec::new(), sent: 0, frame: Vec::new(), passing: 0 }
    }

    fn poll_out(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.out.get(self.sent..).filter(|rest| !rest.is_empty()) {
            let bytes = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if bytes == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += bytes;
        }
        self.out.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }
}

impl<S> MarkedRefusals<S> {
    /// Takes bytes that the library wrote.
    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.passing > 0 {
                let (now, later) = bytes.split_at(bytes.len().min(self.passing));
                self.out.extend_from_slice(now);
                self.passing -= now.len();
                bytes = later;
                continue;
            }
            let wanted = match self.frame.len() {
                0..HEAD_BYTES => HEAD_BYTES,
                _ => HEAD_BYTES + payload_bytes(&self.frame),
            };
            let (now, later) = bytes.split_at(bytes.len().min(wanted - self.frame.len()));
            self.frame.extend_from_slice(now);
            bytes = later;
            self.end_frame();
        }
    }

    /// Hands the frame on if it is whole, or if its head shows that it is no refusal.
    fn end_frame(&mut self) {
        if self.frame.len() < HEAD_BYTES {
            return;
        }
        let payload = payload_bytes(&self.frame);
        let is_candidate = self.frame[3] == HEADERS
            && self.frame[4] & (END_STREAM | END_HEADERS) == END_STREAM | END_HEADERS
            && payload <= BARE_BYTES_MAX;
        if !is_candidate {
            self.passing = payload;
        } else if self.frame.len() < HEAD_BYTES + payload {
            return;
        } else if has_one_field(&self.frame[HEAD_BYTES..]) == Some(true) {
            add_status(&mut self.frame);
        }
        self.out.append(&mut self.frame);
    }
}

/// The length of a frame's payload, by its head.
fn payload_bytes(head: &[u8]) -> usize {
    head[..3].iter().fold(0, |length, byte| length << 8 | usize::from(*byte))
}

/// Appends the status field to a frame.
fn add_status(frame: &mut Vec<u8>) {
    for text in [STATUS_FIELD.as_bytes(), REFUSAL] {
        // A literal without indexing and with a new name begins with a zero; then come the lengths, which fit into seven bits.
        if text != REFUSAL {
            frame.push(0);
        }
        frame.push(u8::try_from(text.len()).unwrap_or_default());
        frame.extend_from_slice(text);
    }
    // Both lengths are below 256.
    frame[2] = u8::try_from(frame.len() - HEAD_BYTES).unwrap_or_default();
}

/// Whether a header block has one field. `None` if it cannot be read.
fn has_one_field(mut block: &[u8]) -> Option<bool> {
    let mut fields = 0;
    while let Some(first) = block.first() {
        let prefix_bits = match first {
            0x80.. => 7,
            0x40.. => 6,
            0x20.. => 5,
            _ => 4,
        };
        let index = integer(&mut block, prefix_bits)?;
        if prefix_bits != 5 {
            fields += 1;
        }
        if matches!(prefix_bits, 4 | 6) {
            for _ in usize::from(index != 0)..2 {
                let length = integer(&mut block, 7)?;
                block = block.get(length..)?;
            }
        }
    }
    Some(fields == 1)
}

/// Reads an integer (RFC 7541, section 5.1).
fn integer(block: &mut &[u8], prefix_bits: u32) -> Option<usize> {
    let (first, mut rest) = block.split_first()?;
    let prefix_max = (1_usize << prefix_bits) - 1;
    let mut value = usize::from(*first) & prefix_max;
    if value == prefix_max {
        for shift in [0, 7, 14] {
            let (next, after) = rest.split_first()?;
            rest = after;
            value += usize::from(next & 0x7f) << shift;
            if next & 0x80 == 0 {
                *block = rest;
                return Some(value);
            }
        }
        return None;
    }
    *block = rest;
    Some(value)
}

impl<S: AsyncRead + Unpin> AsyncRead for MarkedRefusals<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MarkedRefusals<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_out(cx))?;
        self.take(bytes);
        // Bytes that the client does not take now are sent by the flush that follows every write.
        if let Poll::Ready(Err(error)) = self.poll_out(cx) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_out(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_out(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, 1], payload].concat()
    }

    fn sent(written: &[u8], piece_bytes: usize) -> Vec<u8> {
        let mut marked = MarkedRefusals::new(Vec::new());
        written.chunks(piece_bytes).for_each(|piece| marked.take(piece));
        assert!(marked.frame.is_empty());
        marked.out
    }

    #[test]
    fn a_bare_refusal_gets_the_field_however_it_is_cut() {
        // The status as a literal with a known name, in Huffman's code; by its index; behind a change of the table's size.
        for status in [&b"\x48\x83\x68\x0e\x3f"[..], b"\xbe", b"\x20\x3f\xe1\x1f\xbe"] {
            let before = frame(0, END_STREAM, b"before");
            let all =
                [before.clone(), frame(HEADERS, END_STREAM | END_HEADERS, status), before.clone()].concat();
            let field = b"\x00\x0ftollgate-status\x03431";
            let marked = frame(HEADERS, END_STREAM | END_HEADERS, &[status, field].concat());
            for piece_bytes in 1..=all.len() {
                assert_eq!(
                    sent(&all, piece_bytes),
                    [&before[..], &marked, &before].concat(),
                    "{piece_bytes}"
                );
            }
        }
    }

    #[test]
    fn other_frames_pass_as_they_are() {
        for other in [
            frame(HEADERS, END_STREAM | END_HEADERS, b"\x88\xbe"),
            frame(HEADERS, END_STREAM | END_HEADERS, b"\x88\x48\x03431"),
            frame(HEADERS, END_HEADERS, b"\xbe"),
            frame(HEADERS, END_STREAM, b"\xbe"),
            frame(HEADERS, END_STREAM | END_HEADERS, b"\x48\x83\x68"),
            frame(HEADERS, END_STREAM | END_HEADERS, &[0xbe; 40]),
            frame(0, END_STREAM | END_HEADERS, b"\xbe"),
            frame(4, 0, b""),
        ] {
            for piece_bytes in 1..=other.len() {
                assert_eq!(sent(&other, piece_bytes), other, "{piece_bytes}");
            }
        }
    }
}
