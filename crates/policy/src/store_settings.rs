//! What a policy says for a store that several instances share (S3–S5, F1): how a rule's buckets are kept there, and what
//! becomes of its requests while the store does not answer.
//!
//! Limits in memory have no such store and ignore all of it. Where the store is, is no part of a policy.

use tollgate_core::Span;

/// The shortest and the longest that a check may wait for the store.
pub(crate) const DEADLINE: (Span, Span) = (Span::from_millis(1), Span::from_secs(1));
/// The shortest and the longest time without any reply after which the store may count as unreachable. At least the deadline.
pub(crate) const AWAY_AFTER: (Span, Span) = (Span::from_millis(10), Span::from_secs(10));
/// The shortest and the longest that a lease may last.
pub(crate) const LEASE: (Span, Span) = (Span::from_millis(100), Span::from_secs(10));
/// Most instances that share a store.
pub(crate) const INSTANCES_MAX: u32 = 10_000;

/// How the instances share the buckets of a rule (S4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Consistency {
    /// Every check asks the store.
    #[default]
    Exact,
    /// Instances take slices of the tokens ahead and spend them by themselves. The bound is the same.
    Leased,
}

/// What becomes of a rule's requests while the store cannot answer within its deadline (F1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnStoreFailure {
    /// They are admitted: the rule limits nothing.
    Open,
    /// They are refused: 503.
    Closed,
    /// Buckets in the instance's own memory decide, with its share of rate and burst.
    #[default]
    Local,
}

/// What a bucket of which an instance has never heard holds when the store fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LocalStart {
    /// The instance's whole share of the burst.
    #[default]
    Full,
    /// Nothing: it refills from there.
    Empty,
}

/// What a policy says of the store as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// The longest a caller waits for the store's reply; 1 ms to 1 s. Default: 15 ms.
    pub deadline: Span,
    /// The time without any reply after which the store counts as unreachable; 10 ms to 10 s, at least the deadline. Default: 250 ms, or
    /// the deadline if that is longer.
    pub away_after: Span,
    /// The most instances that ever run at a time, of which each has an equal share; 1 to 10,000. `None`: the largest number
    /// learned from the store counts, which may be too small.
    pub instances_max: Option<u32>,
    /// What an unknown bucket holds when the store fails.
    pub local_start: LocalStart,
    /// The epoch of leases (S4): a slice is good for so long. 100 ms to 10 s, 400 ms unless told otherwise.
    pub lease: Span,
    /// The hash tag, without braces, that puts every key of the policy into one slot of a cluster; `None`: keys spread.
    pub hash_tag: Option<Box<str>>,
}

impl Consistency {
    /// How policies spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Consistency::Exact => "exact",
            Consistency::Leased => "leased",
        }
    }
}

impl OnStoreFailure {
    /// How policies spell it.
    pub const fn name(self) -> &'static str {
        match self {
            OnStoreFailure::Open => "open",
            OnStoreFailure::Closed => "closed",
            OnStoreFailure::Local => "local",
        }
    }
}

impl LocalStart {
    /// How policies spell it.
    pub const fn name(self) -> &'static str {
        match self {
            LocalStart::Full => "full",
            LocalStart::Empty => "empty",
        }
    }
}

impl Default for StoreSettings {
    fn default() -> Self {
        StoreSettings {
            deadline: Span::from_millis(15),
            away_after: Span::from_millis(250),
            instances_max: None,
            local_start: LocalStart::Full,
            lease: Span::from_millis(400),
            hash_tag: None,
        }
    }
}
