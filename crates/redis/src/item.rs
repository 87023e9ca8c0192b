//! One operation of a batch.

use tollgate_core::{BucketSet, Cost, Span, Tokens};

use crate::{KeyName, Receipt, SharedLimit};

/// Longest time that a reservation may be open: a reset is remembered for as long, so that what it forgave is not given back as well.
pub const RESERVATION_TIMEOUT_MAX: Span = Span::from_secs(7 * 86_400);

/// What one check asks of one bucket.
#[derive(Debug, Clone)]
pub struct Charge {
    /// The bucket.
    pub key: KeyName,
    /// Its limit.
    pub limit: SharedLimit,
    /// What is asked for.
    pub cost: Cost,
    /// What must be left for others.
    pub keep: Tokens,
}

impl Charge {
    /// Asks for `cost`, down to the last token.
    pub fn new(key: KeyName, limit: &SharedLimit, cost: Cost) -> Charge {
        Charge { key, limit: limit.clone(), cost, keep: Tokens::ZERO }
    }

    /// The same, leaving a share alone.
    #[must_use]
    pub fn keeping(self, keep: Tokens) -> Charge {
        Charge { keep, ..self }
    }
}

/// One bucket of a reservation that is settled.
#[derive(Debug, Clone)]
pub struct Correction {
    /// The bucket.
    pub key: KeyName,
    /// The limit that is in force now; of a limit that came with the call, that one.
    pub limit: SharedLimit,
    /// What was charged.
    pub estimate: Cost,
    /// What it cost in truth.
    pub actual: Cost,
    /// How deep in debt an overrun may leave the bucket.
    pub debt_max: Tokens,
}

/// A key of the batch: its number among those of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRef {
    Value(usize),
    SortedSet(usize),
}

/// What a check asks of one bucket: charges to the same one are one.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) key: KeyRef,
    pub(crate) limit: usize,
    pub(crate) cost: u64,
    pub(crate) keep: u64,
    /// Which charges of the check these are.
    pub(crate) members: BucketSet,
}

/// One bucket to be settled.
#[derive(Debug, Clone)]
pub(crate) struct Due {
    pub(crate) key: KeyRef,
    pub(crate) limit: usize,
    pub(crate) estimate: u64,
    pub(crate) actual: u64,
    pub(crate) debt_max: u64,
}

/// One operation.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Check { wanted: Vec<Wanted> },
    Peek { wanted: Vec<Wanted> },
    Once { record: KeyRef, lifetime_ms: u64, wanted: Vec<Wanted> },
    Reserve { record: KeyRef, timeout_ms: u64, note: Vec<u8>, wanted: Vec<Wanted> },
    Settle { record: KeyRef, expected: Vec<u8>, due: Vec<Due> },
    Give { key: KeyRef, limit: usize, amount: u64 },
    Take { key: KeyRef, limit: usize, amount: u64, debt_max: u64 },
    Reset { key: KeyRef, limit: usize },
    LetGo { key: KeyRef, limit: usize, cost: u64, receipt: Receipt },
    Ask { key: KeyRef, limit: usize, record: KeyRef, numbers: [u64; 7] },
}

impl Item {
    /// The buckets of a check, whatever kind of check it is.
    pub(crate) fn wanted(&self) -> Option<&[Wanted]> {
        match self {
            Item::Check { wanted }
            | Item::Peek { wanted }
            | Item::Once { wanted, .. }
            | Item::Reserve { wanted, .. } => Some(wanted),
            _ => None,
        }
    }
}
