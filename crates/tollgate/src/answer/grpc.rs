//! What a gRPC client is told (H6): a status with `google.rpc.RetryInfo`.

use super::{Answering, base64, detail, protobuf};

/// The status of a call that was not admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrpcAnswer {
    /// 8 `RESOURCE_EXHAUSTED`, 7 `PERMISSION_DENIED`, 3 `INVALID_ARGUMENT` or 14 `UNAVAILABLE`.
    pub code: i32,
    /// For people; may hold any character.
    pub message: String,
    /// A `google.rpc.Status` in protobuf, with code and message as here, and a `google.rpc.RetryInfo` if a wait is known to help:
    /// the exact wait and this client's share of the jitter.
    pub details: Vec<u8>,
}

const INVALID_ARGUMENT: i32 = 3;
const PERMISSION_DENIED: i32 = 7;
const RESOURCE_EXHAUSTED: i32 = 8;
const UNAVAILABLE: i32 = 14;

impl GrpcAnswer {
    pub(super) fn of(answering: &Answering<'_>) -> Option<GrpcAnswer> {
        let code = match answering.status() {
            200 => return None,
            400 => INVALID_ARGUMENT,
            403 => PERMISSION_DENIED,
            503 => UNAVAILABLE,
            _ => RESOURCE_EXHAUSTED,
        };
        let message = detail::of(answering);
        let details = protobuf::status(code, &message, answering.retry.map(|retry| retry.span()));
        Some(GrpcAnswer { code, message, details })
    }

    /// Shows the three header fields (of a response without a body) or trailers to `visit`, encoded as gRPC asks.
    pub fn each_header(&self, mut visit: impl FnMut(&'static str, &str)) {
        visit("grpc-status", &self.code.to_string());
        visit("grpc-message", &percent_encoded(&self.message));
        visit("grpc-status-details-bin", &base64::without_padding(&self.details));
    }
}

/// UTF-8 with every byte but printable ASCII, and the percent sign, as `%C3`.
fn percent_encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if matches!(byte, b' '..=b'~') && byte != b'%' {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_percent_encoded() {
        assert_eq!(percent_encoded("100% é\r\n"), "100%25 %C3%A9%0D%0A");
    }
}
