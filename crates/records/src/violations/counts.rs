//! How many denials there were, and what became of them.

use serde::Serialize;

/// How many denials there were, and what became of them: `denied = stored + sampled_out + dropped + queued`, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ViolationCounts {
    /// All of them.
    pub denied: u64,
    /// Those that are rows of the database.
    pub stored: u64,
    /// Those that were only counted, on purpose: their key had its rows of that second, or there is no database.
    pub sampled_out: u64,
    /// Those that should have become rows and did not: the queue was full, or the database refused them.
    pub dropped: u64,
    /// Those that are about to become rows.
    pub queued: u64,
}
