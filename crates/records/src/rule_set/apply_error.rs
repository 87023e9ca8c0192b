//! Why a change to the rule set was not made.

use std::fmt;

use crate::records::AsOutage;
use crate::{RecordsError, Timestamp};

/// Why a change to the rule set was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplyError {
    /// Somebody else changed the rule set since the caller looked at it.
    Conflict {
        /// The version that the caller knew.
        base: i64,
        /// The version that is there.
        current: i64,
        /// Who made that; `sql` if tables were changed by hand.
        by: String,
        /// When.
        at: Timestamp,
    },
    /// The judge does not want a rule set like this.
    Mistaken {
        /// Every mistake, in the judge's words.
        why: String,
    },
    /// It could not be filed.
    Records(RecordsError),
}

impl AsOutage for ApplyError {
    fn is_outage(&self) -> bool {
        matches!(self, ApplyError::Records(error) if error.is_outage())
    }
}

impl From<RecordsError> for ApplyError {
    fn from(error: RecordsError) -> ApplyError {
        ApplyError::Records(error)
    }
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict { base, current, by, at } => write!(
                f,
                "the rules are at version {current} by {}, made at {at}, and the change is of version {base}; look at what \
                 changed, and make yours again",
                by.escape_debug()
            ),
            Self::Mistaken { why } => f.write_str(why),
            Self::Records(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ApplyError {}
