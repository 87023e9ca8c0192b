//! The rule set: entries and plain rows, versioned together.

mod apply_error;
mod applying;
mod entry;
mod history;
mod plain_row;
mod reading;
mod rule_set_change;
mod rule_set_diff;
mod storing;
mod version;

pub use apply_error::ApplyError;
pub use entry::Entry;
pub use plain_row::{PlainRow, PutRow, RowTerms};
pub use rule_set_change::{RuleSetChange, Stored};
pub use rule_set_diff::{Changed, RuleSetDiff};
pub use version::{StoredVersion, Version};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::limits;
use crate::{ENTRIES_MAX, ROWS_MAX, RULE_SET_BYTES_MAX, RecordsError};

/// All entries and rows at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSet {
    /// Its version; 0 before the first change.
    pub version: i64,
    /// The revision of the database that it was read at.
    pub revision: i64,
    /// Whether it was changed by SQL, and could not be made a version yet: the database takes no changes.
    pub is_unversioned: bool,
    /// By name.
    pub entries: Vec<Entry>,
    /// By number.
    pub rows: Vec<PlainRow>,
}

/// What a version keeps: nothing but what it says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    pub(crate) entries: Vec<Entry>,
    pub(crate) rows: Vec<PlainRow>,
}

impl Content {
    /// As a version keeps it. The same content is the same text, on either database.
    fn to_json(&self) -> Result<String, RecordsError> {
        limits::count("entries", self.entries.len(), ENTRIES_MAX)?;
        limits::count("rows", self.rows.len(), ROWS_MAX)?;
        let json = serde_json::to_string(self)
            .map_err(|error| RecordsError::Malformed { what: error.to_string() })?;
        limits::text("rule_set", &json, RULE_SET_BYTES_MAX)?;
        Ok(json)
    }

    fn parse(json: &str, version: i64) -> Result<Content, RecordsError> {
        serde_json::from_str(json)
            .map_err(|error| RecordsError::Malformed { what: format!("version {version}: {error}") })
    }
}

/// SHA-256 in hexadecimal.
fn hash(json: &str) -> String {
    format!("{:x}", Sha256::digest(json))
}
