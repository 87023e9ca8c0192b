//! A state of the rule set that was, or is.

use serde::Serialize;

use super::{Content, Entry, PlainRow};
use crate::session::Row;
use crate::{RecordsError, Timestamp};

/// Who made a version, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Version {
    /// Its number, from 1.
    pub version: i64,
    /// Who made it; `sql` if tables were changed by hand.
    pub author: String,
    /// Why.
    pub comment: String,
    /// When; of a change by hand, when it was first seen.
    pub created_at: Timestamp,
    /// SHA-256 of what it says, in hexadecimal.
    pub hash: String,
}

/// A version, and what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredVersion {
    /// Who made it, when and why.
    #[serde(flatten)]
    pub version: Version,
    /// Its entries, by name.
    pub entries: Vec<Entry>,
    /// Its rows, by number.
    pub rows: Vec<PlainRow>,
}

impl Version {
    pub(super) fn read(row: &Row) -> Result<Version, RecordsError> {
        Ok(Version {
            version: row.get("version")?,
            author: row.get("author")?,
            comment: row.get("comment")?,
            created_at: row.get("created_at")?,
            hash: row.get("hash")?,
        })
    }
}

impl StoredVersion {
    pub(super) fn read(row: &Row) -> Result<StoredVersion, RecordsError> {
        let version = Version::read(row)?;
        let json: String = row.get("rule_set")?;
        let Content { entries, rows } = Content::parse(&json, version.version)?;
        Ok(StoredVersion { version, entries, rows })
    }
}
