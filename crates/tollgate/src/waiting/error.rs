//! Why tokens were not acquired.

use std::fmt;
use std::time::Duration;

use tollgate_core::{Cost, DEBT_MAX, Span};

use super::queues::WAITERS_MAX;
use crate::CheckError;
use crate::clock::CLOCK_ERROR_MAX;
use crate::memory::booking::Unbooked;
use crate::memory::store::Ask;

/// Why tokens were not acquired: nothing was charged, or it was given back. Each message names the field, the value and
/// the cure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireError {
    /// The key or the cost makes no sense.
    Invalid(CheckError),
    /// The cost is above the burst, which may have been lowered during the wait: no longer wait will help.
    Never {
        /// What was asked for.
        cost: Cost,
    },
    /// Its turn would come, or came no sooner, than allowed by [`crate::Acquire::within`].
    TooLong {
        /// The wait that it would have taken; [`Span::MAX`] if its turn comes after the end of time, when a clock has run for
        /// 584 years: nobody waits for that.
        wait: Span,
        /// The longest that was allowed.
        wait_max: Span,
    },
    /// As many wait for this key, or for the bucket that it shares without room of its own, as allowed by
    /// [`crate::Acquire::behind`].
    QueueFull {
        /// The most that may wait.
        waiters_max: u32,
    },
    /// [`WAITERS_MAX`] wait in this limiter.
    TooManyWaiters,
    /// Those who wait for this key have booked so much that one more would overflow: 5·10^11 tokens.
    TooDeep {
        /// What was asked for.
        cost: Cost,
    },
    /// A leaky bucket holds as much as it can.
    BucketFull {
        /// When it has room.
        wait: Span,
    },
    /// The rule's algorithm has no queue that one could wait in.
    NoQueue {
        /// Its name.
        algorithm: &'static str,
    },
    /// Who leaves a share of the bucket alone ([`crate::Rule::of_priority`]) does not wait for tokens: it would book them ahead of
    /// those whom the share is for.
    KeepsAShare {
        /// When they will be there, beside the share, if nobody else spends.
        wait: Span,
    },
    /// The table has no room for another client.
    TableFull {
        /// When there may be some.
        wait: Span,
    },
}

impl AcquireError {
    pub(crate) fn of(unbooked: Unbooked, ask: &Ask, wait_max: Span) -> AcquireError {
        match unbooked {
            Unbooked::Never => AcquireError::Never { cost: ask.demand.cost },
            Unbooked::TooLong(wait) => AcquireError::TooLong { wait, wait_max },
            Unbooked::TooDeep => AcquireError::TooDeep { cost: ask.demand.cost },
            Unbooked::Full(wait) => AcquireError::BucketFull { wait },
            Unbooked::NoQueue(algorithm) => AcquireError::NoQueue { algorithm },
            Unbooked::TableFull(wait) => AcquireError::TableFull { wait },
            Unbooked::Overflows => AcquireError::TableFull { wait: CLOCK_ERROR_MAX },
        }
    }

    /// After what time it may be worth trying again, if that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            AcquireError::TooLong { wait, .. }
            | AcquireError::BucketFull { wait }
            | AcquireError::KeepsAShare { wait }
            | AcquireError::TableFull { wait } => Some(Duration::from(*wait)),
            _ => None,
        }
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => write!(f, "{error}"),
            Self::Never { cost } => {
                write!(f, "`cost` is {cost} tokens, above the burst; ask for less, or allow a larger burst")
            }
            Self::TooLong { wait, wait_max } => write!(
                f,
                "`within` is {wait_max}, but the wait is {wait}; try again after that, or allow a longer wait"
            ),
            Self::QueueFull { waiters_max } => write!(
                f,
                "`behind` is {waiters_max}, and as many wait for this key; try again later, or let more wait"
            ),
            Self::TooManyWaiters => {
                write!(
                    f,
                    "`acquire` has {WAITERS_MAX} waiting in this limiter, the most there may be; try again later"
                )
            }
            Self::TooDeep { cost } => write!(
                f,
                "`cost` is {cost} tokens, and with it more than {DEBT_MAX} would be booked ahead; try again later, or ask \
                 for less"
            ),
            Self::BucketFull { wait } => {
                write!(f, "`queue` of the leaky bucket is full; try again in {wait}, or allow a longer queue")
            }
            Self::NoQueue { algorithm } => write!(
                f,
                "`limit` is a {algorithm}, which nobody can wait for; check, and try again later, or use a token bucket"
            ),
            Self::KeepsAShare { wait } => write!(
                f,
                "`priority` leaves a share of the bucket alone, and who does so does not queue; wait {wait} and try again, or \
                 acquire with the rule's own handle"
            ),
            Self::TableFull { wait } => write!(
                f,
                "`keys_max` leaves no room in the table for this client; try again in {wait}, or ask for more keys"
            ),
        }
    }
}

impl std::error::Error for AcquireError {}
