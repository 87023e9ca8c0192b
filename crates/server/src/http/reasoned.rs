//! What hyper says of a head that it cannot read: a status without a word. This adds the words.
//!
//! hyper writes such an answer by itself, as the last of a connection; no answer of ours is a refusal without a body. So it is known when
//! it is written, and a problem document goes in its place.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::problem::Problem;

/// Longest refusal that hyper writes, in bytes, with room to spare.
const REFUSAL_BYTES_MAX: usize = 256;

/// A connection of hyper's on which refusals have reasons.
#[derive(Debug)]
pub(super) struct Reasoned<S> {
    stream: S,
    /// What goes in the place of what hyper wrote, and was not sent yet.
    instead: Vec<u8>,
    sent: usize,
}

impl<S: AsyncWrite + Unpin> Reasoned<S> {
    pub(super) fn new(stream: S) -> Reasoned<S> {
        Reasoned { stream, instead: Vec::new(), sent: 0 }
    }

    fn poll_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.instead.get(self.sent..).filter(|rest| !rest.is_empty()) {
            let bytes = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if bytes == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += bytes;
        }
        Poll::Ready(Ok(()))
    }
}

/// Where a refusal without a body begins that these bytes end with, and its status.
fn bare_refusal(bytes: &[u8]) -> Option<(usize, StatusCode)> {
    if !bytes.ends_with(b"\r\n\r\n") {
        return None;
    }
    let tail = bytes.len().saturating_sub(REFUSAL_BYTES_MAX);
    let begin = tail + bytes.get(tail..)?.windows(10).rposition(|window| window == b"HTTP/1.1 4")?;
    let head = std::str::from_utf8(bytes.get(begin..)?).ok()?;
    let is_bare = head.contains("\r\ncontent-length: 0\r\n") && head.matches("\r\n\r\n").count() == 1;
    let status = head.get(9..12)?.parse().ok().and_then(|status| StatusCode::from_u16(status).ok())?;
    is_bare.then_some((begin, status))
}

/// The same with a reason.
fn with_reason(status: StatusCode) -> String {
    let detail = match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => return Problem::head_too_large().raw(),
        StatusCode::URI_TOO_LONG => "the target is too long; put what it says into the body".to_owned(),
        _ => "the head is no request of HTTP/1.1; look at its first line, at the names of its fields, and at what they say of the \
              body's length"
            .to_owned(),
    };
    Problem::new(status, detail).raw()
}

impl<S: AsyncRead + Unpin> AsyncRead for Reasoned<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Reasoned<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.instead.is_empty() {
            let Some((begin, status)) = bare_refusal(bytes) else {
                return Pin::new(&mut this.stream).poll_write(cx, bytes);
            };
            this.instead = [bytes.get(..begin).unwrap_or_default(), with_reason(status).as_bytes()].concat();
        }
        ready!(this.poll_instead(cx))?;
        // Nothing follows it.
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: &str =
        "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\ndate: now\r\n\r\n";

    #[test]
    fn a_refusal_without_a_body_is_known_wherever_it_begins_and_nothing_else_is_one() {
        let admitted = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(bare_refusal(BARE.as_bytes()), Some((0, StatusCode::BAD_REQUEST)));
        let behind = format!("{admitted}{BARE}");
        assert_eq!(bare_refusal(behind.as_bytes()), Some((admitted.len(), StatusCode::BAD_REQUEST)));
        for other in [
            admitted.to_owned(),
            String::new(),
            "\r\n\r\n".to_owned(),
            BARE.replace("length: 0", "length: 4") + "\r\n\r\n",
            format!("{BARE}{admitted}"),
            BARE.replace("400", "4x0"),
        ] {
            assert_eq!(bare_refusal(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn every_reason_is_a_problem_document_of_its_status() {
        for status in [400, 414, 431] {
            let said = with_reason(StatusCode::from_u16(status).unwrap());
            let (head, body) = said.split_once("\r\n\r\n").unwrap();
            assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
            assert!(head.contains(&format!("\r\ncontent-length: {}", body.len())), "{head}");
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["status"], status);
        }
    }
}
