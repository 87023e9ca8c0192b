//! How the filing room behaves.

use std::time::Duration;

/// How long things may take. The defaults keep what the documentation promises: rules are in force within a second.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordsOptions {
    /// Longest that a call takes, whatever the database does: 5 s.
    pub answer_max: Duration,
    /// Longest that a connection takes to be made: 2 s.
    pub connect_max: Duration,
    /// Longest that a writer of SQLite waits for another: 1 s.
    pub busy_max: Duration,
    /// Pause between two looks at the revision on SQLite: 250 ms.
    pub poll: Duration,
    /// The same on PostgreSQL, where a notification comes first and may be lost: 500 ms.
    pub poll_behind_news: Duration,
    /// Longest pause before the next attempt to connect: 400 ms.
    pub back_off_max: Duration,
    /// Most connections to PostgreSQL for calls, and most readers of SQLite: 4. One more listens, or writes.
    pub connections_max: u32,
    /// Most pages of the SQLite file; `None` is as many as SQLite allows. A page has 4,096 bytes.
    pub sqlite_pages_max: Option<u32>,
}

impl Default for RecordsOptions {
    fn default() -> RecordsOptions {
        RecordsOptions {
            answer_max: Duration::from_secs(5),
            connect_max: Duration::from_secs(2),
            busy_max: Duration::from_secs(1),
            poll: Duration::from_millis(250),
            poll_behind_news: Duration::from_millis(500),
            back_off_max: Duration::from_millis(400),
            connections_max: 4,
            sqlite_pages_max: None,
        }
    }
}
