//! What a store answers, in the suite's own words.

use tollgate_core::{BucketSet, Span, Tokens};

/// The answer to a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every bucket was charged.
    Admit {
        /// What is left in the one that has least left.
        remaining: Tokens,
        /// How long to wait before going ahead; zero unless a leaky bucket shapes the traffic.
        delay: Span,
    },
    /// Not now, and nothing was charged.
    Deny {
        /// The longest of the waits.
        wait: Span,
        /// What is held by the denying bucket that holds least.
        remaining: Tokens,
        /// The positions of all charges whose buckets denied.
        denied: BucketSet,
    },
    /// Not ever, and nothing was charged.
    Never {
        /// The positions of all charges whose buckets are too small.
        denied: BucketSet,
    },
    /// The store had no room for another bucket. No scenario expects it: the suite needs room for 1,000 keys.
    TableFull,
    /// The check itself is at fault; nothing was charged.
    Invalid(Fault),
}

/// What is wrong with a check. Of several faults the one of the first charge is told: its cost, its key, its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A key without bytes.
    EmptyKey,
    /// A key above [`super::KEY_BYTES_MAX`].
    KeyTooLong,
    /// A cost of nothing.
    ZeroCost,
    /// A check of no buckets.
    NoCharges,
    /// A check of more than [`tollgate_core::CHARGES_MAX`].
    TooManyCharges,
    /// One bucket under two tiers in one check.
    TierConflict,
    /// A place taken where nobody would give it back.
    NeedsGuard,
    /// An idempotency key without bytes.
    EmptyIdempotencyKey,
    /// A reservation that would be over at once.
    ZeroTimeout,
    /// An idempotency key without a lifetime.
    ZeroLifetime,
}

impl Outcome {
    /// Whether the buckets were charged.
    pub fn is_admitted(&self) -> bool {
        matches!(self, Outcome::Admit { .. })
    }
}

/// What was given to a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given {
    /// How much it gained.
    pub given: Tokens,
    /// What it holds now; none if it is in debt.
    pub balance: Tokens,
}

/// What became of places that were given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// They are free again.
    InTime,
    /// Some were not the holder's any more.
    TooLate,
}

/// What a settlement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// The least that any bucket was given back.
    pub returned: Tokens,
    /// The most that any bucket was charged on top of the estimate.
    pub charged: Tokens,
    /// The most of an overrun that a bucket was not charged: as much as a full bucket holds is the deepest debt.
    pub forgiven: Tokens,
}

/// Why nothing was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleFault {
    /// It was settled before, or never was.
    Unknown,
    /// Its time is over. A store that has forgotten it may say [`SettleFault::Unknown`].
    Expired,
    /// One cost for charges whose estimates differ.
    CostsDiffer,
    /// Costs for more or fewer charges than there are.
    WrongCount,
}
