//! What is wrong with a `CL.THROTTLE`, in redis-cell's words where it has some and in its style where it has none.

use std::fmt;

use tollgate::ledger::LimitRefused;
use tollgate_core::LimitError;

/// Bytes of a client's argument that an error repeats.
pub(super) const ECHO_BYTES_MAX: usize = 128;

/// Why a `CL.THROTTLE` has no verdict. The connection lives on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellError<'a> {
    /// Too few arguments, or too many.
    Usage,
    /// An argument that is no whole number of 64 bits.
    NotAnInteger(&'a [u8]),
    /// No tokens, no period, or a period so short that no nanosecond is left between two tokens.
    ZeroRate,
    /// redis-cell takes these, and gives tokens away for them.
    Negative {
        field: &'static str,
        value: i64,
    },
    EmptyKey,
    KeyTooLong {
        bytes: usize,
        bytes_max: usize,
    },
    /// A limit that cannot be kept exactly.
    Limit(LimitError),
    /// A limit that the shared store cannot keep exactly.
    Refused(LimitRefused),
}

impl CellError<'_> {
    /// Appends the error reply.
    pub(super) fn write(&self, output: &mut Vec<u8>) {
        if let CellError::NotAnInteger(found) = self {
            let told = found.get(..ECHO_BYTES_MAX).unwrap_or(found);
            return super::reply::error(
                output,
                &[b"Cell error: Store error: Couldn't parse as integer: ", told],
            );
        }
        super::reply::error(output, &[self.to_string().as_bytes()]);
    }
}

impl fmt::Display for CellError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cell error: Store error: ")?;
        match self {
            Self::Usage => {
                f.write_str("Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]")
            }
            Self::NotAnInteger(found) => {
                write!(f, "Couldn't parse as integer: {}", String::from_utf8_lossy(found))
            }
            Self::ZeroRate => f.write_str("Zero rates are not supported"),
            Self::Negative { field, value } => write!(f, "{field} is {value}; use 0 or more"),
            Self::EmptyKey => f.write_str("key is empty; name the bucket"),
            Self::KeyTooLong { bytes, bytes_max } => {
                write!(f, "key is {bytes} bytes; use at most {bytes_max}")
            }
            Self::Limit(error) => write!(f, "{error}"),
            Self::Refused(refused) => write!(f, "{refused}"),
        }
    }
}
