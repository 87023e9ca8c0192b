//! Why nothing was reserved, or nothing settled.

use std::fmt;

use crate::Verdict;

/// Why nothing was reserved. Nothing is charged then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReserveError {
    /// The check was not admitted: the verdict says why, and how long to wait.
    Denied(Verdict),
    /// As many reservations are open as [`crate::LimiterBuilder::reservations_max`] allows.
    TooManyOpen {
        /// How many that is.
        reservations_max: usize,
    },
    /// A reservation that would be over at once.
    ZeroTimeout,
}

/// Why nothing was settled. The buckets are as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettleError {
    /// There is no such open reservation: it was settled before, it timed out, or it never was.
    Unknown,
    /// Its time is over: the estimate stands.
    Expired,
    /// One cost for charges whose estimates differ.
    CostsDiffer {
        /// The first charge whose estimate is another than that of the first.
        charge: usize,
    },
    /// Costs for more or fewer charges than there are.
    WrongCount {
        /// How many charges there are.
        charges: usize,
        /// How many costs were given.
        costs: usize,
    },
    /// The limit of a rule that it charged is known neither here nor to the shared store: the estimate stands.
    LimitUnknown {
        /// The first such charge.
        charge: usize,
    },
    /// What the shared store holds of it was not written by this release, or by one that it understands: the estimate stands.
    Unreadable,
}

impl fmt::Display for ReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(verdict) => write!(f, "{verdict}"),
            Self::TooManyOpen { reservations_max } => write!(
                f,
                "`reservations_max` is {reservations_max}, and so many are open; settle them sooner, give them shorter timeouts, \
                 or allow more"
            ),
            Self::ZeroTimeout => {
                write!(f, "`timeout` is 0, so the reservation could never be settled; use 1 ns or more")
            }
        }
    }
}

impl fmt::Display for SettleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => write!(
                f,
                "`reservation` is not open: it was settled before, has timed out, or never was; settle each once and in time"
            ),
            Self::Expired => {
                write!(
                    f,
                    "`reservation` has timed out and stands at its estimate; reserve with a longer timeout"
                )
            }
            Self::CostsDiffer { charge } => write!(
                f,
                "`charges[{charge}]` was reserved at another estimate than the first; give the cost of each with `commit_each`"
            ),
            Self::WrongCount { charges, costs } => {
                write!(
                    f,
                    "`actual` has {costs} costs, but {charges} charges were reserved; give one for each"
                )
            }
            Self::LimitUnknown { charge } => write!(
                f,
                "`charges[{charge}]` was reserved under a rule whose limit neither this instance nor the shared store knows any more, so it \
                 stands at its estimate; do not settle it again, and keep a rule in one policy at least until its reservations are over"
            ),
            Self::Unreadable => write!(
                f,
                "`reservation` was written to the shared store by something else than this release, so it stands at its estimate; do not \
                 settle it again, and let instances that share a store run adjacent releases"
            ),
        }
    }
}

impl std::error::Error for ReserveError {}
impl std::error::Error for SettleError {}
