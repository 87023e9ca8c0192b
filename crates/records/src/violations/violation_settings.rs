//! How the violation log behaves.

use std::time::Duration;

use super::Identifiers;

/// How the violation log behaves. The defaults are for a busy service and a small disk.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ViolationSettings {
    /// Rows that each key of each rule may have each second: 3, and 15 at most. Further denials are only counted. 0 stores none.
    pub rows_per_key_per_second: u32,
    /// Rows that all keys together may have each second: 500, so that half an hour of a flood is kept of one instance. Further denials are only counted.
    pub rows_per_second: u32,
    /// Violations that are kept while the database is away: 8,192. Further ones are dropped, and counted.
    pub queued_max: usize,
    /// How long rows are kept: 30 days.
    pub keep_for: Duration,
    /// How many rows are kept; the oldest go first: 1,000,000.
    pub rows_kept_max: u64,
    /// How long the hourly totals are kept: 400 days.
    pub keep_totals_for: Duration,
    /// Pause between two looks for rows that are too old or too many: one minute.
    pub retention_pause: Duration,
    /// How clients are named: as they are.
    pub identifiers: Identifiers,
    /// Longest that [`ViolationLog::close`](super::ViolationLog::close) waits for the database: 3 s.
    pub close_max: Duration,
}

impl Default for ViolationSettings {
    fn default() -> ViolationSettings {
        const DAY: Duration = Duration::from_hours(24);
        ViolationSettings {
            rows_per_key_per_second: 3,
            rows_per_second: 500,
            queued_max: 8_192,
            keep_for: DAY.saturating_mul(30),
            rows_kept_max: 1_000_000,
            keep_totals_for: DAY.saturating_mul(400),
            retention_pause: Duration::from_mins(1),
            identifiers: Identifiers::Plain,
            close_max: Duration::from_secs(3),
        }
    }
}
