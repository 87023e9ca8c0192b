//! Why a bench stopped, and the exit code that says so.

use std::fmt;
use std::process::ExitCode;

/// What keeps a suite from going on. The message names the cure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The caller has to type something else. Exit code 2.
    Usage(String),
    /// The measurement was tried and is worthless or impossible. Exit code 1.
    Failed(String),
}

impl Problem {
    /// A [`Problem::Usage`] with this message.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// A [`Problem::Failed`] with this message.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// 2 when the caller has to type something else, else 1.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Failed(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed(message) => f.write_str(message),
        }
    }
}
