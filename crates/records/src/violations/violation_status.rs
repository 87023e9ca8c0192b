//! Whether violations can be stored.

use serde::Serialize;

use super::ViolationCounts;
use crate::Timestamp;

/// What the violation log counted, and whether it can store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ViolationStatus {
    /// Since the start.
    pub counts: ViolationCounts,
    /// Whether there is a database at all.
    pub has_database: bool,
    /// Why nothing can be stored, if so.
    pub failing: Option<ViolationFailure>,
}

/// Why nothing can be stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ViolationFailure {
    /// What the last attempt said.
    pub why: String,
    /// When that began.
    pub since: Timestamp,
}
