//! Why something was not filed, or not found.

use std::fmt;
use std::time::Duration;

use sqlx::error::ErrorKind;

/// Why the filing room did not do what it was asked. Nothing was changed, unless the variant says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordsError {
    /// There is no database, and why. Nothing was sent.
    Unavailable {
        /// What stands in the way, in words.
        why: String,
    },
    /// No answer in time, or the connection broke before it came: the change may have been made nevertheless.
    Unanswered {
        /// What happened, in words.
        why: String,
    },
    /// Somebody else is writing, and did not end in time.
    Locked {
        /// How long we waited.
        waited: Duration,
    },
    /// The database has no room left.
    Full,
    /// The database takes no changes.
    ReadOnly,
    /// A field is not as it has to be.
    Invalid {
        /// Which field.
        field: &'static str,
        /// What is wrong with it, and the cure.
        why: String,
    },
    /// There is no such thing.
    NotFound {
        /// What was looked for: `order 12`.
        what: String,
    },
    /// There may be only one of these, and there is one.
    Twice {
        /// What the database says of it.
        what: String,
    },
    /// What is stored cannot be read: somebody changed it by hand.
    Malformed {
        /// What it is, and what is wrong with it.
        what: String,
    },
    /// The tables are those of a later program.
    TooNew {
        /// Which migration we do not know.
        migration: i64,
    },
    /// Anything else that the database refused.
    Refused {
        /// What it said.
        what: String,
    },
}

impl RecordsError {
    /// Whether the database cannot be used by anybody: then its keeper looks for itself.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Unanswered { .. })
    }

    /// What an error of the driver means. `busy_max` is how long SQLite waited for another writer.
    pub(crate) fn of(error: sqlx::Error, busy_max: Duration) -> RecordsError {
        match error {
            sqlx::Error::Database(error) => of_database(error.as_ref(), busy_max),
            sqlx::Error::PoolTimedOut => Self::Unavailable {
                why: "no connection became free in time; the database is slow or away".to_owned(),
            },
            sqlx::Error::PoolClosed => Self::Unavailable { why: "the filing room was closed".to_owned() },
            sqlx::Error::Io(error) => Self::Unanswered { why: format!("the connection broke: {error}") },
            sqlx::Error::Tls(error) => Self::Unavailable { why: format!("TLS failed: {error}") },
            sqlx::Error::WorkerCrashed => Self::Unanswered { why: "the connection ended".to_owned() },
            sqlx::Error::ColumnDecode { index, source } => {
                Self::Malformed { what: format!("column {index}: {source}") }
            }
            sqlx::Error::ColumnNotFound(column) => {
                Self::Malformed { what: format!("column \"{column}\" is missing") }
            }
            other => Self::Refused { what: other.to_string() },
        }
    }
}

fn of_database(error: &dyn sqlx::error::DatabaseError, busy_max: Duration) -> RecordsError {
    let code = error.code().unwrap_or_default();
    let what = error.message().to_owned();
    // SQLite's codes are numbers, their low byte the kind; PostgreSQL's have five characters.
    let sqlite = if code.len() < 5 || error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
        code.parse::<u32>().ok().map(|code| code & 0xff)
    } else {
        None
    };
    match (sqlite, code.as_ref()) {
        (Some(5 | 6), _) | (None, "55P03") => RecordsError::Locked { waited: busy_max },
        (Some(13), _) | (None, "53100") => RecordsError::Full,
        (Some(8), _) | (None, "25006") => RecordsError::ReadOnly,
        (None, "57014") => RecordsError::Unanswered { why: format!("the database gave up: {what}") },
        // A file that cannot be read; a server that is shut down, starting up, or has as many connections as it takes.
        (Some(10 | 11 | 14 | 26), _) | (None, "57P01" | "57P02" | "57P03" | "53300") => {
            RecordsError::Unavailable { why: what }
        }
        _ if error.kind() == ErrorKind::UniqueViolation => RecordsError::Twice { what },
        _ => RecordsError::Refused { what },
    }
}

impl fmt::Display for RecordsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { why } => write!(f, "the database is not available: {why}"),
            Self::Unanswered { why } => {
                write!(
                    f,
                    "the database did not answer: {why}; look whether the change was made before you repeat it"
                )
            }
            Self::Locked { waited } => {
                write!(
                    f,
                    "the database is locked: somebody else has been writing for {waited:?}; end that, and try again"
                )
            }
            Self::Full => {
                write!(
                    f,
                    "the database is full; make room on its disk, or allow it more (`max_page_count` of SQLite)"
                )
            }
            Self::ReadOnly => write!(f, "the database takes no changes; make its file or server writable"),
            Self::Invalid { field, why } => write!(f, "`{field}` {why}"),
            Self::NotFound { what } => write!(f, "there is no {what}"),
            Self::Twice { what } => {
                write!(f, "there is one already ({what}); change that one, or remove it first")
            }
            Self::Malformed { what } => {
                write!(f, "what is stored cannot be read: {what}; mend it with the SQL that changed it")
            }
            Self::TooNew { migration } => {
                write!(f, "the tables are those of a later Tollgate (migration {migration}); start that one")
            }
            Self::Refused { what } => write!(f, "the database refused it: {what}"),
        }
    }
}

impl std::error::Error for RecordsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn told(error: &RecordsError, expected: &str) {
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn every_error_says_what_is_wrong_and_what_to_do() {
        let text = str::to_owned;
        told(&RecordsError::Unavailable { why: text("refused") }, "the database is not available: refused");
        told(
            &RecordsError::Unanswered { why: text("no answer within 5s") },
            "the database did not answer: no answer within 5s; look whether the change was made before you repeat it",
        );
        told(
            &RecordsError::Locked { waited: Duration::from_secs(1) },
            "the database is locked: somebody else has been writing for 1s; end that, and try again",
        );
        told(
            &RecordsError::Full,
            "the database is full; make room on its disk, or allow it more (`max_page_count` of SQLite)",
        );
        told(&RecordsError::ReadOnly, "the database takes no changes; make its file or server writable");
        told(&RecordsError::NotFound { what: text("order 12") }, "there is no order 12");
        told(
            &RecordsError::Twice { what: text("UNIQUE") },
            "there is one already (UNIQUE); change that one, or remove it first",
        );
        told(
            &RecordsError::Malformed { what: text("version 3") },
            "what is stored cannot be read: version 3; mend it with the SQL that changed it",
        );
        told(
            &RecordsError::TooNew { migration: 9 },
            "the tables are those of a later Tollgate (migration 9); start that one",
        );
        told(
            &RecordsError::Refused { what: text("no such table") },
            "the database refused it: no such table",
        );
    }

    #[test]
    fn only_an_outage_sends_for_the_keeper() {
        assert!(RecordsError::Unavailable { why: String::new() }.is_outage());
        assert!(RecordsError::Unanswered { why: String::new() }.is_outage());
        assert!(
            !RecordsError::Full.is_outage() && !RecordsError::Locked { waited: Duration::ZERO }.is_outage()
        );
    }
}
