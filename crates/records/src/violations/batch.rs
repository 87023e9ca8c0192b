//! Rows and counts that become true in one transaction, once.
//!
//! It promises that a batch whose answer was lost may be filed again: the database remembers the last batch of each writer.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use sqlx::AssertSqlSafe;

use super::pending_totals::{Addition, Line};
use super::violation_row::{ViolationRow, hour_began};
use crate::session::{Session, Value};
use crate::{Records, RecordsError, Timestamp};

/// Rows of one batch.
pub(crate) const BATCH_ROWS_MAX: usize = 512;
/// Lines of the totals of one batch, those of its rows not counted.
pub(crate) const BATCH_LINES_MAX: usize = 512;

/// How many rows one statement has: few different statements, which the databases remember.
const STATEMENT_ROWS: [usize; 3] = [64, 8, 1];

const CLAIM_SQL: &str = "INSERT INTO tollgate_violation_writers (writer, batch, written_at) VALUES ($1, $2, $3) \
    ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at \
    WHERE tollgate_violation_writers.batch < excluded.batch";
const ROWS_SQL: &str = "INSERT INTO rate_limit_violations (bucket_key, user_id, ip_address, endpoint, requested_at, \
    tokens_at_time, rule_id, cost, reason, door, sampled_for) VALUES ";
const ROW_COLUMNS: usize = 11;
/// Which columns are numbers that come as text, counted from 0.
const DECIMAL_COLUMNS: [usize; 2] = [5, 7];
const LINES_SQL: &str =
    "INSERT INTO tollgate_violation_totals (rule, hour, denied, stored, sampled_out, dropped) VALUES ";
const LINE_COLUMNS: usize = 6;
const LINES_CONFLICT_SQL: &str = " ON CONFLICT (rule, hour) DO UPDATE SET \
    denied = tollgate_violation_totals.denied + excluded.denied, \
    stored = tollgate_violation_totals.stored + excluded.stored, \
    sampled_out = tollgate_violation_totals.sampled_out + excluded.sampled_out, \
    dropped = tollgate_violation_totals.dropped + excluded.dropped";

/// What is filed together. Filed again, it is the same, under the same number.
#[derive(Debug)]
pub(crate) struct Batch {
    /// One more with each batch of a writer.
    pub(crate) number: i64,
    pub(crate) rows: Vec<ViolationRow>,
    /// Without what the rows add to `stored`.
    pub(crate) lines: BTreeMap<Line, Addition>,
}

impl Batch {
    /// Files it, or finds that it was filed.
    pub(crate) async fn file(&self, records: &Records, writer: &str) -> Result<(), RecordsError> {
        let work = async {
            let mut session = records.write().await?;
            let claim = [Value::from(writer), Value::from(self.number), Value::from(Timestamp::now())];
            if session.execute(CLAIM_SQL, &claim).await? == 0 {
                return Ok(());
            }
            insert(&mut session, ROWS_SQL, "", &DECIMAL_COLUMNS, ROW_COLUMNS, self.row_values()).await?;
            insert(&mut session, LINES_SQL, LINES_CONFLICT_SQL, &[], LINE_COLUMNS, self.line_values())
                .await?;
            session.commit().await
        };
        records.within(work).await
    }

    fn row_values(&self) -> Vec<Value<'_>> {
        let values = self.rows.iter().flat_map(|row| {
            [
                Value::from(&row.key),
                Value::from(&row.user),
                Value::from(&row.address),
                Value::from(&row.endpoint),
                Value::from(row.at),
                Value::from(row.tokens.to_string()),
                Value::from(&*row.rule),
                Value::from(row.cost.to_string()),
                Value::from(&row.reason),
                Value::from(&row.door),
                Value::from(signed(row.sampled_for)),
            ]
        });
        values.collect()
    }

    fn line_values(&self) -> Vec<Value<'_>> {
        let mut lines: BTreeMap<(&str, i64), Addition> = BTreeMap::new();
        for ((rule, hour), addition) in &self.lines {
            lines.entry((rule, *hour)).or_default().add(*addition);
        }
        for row in &self.rows {
            lines.entry((&row.rule, row.hour())).or_default().stored += 1;
        }
        let values = lines.into_iter().flat_map(|((rule, hour), addition)| {
            [
                Value::from(rule),
                Value::from(hour_began(hour)),
                Value::from(signed(addition.denied)),
                Value::from(signed(addition.stored)),
                Value::from(signed(addition.sampled_out)),
                Value::from(signed(addition.dropped)),
            ]
        });
        values.collect()
    }
}

/// Inserts rows of so many columns, with as few statements as [`STATEMENT_ROWS`] allows.
async fn insert(
    session: &mut Session,
    into: &'static str,
    conflict: &'static str,
    decimals: &[usize],
    columns: usize,
    values: Vec<Value<'_>>,
) -> Result<(), RecordsError> {
    let mut rest = values.as_slice();
    for rows in STATEMENT_ROWS {
        if rest.len() < rows * columns {
            continue;
        }
        let places = places(rows, columns, decimals, |number| session.place(number));
        let sql = format!("{into}{places}{conflict}");
        while let Some((values, others)) = rest.split_at_checked(rows * columns) {
            session.execute(AssertSqlSafe(sql.as_str()), values).await?;
            rest = others;
        }
    }
    Ok(())
}

/// `($1, $2), ($3, $4)`: places alone, so that no value is ever part of the text.
fn places(
    rows: usize,
    columns: usize,
    decimals: &[usize],
    place: impl Fn(usize) -> Cow<'static, str>,
) -> String {
    let mut text = String::new();
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..columns {
            let place = place(row * columns + column + 1);
            let separator = if column == 0 { "" } else { ", " };
            // Writing to a text cannot fail.
            let _ = if decimals.contains(&column) {
                write!(text, "{separator}CAST({place} AS NUMERIC)")
            } else {
                write!(text, "{separator}{place}")
            };
        }
        text.push(')');
    }
    text
}

/// As SQL counts.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn places_are_numbered_through() {
        let numbered = places(2, 3, &[1], |number| format!("${number}").into());
        assert_eq!(numbered, "($1, CAST($2 AS NUMERIC), $3), ($4, CAST($5 AS NUMERIC), $6)");
    }
}
