//! What breaks the protocol, in Redis' words. The connection is closed after each.

use super::Limits;
use super::reply::error;

/// Why the bytes of a connection are no requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProtocolError {
    /// After `*`: no number, or more arguments than allowed.
    InvalidMultibulkLength,
    /// After `$`: no number, or more bytes than allowed.
    InvalidBulkLength,
    /// Something else where `$` must stand.
    ExpectedBulk(u8),
    /// A bulk string that does not end where its length says. Redis skips two bytes here, whatever they are.
    ExpectedLineEnd,
    /// More arguments than a client may send before it gave the password.
    UnauthenticatedMultibulkLength,
    /// A longer argument than a client may send before it gave the password.
    UnauthenticatedBulkLength,
    /// An inline command longer than allowed, or without an end.
    TooBigInlineRequest,
    /// An inline command whose quotes do not match, or end inside a word.
    UnbalancedQuotes,
    /// A request longer than allowed.
    TooBigRequest,
}

impl ProtocolError {
    /// Appends the error reply.
    pub(super) fn write(self, limits: &Limits, output: &mut Vec<u8>) {
        let detail = match self {
            Self::InvalidMultibulkLength => "invalid multibulk length".to_owned(),
            Self::InvalidBulkLength => "invalid bulk length".to_owned(),
            Self::ExpectedBulk(found) => {
                return error(output, &[b"ERR Protocol error: expected '$', got '", &[found], b"'"]);
            }
            Self::ExpectedLineEnd => "expected CRLF after a bulk string".to_owned(),
            Self::UnauthenticatedMultibulkLength => "unauthenticated multibulk length".to_owned(),
            Self::UnauthenticatedBulkLength => "unauthenticated bulk length".to_owned(),
            Self::TooBigInlineRequest => "too big inline request".to_owned(),
            Self::UnbalancedQuotes => "unbalanced quotes in request".to_owned(),
            Self::TooBigRequest => format!("too big request, at most {} bytes", limits.frame_bytes_max),
        };
        error(output, &[b"ERR Protocol error: ", detail.as_bytes()]);
    }
}
