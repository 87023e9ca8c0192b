//! Rows that are too old or too many go, a few at a time, so that nobody who writes waits for long.

use std::time::Duration;

use tokio::time::sleep;

use super::ViolationSettings;
use crate::session::Value;
use crate::{Records, RecordsError, Timestamp};

/// Rows that one transaction removes.
const REMOVED_AT_ONCE_MAX: i64 = 500;
/// Pause between two of those: others write meanwhile.
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);
/// Writers that were quiet for so long are forgotten: no batch of theirs is still on its way.
const WRITERS_KEPT_FOR: Duration = Duration::from_hours(24);

const OLD_ROWS_SQL: &str = "DELETE FROM rate_limit_violations WHERE violation_id IN \
    (SELECT violation_id FROM rate_limit_violations WHERE requested_at < $1 ORDER BY requested_at, violation_id LIMIT $2)";
/// The newest row that is one too many.
const SURPLUS_SQL: &str =
    "SELECT violation_id FROM rate_limit_violations ORDER BY violation_id DESC LIMIT 1 OFFSET $1";
const SURPLUS_ROWS_SQL: &str = "DELETE FROM rate_limit_violations WHERE violation_id IN \
    (SELECT violation_id FROM rate_limit_violations WHERE violation_id <= $1 ORDER BY violation_id LIMIT $2)";
const OLD_TOTALS_SQL: &str = "DELETE FROM tollgate_violation_totals WHERE hour < $1";
const OLD_WRITERS_SQL: &str = "DELETE FROM tollgate_violation_writers WHERE written_at < $1";

/// Runs until the log is forgotten.
pub(crate) async fn run(records: Records, settings: ViolationSettings) {
    loop {
        sleep(settings.retention_pause).await;
        if let Err(error) = records.trim_violations(&settings, Timestamp::now()).await {
            tracing::debug!(why = %error, "old violations were not removed; tried again later");
        }
    }
}

impl Records {
    /// Removes violations beyond the age and the number that are kept. How many rows went. The log does so by itself.
    pub async fn trim_violations(
        &self,
        settings: &ViolationSettings,
        now: Timestamp,
    ) -> Result<u64, RecordsError> {
        let mut removed = self.remove_all(OLD_ROWS_SQL, now.before(settings.keep_for).into()).await?;
        let kept = i64::try_from(settings.rows_kept_max).unwrap_or(i64::MAX);
        let surplus = self.within(async {
            match self.read().await?.row(SURPLUS_SQL, &[kept.into()]).await? {
                Some(row) => row.get::<i64>("violation_id").map(Some),
                None => Ok(None),
            }
        });
        if let Some(surplus) = surplus.await? {
            removed += self.remove_all(SURPLUS_ROWS_SQL, surplus.into()).await?;
        }
        self.remove(OLD_TOTALS_SQL, &[now.before(settings.keep_totals_for).into()]).await?;
        self.remove(OLD_WRITERS_SQL, &[now.before(WRITERS_KEPT_FOR).into()]).await?;
        Ok(removed)
    }

    /// Removes up to a bound, until there is nothing left to remove.
    async fn remove_all(&self, sql: &'static str, bound: Value<'_>) -> Result<u64, RecordsError> {
        let mut removed = 0;
        loop {
            let now = self.remove(sql, &[bound.clone(), REMOVED_AT_ONCE_MAX.into()]).await?;
            removed += now;
            if now < REMOVED_AT_ONCE_MAX.unsigned_abs() {
                return Ok(removed);
            }
            sleep(REMOVAL_PAUSE).await;
        }
    }

    async fn remove(&self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, RecordsError> {
        self.within(async {
            let mut session = self.write().await?;
            let removed = session.execute(sql, values).await?;
            session.commit().await?;
            Ok(removed)
        })
        .await
    }
}
