//! What is wrong with the arguments of a `TOLLGATE.CHECK`: the field, and the cure.

use std::fmt;

use super::command::first_bytes;

/// Bytes of a client's argument that an error repeats.
const SHOWN_BYTES_MAX: usize = 64;

/// Why a `TOLLGATE.CHECK` describes no request. The connection lives on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DescribedError<'a> {
    /// The last field has no value behind it.
    NoValue(&'a [u8]),
    Unknown(&'a [u8]),
    /// A field of buckets whose limits come with the call.
    Explicit(&'a [u8]),
    Twice(&'a [u8]),
    NotText(&'a [u8]),
    /// The value of `cost`.
    NoNumber(&'a str),
    /// The value of `peek`.
    NoSwitch(&'a str),
    NamelessHeader,
    TooManyHeaders {
        most: usize,
    },
    /// A line of more words than are kept.
    TooManyFields,
}

impl fmt::Display for DescribedError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoValue(field) => {
                write!(f, "`{}` has no value; give fields and values in turn, as in path /api", shown(field))
            }
            Self::Unknown(field) => write!(
                f,
                "`{}` is no field; use method, path, host, ip, user, plan, cost, header:<name>, peek or idempotency_key",
                shown(field)
            ),
            Self::Explicit(field) => write!(
                f,
                "`{}` is of a bucket whose limit comes with the call; use CL.THROTTLE for it",
                shown(field)
            ),
            Self::Twice(field) => write!(f, "`{}` is given twice; give it once", shown(field)),
            Self::NotText(field) => {
                write!(f, "`{}` is not text in UTF-8; escape other bytes, as in %FF", shown(field))
            }
            Self::NoNumber(value) => {
                write!(f, "`cost` is '{}'; use a number of tokens, as in 5 or 0.5", shown(value.as_bytes()))
            }
            Self::NoSwitch(value) => write!(
                f,
                "`peek` is '{}'; use 1 to look without spending, or leave it out",
                shown(value.as_bytes())
            ),
            Self::NamelessHeader => {
                f.write_str("`header:` has no name; write it behind, as in header:x-api-key")
            }
            Self::TooManyHeaders { most } => {
                write!(f, "`header:` stands more than {most} times; send those that the policy looks at")
            }
            Self::TooManyFields => f.write_str("too many fields; send those that the policy looks at"),
        }
    }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(first_bytes(bytes, SHOWN_BYTES_MAX)).into_owned()
}
