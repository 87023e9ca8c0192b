//! What a policy says of one request: which rules apply, which bucket of each, and at what cost.

use tollgate_core::Cost;

/// One rule that applies to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit<'h> {
    /// Position in [`crate::Policy::rules`]; always one that limits.
    pub rule: usize,
    /// Which of the rule's buckets: unambiguous whatever its parts contain, at most 512 bytes. Valid during the call alone.
    pub key: &'h [u8],
    /// What the request costs. Never zero.
    pub cost: Cost,
    /// The request named a cost of its own that was of no use, so this is the default.
    pub cost_was_unusable: bool,
    /// Whether the rule denies this client, or only watches it.
    pub is_enforced: bool,
}

/// What becomes of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// The buckets of the hits decide; with no hit, it is admitted.
    ByBuckets,
    /// It is admitted, whatever the buckets hold: an `allow` rule governs it.
    Allowed {
        /// Position of that rule.
        rule: usize,
    },
    /// It is refused: a `block` rule governs it.
    Blocked {
        /// Position of that rule.
        rule: usize,
    },
    /// It is refused: it lacks a part of the key of a rule that denies such requests.
    KeyMissing {
        /// Position of that rule.
        rule: usize,
    },
    /// It is refused: a kill switch governs it.
    Killed {
        /// Position in [`crate::Policy::kill_switches`].
        switch: usize,
    },
    /// It is refused: its path has an encoded slash or the like, and the policy says `path_encoded: refuse`.
    PathRefused,
    /// More than [`tollgate_core::CHARGES_MAX`] rules apply: it is refused, since some of them would not be enforced.
    TooManyRules,
}
