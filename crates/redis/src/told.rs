//! What each operation of a batch is told.

use std::fmt;

use tollgate_core::{Answer, Tokens};

use crate::{Checked, ServerError};

/// What to do about a key whose value is not ours.
pub(crate) const CURE_OF_KEYS: &str = "delete that key, or give Tollgate a database of its own, as in redis://host/1 (in a cluster another `store.hash_tag`)";

/// The answer to one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// To a check, a peek, a reservation.
    Checked(Checked),
    /// To what was given, taken or reset.
    Changed {
        /// What became of the bucket.
        changed: Changed,
        /// The server's time, in microseconds since 1970.
        now_micros: u64,
    },
    /// To a settlement: what became of each bucket, in order.
    Settled(Vec<Changed>),
    /// To a node that asked for a slice.
    Leased {
        /// `None` if a later ask of it was answered before.
        answer: Option<Answer>,
        /// The server's time, in microseconds since 1970.
        now_micros: u64,
    },
    /// To a settlement of what is not open: settled before, timed out, or never there.
    Unknown,
    /// The operation was not done because of what its keys hold.
    Fault(KeyFault),
}

/// What a bucket held before and after, in micro-tokens; negative is debt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    /// Before.
    pub before: i64,
    /// After.
    pub after: i64,
}

/// Why an operation was not done. Others of its batch were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyFault {
    /// One of its keys holds another type than it should.
    WrongType,
    /// One of its keys holds something that this version did not write.
    UnknownState,
    /// One key stands twice in one check.
    Twice,
}

impl Changed {
    /// What the bucket gained.
    pub fn given(&self) -> Tokens {
        Tokens::from_micros(self.after.saturating_sub(self.before).max(0).unsigned_abs())
    }

    /// What it lost.
    pub fn taken(&self) -> Tokens {
        Tokens::from_micros(self.before.saturating_sub(self.after).max(0).unsigned_abs())
    }

    /// What it holds now; none if it is in debt.
    pub fn balance(&self) -> Tokens {
        Tokens::from_micros(self.after.max(0).unsigned_abs())
    }
}

impl KeyFault {
    pub(crate) fn of_code(code: i64) -> Option<KeyFault> {
        match code {
            1 => Some(KeyFault::WrongType),
            2 => Some(KeyFault::UnknownState),
            3 => Some(KeyFault::Twice),
            _ => None,
        }
    }
}

impl From<KeyFault> for ServerError {
    fn from(fault: KeyFault) -> ServerError {
        match fault {
            KeyFault::WrongType => ServerError::WrongType("it holds another type of value".to_owned()),
            KeyFault::UnknownState => {
                ServerError::WrongType("it holds what this version did not write".to_owned())
            }
            KeyFault::Twice => ServerError::BadArguments(fault.to_string()),
        }
    }
}

impl fmt::Display for KeyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyFault::WrongType => {
                write!(f, "a key of Tollgate's name holds another type of value; {CURE_OF_KEYS}")
            }
            KeyFault::UnknownState => write!(
                f,
                "a key of Tollgate's name holds what this version did not write; run releases that are adjacent, {CURE_OF_KEYS}"
            ),
            KeyFault::Twice => f.write_str("a key stands twice in one check; add up the costs"),
        }
    }
}

impl std::error::Error for KeyFault {}
