//! Why an operation has no answer.

use std::fmt;

use crate::{BatchError, LinkError};

/// Why an operation has no answer: it makes no sense, or the store did not do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskError {
    /// The operation is at fault; nothing was sent.
    Batch(BatchError),
    /// The store, or the way there.
    Link(LinkError),
}

impl From<BatchError> for AskError {
    fn from(error: BatchError) -> AskError {
        AskError::Batch(error)
    }
}

impl From<LinkError> for AskError {
    fn from(error: LinkError) -> AskError {
        AskError::Link(error)
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch(error) => error.fmt(f),
            Self::Link(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AskError {}
