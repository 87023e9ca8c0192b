//! Why an operation is not put into a batch.

use std::fmt;

use tollgate::CheckError;

/// Why a batch does not take an operation. The batch is as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchError {
    /// The batch has as many operations, keys or bytes as it may: send it, and begin another.
    Full,
    /// The operation itself is at fault.
    Check(CheckError),
    /// A cost above what the script can count: 9·10^15 micro-tokens are above every burst, so the answer is never.
    Never {
        /// The position of the charge.
        charge: usize,
    },
    /// A reservation that is over at once, or is open for more than a week.
    BadTimeout,
    /// Costs for more or fewer charges than were reserved.
    WrongCount {
        /// How many charges there are.
        charges: usize,
        /// How many costs were given.
        costs: usize,
    },
}

impl From<CheckError> for BatchError {
    fn from(error: CheckError) -> BatchError {
        BatchError::Check(error)
    }
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "the batch is full; send it and begin another"),
            Self::Check(error) => error.fmt(f),
            Self::Never { charge } => {
                write!(
                    f,
                    "`charges[{charge}]` asks for more than 9000000000 tokens, which no bucket holds; ask for less"
                )
            }
            Self::BadTimeout => write!(f, "`timeout` is 0 or above a week; use from 1 ms to 7 days"),
            Self::WrongCount { charges, costs } => {
                write!(
                    f,
                    "`actual` has {costs} costs, but {charges} charges were reserved; give one for each"
                )
            }
        }
    }
}

impl std::error::Error for BatchError {}
