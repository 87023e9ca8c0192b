//! The versions that were.

use super::{RuleSetDiff, StoredVersion, Version, storing};
use crate::limits::page;
use crate::{Records, RecordsError};

impl Records {
    /// Versions, newest first, at most [`PAGE_MAX`](crate::PAGE_MAX). Those after a page are found with the last number of it as cursor.
    pub async fn versions(&self, cursor: Option<i64>, limit: usize) -> Result<Vec<Version>, RecordsError> {
        self.within(async {
            let mut session = self.read().await?;
            let rows = session
                .rows(
                    "SELECT version, author, comment, created_at, hash FROM tollgate_versions WHERE version < $1 \
                     ORDER BY version DESC LIMIT $2",
                    &[cursor.unwrap_or(i64::MAX).into(), page(limit).into()],
                )
                .await?;
            rows.iter().map(Version::read).collect()
        })
        .await
    }

    /// One version, with what it says.
    pub async fn version(&self, number: i64) -> Result<StoredVersion, RecordsError> {
        self.within(async {
            let mut session = self.read().await?;
            let find = "SELECT version, author, comment, created_at, rule_set, hash FROM tollgate_versions WHERE version = $1";
            match session.row(find, &[number.into()]).await? {
                Some(row) => StoredVersion::read(&row),
                None => Err(RecordsError::NotFound { what: format!("version {number}") }),
            }
        })
        .await
    }

    /// What changed from one version to another; 0 is empty.
    pub async fn diff(&self, before: i64, after: i64) -> Result<RuleSetDiff, RecordsError> {
        self.within(async {
            let mut session = self.read().await?;
            // The later one first: if neither is there, it is the one that was asked for.
            let after = storing::stored(&mut session, after).await?;
            let before = storing::stored(&mut session, before).await?;
            Ok(RuleSetDiff::between(&before, &after))
        })
        .await
    }
}
