//! What a check is told.

use std::fmt;
use std::time::Duration;

use tollgate_core::{BucketSet, CHARGES_MAX, Span, Tokens};

use crate::key::KEY_BYTES_MAX;

/// The answer to a check, over one bucket or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a verdict that nobody looks at limits nothing"]
pub enum Verdict {
    /// Go ahead: every bucket was charged.
    Admit {
        /// What is left in the bucket that has least left.
        remaining: Tokens,
        /// How long to wait before going ahead; zero unless a leaky bucket shapes the traffic. It is paid for already: do not
        /// check again.
        delay: Span,
    },
    /// Not now; nothing was charged.
    Deny {
        /// The exact time to wait: the same check is admitted then, if nobody else spends, and not a nanosecond earlier. For a
        /// client without a place in a crowded table, when there may be one.
        wait: Span,
        /// What is held by the denying bucket that holds least.
        remaining: Tokens,
        /// Which of the charges denied, by their position.
        denied: BucketSet,
        /// Why.
        cause: Cause,
    },
    /// Not ever: the cost is above the burst. Nothing was charged.
    Never {
        /// Which of the charges can never be admitted, by their position.
        denied: BucketSet,
    },
    /// The check itself is at fault. Nothing was charged, and nothing should be let through.
    Invalid(CheckError),
}

/// Why a check was denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A bucket holds too little.
    Exceeded,
    /// The table has no room for the client's bucket: it was not inserted, inherited too little from an evicted bucket, or shares
    /// an overflow bucket that holds too little. Holds which of the charges denied for that, by their position.
    TableFull(BucketSet),
}

impl Cause {
    /// The cause of a denial in which these charges found no room.
    pub(crate) fn of(without_room: BucketSet) -> Cause {
        if without_room.is_empty() { Cause::Exceeded } else { Cause::TableFull(without_room) }
    }

    /// Returns which of the charges denied for lack of room, by their position.
    pub const fn without_room(self) -> BucketSet {
        match self {
            Cause::Exceeded => BucketSet::EMPTY,
            Cause::TableFull(charges) => charges,
        }
    }

    /// The cause of one bucket's denial, as the cause of the check whose charges these are.
    pub(crate) fn on_behalf_of(self, members: BucketSet) -> Cause {
        match self {
            Cause::Exceeded => Cause::Exceeded,
            Cause::TableFull(_) => Cause::TableFull(members),
        }
    }
}

impl Verdict {
    /// The same verdict; a denial for this cause.
    pub(crate) fn because(self, cause: Cause) -> Verdict {
        match self {
            Verdict::Deny { wait, remaining, denied, .. } => Verdict::Deny { wait, remaining, denied, cause },
            other => other,
        }
    }

    /// Whether to go ahead.
    #[inline]
    pub const fn is_admitted(&self) -> bool {
        matches!(self, Verdict::Admit { .. })
    }

    /// How long to wait before trying again; `None` if it was admitted, or if waiting does not help.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Verdict::Deny { wait, .. } => Some(Duration::from(*wait)),
            _ => None,
        }
    }

    /// [`Verdict::retry_after`] for an HTTP `Retry-After` header: whole seconds, rounded up, at least 1.
    pub fn retry_after_secs(&self) -> Option<u64> {
        match self {
            Verdict::Deny { wait, .. } => Some(wait.as_nanos().div_ceil(1_000_000_000).max(1)),
            _ => None,
        }
    }

    /// What the tightest bucket holds now, if the check was decided by what buckets hold.
    pub const fn remaining(&self) -> Option<Tokens> {
        match self {
            Verdict::Admit { remaining, .. } | Verdict::Deny { remaining, .. } => Some(*remaining),
            _ => None,
        }
    }

    /// How long an admitted check must wait before it goes ahead; `None` if it was not admitted. Zero but for a leaky bucket.
    pub fn delay(&self) -> Option<Duration> {
        match self {
            Verdict::Admit { delay, .. } => Some(Duration::from(*delay)),
            _ => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Admit { remaining, delay: Span::ZERO } => write!(f, "admitted, {remaining} left"),
            Verdict::Admit { remaining, delay } => write!(f, "admitted, leave in {delay}, {remaining} left"),
            Verdict::Deny { wait, cause: Cause::Exceeded, .. } => write!(f, "denied, retry in {wait}"),
            Verdict::Deny { wait, cause: Cause::TableFull(_), .. } => {
                write!(f, "denied for want of room in the table, retry in {wait}")
            }
            Verdict::Never { .. } => {
                write!(f, "denied for good: the cost is above what a full bucket gives")
            }
            Verdict::Invalid(error) => write!(f, "{error}"),
        }
    }
}

/// Why a check cannot be decided. Each message names the field, the value and the cure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckError {
    /// A key without bytes.
    EmptyKey,
    /// An idempotency key without bytes.
    EmptyIdempotencyKey,
    /// A key above [`KEY_BYTES_MAX`].
    KeyTooLong {
        /// Its length.
        bytes: usize,
    },
    /// A cost of nothing.
    ZeroCost,
    /// A check over no buckets.
    NoCharges,
    /// A check over more than [`CHARGES_MAX`] buckets.
    TooManyCharges {
        /// How many there were.
        charges: usize,
    },
    /// One bucket charged under two limits in one check.
    TierConflict {
        /// The position of the second one.
        charge: usize,
    },
    /// A path with more parts than the hierarchy has levels, or with an empty part.
    BadPath {
        /// How many parts it has.
        parts: u32,
        /// How many levels there are.
        levels: u32,
    },
    /// A retry that would never be recognised.
    ZeroLifetime,
    /// A place at work taken without a guard: it would be lost until its timeout.
    NeedsGuard {
        /// The position of the charge.
        charge: usize,
    },
    /// A charge made by a rule of another limiter.
    ForeignCharge {
        /// Its position.
        charge: usize,
    },
    /// A limit that came with the call, and that the shared store cannot keep exactly.
    ///
    /// A verdict must stay small: [`crate::ledger::Ledger::accept`] says why.
    LimitRefused {
        /// The position of the charge.
        charge: usize,
    },
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyKey => {
                write!(f, "`key` is empty; give the client's identity, or `()` for one bucket that all share")
            }
            Self::EmptyIdempotencyKey => {
                write!(
                    f,
                    "`idempotency_key` is empty; give one for each thing that is to be charged once, or use `check`"
                )
            }
            Self::KeyTooLong { bytes } => {
                write!(f, "`key` has {bytes} bytes; use at most {KEY_BYTES_MAX}, or a digest of it")
            }
            Self::ZeroCost => {
                write!(f, "`cost` is 0, which would admit everything; use `peek` to look without spending")
            }
            Self::NoCharges => write!(f, "`charges` is empty; give at least one, or do not check at all"),
            Self::TooManyCharges { charges } => {
                write!(f, "`charges` has {charges} entries; use at most {CHARGES_MAX} in one check")
            }
            Self::TierConflict { charge } => write!(
                f,
                "`charges[{charge}]` names a bucket that another charge of this check names under another limit; \
                 charge it once"
            ),
            Self::BadPath { parts, levels } => write!(
                f,
                "`path` has {parts} parts, one of them empty, or more than the {levels} levels of the hierarchy; give one name \
                 for each level, or for the first few"
            ),
            Self::ZeroLifetime => {
                write!(
                    f,
                    "`lifetime` is 0, so that every retry would be charged; use 1 ns or more, or `check`"
                )
            }
            Self::NeedsGuard { charge } => write!(
                f,
                "`charges[{charge}]` takes a place of a concurrency limit, which nobody would give back; use `enter`, or `reserve` \
                 and `cancel`"
            ),
            Self::ForeignCharge { charge } => write!(
                f,
                "`charges[{charge}]` was made by a rule of another limiter; make it with a rule of this one"
            ),
            Self::LimitRefused { charge } => write!(
                f,
                "`charges[{charge}].limit` cannot be kept exactly by the shared store (`Ledger::accept` says why); use rounder \
                 numbers, a smaller burst or a higher rate"
            ),
        }
    }
}

impl std::error::Error for CheckError {}
