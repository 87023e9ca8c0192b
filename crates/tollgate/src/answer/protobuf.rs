//! Two small messages of protobuf, written by hand: `google.rpc.Status` and, within it, `google.rpc.RetryInfo`.
//!
//! ```text
//!   Status    { code: int32 = 1, message: string = 2, details: repeated Any = 3 }
//!   Any       { type_url: string = 1, value: bytes = 2 }
//!   RetryInfo { retry_delay: Duration = 1 }          Duration { seconds: int64 = 1, nanos: int32 = 2 }
//! ```

use tollgate_core::Span;

const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";
/// What follows a field's number: a varint, or a length and so many bytes.
const VARINT: u8 = 0;
const BYTES: u8 = 2;

/// A `google.rpc.Status` that says when to try again, if that is known. `code` is not negative.
pub(super) fn status(code: i32, message: &str, retry: Option<Span>) -> Vec<u8> {
    let mut status = Vec::new();
    number(&mut status, 1, u64::from(code.unsigned_abs()));
    bytes(&mut status, 2, message.as_bytes());
    if let Some(retry) = retry {
        let (mut any, mut info) = (Vec::new(), Vec::new());
        bytes(&mut info, 1, &duration(retry));
        bytes(&mut any, 1, RETRY_INFO.as_bytes());
        bytes(&mut any, 2, &info);
        bytes(&mut status, 3, &any);
    }
    status
}

fn duration(span: Span) -> Vec<u8> {
    let mut duration = Vec::new();
    number(&mut duration, 1, span.as_nanos() / 1_000_000_000);
    number(&mut duration, 2, span.as_nanos() % 1_000_000_000);
    duration
}

/// A number that is not negative; 0 is left out, as it is the default.
fn number(message: &mut Vec<u8>, field: u8, value: u64) {
    if value > 0 {
        message.push(field << 3 | VARINT);
        varint(message, value);
    }
}

fn bytes(message: &mut Vec<u8>, field: u8, value: &[u8]) {
    message.push(field << 3 | BYTES);
    varint(message, value.len() as u64);
    message.extend_from_slice(value);
}

/// Seven bits to a byte, the lowest first; all but the last have their high bit set.
#[expect(clippy::cast_possible_truncation, reason = "the low seven bits are taken")]
fn varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_these_very_bytes() {
        let expected = [
            &[0x08, 8, 0x12, 2][..],
            b"no",
            &[0x1a, 52, 0x0a, 40],
            RETRY_INFO.as_bytes(),
            &[0x12, 8, 0x0a, 6, 0x08, 0xac, 0x02, 0x10, 0x80, 0x01],
        ];
        assert_eq!(status(8, "no", Some(Span::from_nanos(300_000_000_128))), expected.concat());
        assert_eq!(status(14, "", None), [0x08, 14, 0x12, 0]);
    }
}
