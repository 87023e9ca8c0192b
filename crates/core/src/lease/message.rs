//! What a node and the ledger say to each other about one bucket.

use crate::{Span, Tokens};

/// A node's request. Carries all that the node knows, so that nothing depends on what became of earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// Ascends with every ask of this node for this bucket, from 1. One that was processed before changes nothing.
    pub seq: u64,
    /// What the node still holds, at most; it will have spent some of it when the ask arrives.
    pub unspent: Tokens,
    /// What the node held and gives back. It will not spend it.
    pub back: Tokens,
    /// What it would like to be given.
    pub want: Tokens,
    /// What helps it at least.
    pub least: Tokens,
}

/// The ledger's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// What the node is given; nothing if it is denied, or did not want anything.
    pub granted: Tokens,
    /// If something was given: the last of it may be spent so long after the answer was received, and the rest as the rate mints. If
    /// nothing was: how long until there is enough, if nobody else asks. Whole microseconds.
    pub wait: Span,
    /// What the ledger counts as held by the node from now on, what was granted included.
    pub held: Tokens,
    /// What nobody holds after this, in micro-tokens; negative is debt.
    pub balance: i64,
}
