//! Why a call came to nothing.

use std::fmt;
use std::sync::Arc;

use super::DialError;
use crate::ServerError;

/// Why a call came to nothing. Whether it may have been done nevertheless is [`LinkError::may_be_done`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// There is no connection, and why. Nothing was sent.
    NotConnected(Arc<DialError>),
    /// No answer within the caller's deadline.
    TimedOut,
    /// The connection broke before the answer came.
    Lost,
    /// As many calls as may be are under way. Nothing was sent.
    Overloaded {
        /// How many may be.
        calls_max: usize,
    },
    /// In Cluster: no node has the slot.
    Uncovered {
        /// Which slot.
        slot: u16,
    },
    /// In Cluster: the keys of one call are in several slots. Nothing was sent.
    CrossSlot,
    /// The server answered, and did not do it.
    Server(ServerError),
    /// The link was closed. Nothing was sent.
    Closed,
    /// The caller withdrew the operation. Nothing was sent.
    Withdrawn,
}

impl LinkError {
    /// Whether the server may have done it, or will: then tokens may be charged for which nobody was admitted.
    pub fn may_be_done(&self) -> bool {
        matches!(self, LinkError::TimedOut | LinkError::Lost | LinkError::Server(ServerError::Malformed(_)))
    }
}

impl From<ServerError> for LinkError {
    fn from(error: ServerError) -> LinkError {
        LinkError::Server(error)
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConnected(cause) => write!(f, "the store is not connected: {cause}"),
            Self::TimedOut => {
                write!(f, "the store did not answer in time; see to its load, or allow a longer deadline")
            }
            Self::Lost => {
                write!(f, "the connection to the store broke before the answer came; another is made")
            }
            Self::Overloaded { calls_max } => {
                write!(
                    f,
                    "{calls_max} calls to the store are under way, and there may be no more; the store is too slow"
                )
            }
            Self::Uncovered { slot } => {
                write!(
                    f,
                    "no node of the cluster has slot {slot}; see `CLUSTER INFO`, and give every slot a master"
                )
            }
            Self::CrossSlot => {
                write!(
                    f,
                    "the buckets of one check are in several slots of the cluster; give them one hash tag"
                )
            }
            Self::Server(error) => error.fmt(f),
            Self::Closed => write!(f, "the link to the store was closed"),
            Self::Withdrawn => write!(f, "operation withdrawn before it was sent"),
        }
    }
}

impl std::error::Error for LinkError {}
