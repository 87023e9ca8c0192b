//! What somebody sees who only looks at a bucket.

use tollgate_core::{Algorithm, Span, Tokens};

use crate::StoreMode;

/// How a bucket stands. Looking charges nothing, and changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketLook {
    /// The limit in force; in a shared ledger another than this program's where another instance has declared it since.
    pub limit: Algorithm,
    /// What it holds; none if it is in debt. Of places, how many are free.
    pub balance: Tokens,
    /// How long until it can pay the cost that was asked about, if nobody else spends; `None` if it never can.
    pub next_admit: Option<Span>,
    /// How long until it is full, if nobody spends.
    pub full_in: Span,
    /// Upon what this rests. Of a fallback it is this instance's share that is told.
    pub mode: StoreMode,
}

impl BucketLook {
    /// Whether anything is known of the client. A full bucket holds no information: it may be forgotten, and be told of all the same.
    /// Just after a burst was raised nobody's is full: everybody exists until it is.
    pub fn exists(&self) -> bool {
        self.full_in > Span::ZERO || self.balance < self.limit.full()
    }
}
