//! Questions to the violation log: pages of rows, and the true counts.

use serde::Serialize;
use sqlx::AssertSqlSafe;

use super::violation_record::{COLUMNS_SQL, ViolationRecord};
use super::{ViolationCursor, ViolationFilter};
use crate::limits::page;
use crate::session::{Row, Value};
use crate::{NAME_BYTES_MAX, Records, RecordsError, Timestamp, limits};

/// Violations, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViolationPage {
    /// At most as many as were asked for.
    pub violations: Vec<ViolationRecord>,
    /// Where the next page begins; `None` if this is the last.
    pub next: Option<ViolationCursor>,
}

/// The true counts of one rule and hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ViolationTotals {
    /// The rule's name.
    pub rule: String,
    /// When the hour began.
    pub hour: Timestamp,
    /// All denials.
    pub denied: u64,
    /// Those that are rows.
    pub stored: u64,
    /// Those that were only counted, on purpose.
    pub sampled_out: u64,
    /// Those that were lost.
    pub dropped: u64,
}

impl Records {
    /// Violations, newest first, at most [`PAGE_MAX`](crate::PAGE_MAX). The next page is found with the cursor of this one.
    pub async fn violations(
        &self,
        filter: &ViolationFilter,
        cursor: Option<ViolationCursor>,
        limit: usize,
    ) -> Result<ViolationPage, RecordsError> {
        let (mut conditions, mut values) = filter.conditions()?;
        if let Some(cursor) = cursor {
            let at = values.len();
            conditions.push(format!("(requested_at, violation_id) < (${}, ${})", at + 1, at + 2));
            values.extend([Value::from(cursor.requested_at), Value::from(cursor.violation_id)]);
        }
        let limit = page(limit);
        // One more than asked for tells whether there is another page.
        values.push(Value::from(limit + 1));
        let conditions = if conditions.is_empty() { "TRUE".to_owned() } else { conditions.join(" AND ") };
        let sql = format!(
            "SELECT {COLUMNS_SQL} FROM rate_limit_violations WHERE {conditions} \
             ORDER BY requested_at DESC, violation_id DESC LIMIT ${}",
            values.len()
        );
        let rows = self
            .within(async { self.read().await?.rows(AssertSqlSafe(sql.as_str()), &values).await })
            .await?;
        let mut violations = rows.iter().map(ViolationRecord::of).collect::<Result<Vec<_>, _>>()?;
        let kept = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_next = violations.len() > kept;
        violations.truncate(kept);
        let last = violations.last().filter(|_| has_next);
        let next = last.and_then(|last| {
            Some(ViolationCursor { requested_at: last.requested_at, violation_id: last.violation_id? })
        });
        Ok(ViolationPage { violations, next })
    }

    /// The true counts, latest hour first and then by rule, at most [`PAGE_MAX`](crate::PAGE_MAX) lines. Hours that began within the times, of
    /// one rule or of all.
    pub async fn violation_totals(
        &self,
        rule: Option<&str>,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<Vec<ViolationTotals>, RecordsError> {
        if let Some(rule) = rule {
            limits::text("rule", rule, NAME_BYTES_MAX)?;
        }
        let since = since.unwrap_or(Timestamp::from_unix_micros(0));
        let rows = self
            .within(async {
                let sql = "SELECT rule, hour, denied, stored, sampled_out, dropped FROM tollgate_violation_totals \
                     WHERE ($1 IS NULL OR rule = $1) AND hour >= $2 AND ($3 IS NULL OR hour < $3) \
                     ORDER BY hour DESC, rule LIMIT $4";
                let values = [rule.into(), since.into(), until.into(), page(usize::MAX).into()];
                self.read().await?.rows(sql, &values).await
            })
            .await?;
        rows.iter().map(totals_of).collect()
    }
}

fn totals_of(row: &Row) -> Result<ViolationTotals, RecordsError> {
    let count = |column| row.get::<i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
    Ok(ViolationTotals {
        rule: row.get("rule")?,
        hour: row.get("hour")?,
        denied: count("denied")?,
        stored: count("stored")?,
        sampled_out: count("sampled_out")?,
        dropped: count("dropped")?,
    })
}
