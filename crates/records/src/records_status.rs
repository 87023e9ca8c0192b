//! Whether the database is there.

use std::fmt;

use crate::Timestamp;

/// Whether the database is there, as the keeper last saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordsStatus {
    /// Not reached yet, and nothing failed yet.
    Connecting,
    /// It answers.
    Ready {
        /// The last migration that was made.
        schema: i64,
    },
    /// It does not; the next attempt is made within half a second.
    Failing {
        /// What stands in the way, in words and without a password.
        why: String,
        /// When that began.
        since: Timestamp,
    },
}

impl RecordsStatus {
    /// Whether it answers.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready { .. })
    }
}

impl fmt::Display for RecordsStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connecting => f.write_str("connecting"),
            Self::Ready { schema } => write!(f, "ready (schema {schema})"),
            Self::Failing { why, since } => write!(f, "failing since {since}: {why}"),
        }
    }
}
