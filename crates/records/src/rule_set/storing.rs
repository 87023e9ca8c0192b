//! Writing the rule set: what differs from what is there, the version, and the line in the audit trail.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::AssertSqlSafe;

use super::reading::Seen;
use super::rule_set_change::Wanted;
use super::{Content, Entry, PlainRow, RowTerms, RuleSetDiff, Version};
use crate::audit::{self, AuditNote};
use crate::session::{Session, Value};
use crate::{Author, RecordsError, Timestamp, VERSIONS_KEPT_MAX};

/// Rows that one statement writes: a large rule set over a network is a matter of round trips.
const ROWS_PER_STATEMENT: usize = 200;

/// Makes the tables say what is wanted, and touches nothing else.
pub(super) async fn store(session: &mut Session, now: &Content, wanted: &Wanted) -> Result<(), RecordsError> {
    store_entries(session, now, wanted).await?;
    store_rows(session, now, wanted).await
}

async fn store_entries(session: &mut Session, now: &Content, wanted: &Wanted) -> Result<(), RecordsError> {
    let gone = now.entries.iter().filter(|entry| !wanted.entries.contains_key(&entry.name));
    let gone: Vec<Value<'_>> = gone.map(|entry| (&entry.name).into()).collect();
    delete(session, "tollgate_entries", "name", &gone).await?;
    let known: BTreeMap<&str, &Entry> =
        now.entries.iter().map(|entry| (entry.name.as_str(), entry)).collect();
    let put = wanted.entries.values().filter(|entry| known.get(entry.name.as_str()) != Some(entry));
    let put: Vec<[Value<'_>; 5]> = put.map(entry_values).collect();
    for put in put.chunks(ROWS_PER_STATEMENT) {
        let sql = format!(
            "INSERT INTO tollgate_entries (name, text, is_active, description, updated_at) VALUES {} \
             ON CONFLICT (name) DO UPDATE SET text = excluded.text, is_active = excluded.is_active, \
             description = excluded.description, updated_at = excluded.updated_at",
            places(put.len(), ["", "", "", "", ""])
        );
        session.execute(AssertSqlSafe(sql), put.as_flattened()).await?;
    }
    Ok(())
}

fn entry_values(entry: &Entry) -> [Value<'_>; 5] {
    let Entry { name, text, is_active, description } = entry;
    [name.into(), text.into(), (*is_active).into(), description.into(), Timestamp::now().into()]
}

async fn store_rows(session: &mut Session, now: &Content, wanted: &Wanted) -> Result<(), RecordsError> {
    let gone = now.rows.iter().filter(|row| !wanted.rows.contains_key(&row.rule_id));
    let gone: Vec<Value<'_>> = gone.map(|row| row.rule_id.into()).collect();
    delete(session, "rate_limit_rules", "rule_id", &gone).await?;
    let changed = |row: &&PlainRow| wanted.rows.get(&row.rule_id).is_some_and(|wanted| wanted != *row);
    // Two rows may change places, and each place has one row at any time.
    for row in now.rows.iter().filter(changed) {
        let park = "UPDATE rate_limit_rules SET key_pattern = 'moving ' || CAST(rule_id AS TEXT), plan = NULL WHERE rule_id = $1";
        session.execute(park, &[row.rule_id.into()]).await?;
    }
    for row in now.rows.iter().filter(changed) {
        let update = "UPDATE rate_limit_rules SET key_pattern = $1, scope = $2, rate_per_second = CAST($3 AS NUMERIC), \
                      burst_capacity = CAST($4 AS NUMERIC), plan = $5, is_active = $6, description = $7 WHERE rule_id = $8";
        let mut values = terms(&wanted.rows[&row.rule_id].terms).to_vec();
        values.push(row.rule_id.into());
        session.execute(update, &values).await?;
    }
    let known: BTreeSet<i64> = now.rows.iter().map(|row| row.rule_id).collect();
    // Those that a rollback brings back have their numbers.
    for row in wanted.rows.values().filter(|row| !known.contains(&row.rule_id)) {
        let insert = "INSERT INTO rate_limit_rules (key_pattern, scope, rate_per_second, burst_capacity, plan, is_active, \
                      description, rule_id) VALUES ($1, $2, CAST($3 AS NUMERIC), CAST($4 AS NUMERIC), $5, $6, $7, $8)";
        let mut values = terms(&row.terms).to_vec();
        values.push(row.rule_id.into());
        session.execute(insert, &values).await?;
    }
    let new: Vec<[Value<'_>; 7]> = wanted.new_rows.iter().map(|put| terms(&put.terms)).collect();
    for new in new.chunks(ROWS_PER_STATEMENT) {
        let sql = format!(
            "INSERT INTO rate_limit_rules (key_pattern, scope, rate_per_second, burst_capacity, plan, is_active, description) \
             VALUES {}",
            places(new.len(), ["", "", "NUMERIC", "NUMERIC", "", "", ""])
        );
        session.execute(AssertSqlSafe(sql), new.as_flattened()).await?;
    }
    Ok(())
}

/// Deletes the rows of a table whose key is one of these.
async fn delete(
    session: &mut Session,
    table: &'static str,
    key: &'static str,
    values: &[Value<'_>],
) -> Result<(), RecordsError> {
    for values in values.chunks(ROWS_PER_STATEMENT) {
        let each: Vec<String> = (1..=values.len()).map(|number| format!("${number}")).collect();
        let sql = format!("DELETE FROM {table} WHERE {key} IN ({})", each.join(", "));
        session.execute(AssertSqlSafe(sql), values).await?;
    }
    Ok(())
}

/// `($1, CAST($2 AS NUMERIC)), ($3, …)`: the places of so many rows, by the types that values are cast to.
fn places<const COLUMNS: usize>(rows: usize, casts: [&str; COLUMNS]) -> String {
    let row = |row: usize| {
        let columns = (1..).zip(casts).map(|(column, cast)| match cast {
            "" => format!("${}", row * COLUMNS + column),
            cast => format!("CAST(${} AS {cast})", row * COLUMNS + column),
        });
        format!("({})", columns.collect::<Vec<_>>().join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

fn terms(terms: &RowTerms) -> [Value<'_>; 7] {
    [
        (&terms.key_pattern).into(),
        (&terms.scope).into(),
        (&terms.rate_per_second).into(),
        (&terms.burst_capacity).into(),
        (&terms.plan).into(),
        terms.is_active.into(),
        (&terms.description).into(),
    ]
}

/// Keeps a version, and forgets the oldest beyond what is kept.
pub(super) async fn keep(
    session: &mut Session,
    number: i64,
    author: &Author,
    comment: &str,
    seen: &Seen,
) -> Result<Version, RecordsError> {
    let created_at = Timestamp::now();
    session
        .execute(
            "INSERT INTO tollgate_versions (version, author, comment, created_at, rule_set, hash) VALUES ($1, $2, $3, $4, $5, $6)",
            &[
                number.into(),
                (&author.name).into(),
                comment.into(),
                created_at.into(),
                (&seen.json).into(),
                (&seen.hash).into(),
            ],
        )
        .await?;
    let oldest = number - VERSIONS_KEPT_MAX;
    session.execute("DELETE FROM tollgate_versions WHERE version <= $1", &[oldest.into()]).await?;
    let (author, comment, hash) = (author.name.clone(), comment.to_owned(), seen.hash.clone());
    Ok(Version { version: number, author, comment, created_at, hash })
}

/// Writes down what a version changed.
pub(super) async fn audit(
    session: &mut Session,
    action: &str,
    version: &Version,
    before: &Content,
    after: &Content,
    author: &Author,
) -> Result<(), RecordsError> {
    let diff = RuleSetDiff::between(before, after);
    let note = AuditNote {
        action,
        target: &format!("version {}", version.version),
        before: Some(&diff.before_json()),
        after: Some(&diff.after_json()),
        reason: Some(&version.comment),
    };
    audit::write(session, &note, author).await.map(drop)
}

/// What a version says. Version 0 says nothing.
pub(super) async fn stored(session: &mut Session, number: i64) -> Result<Content, RecordsError> {
    if number == 0 {
        return Ok(Content::default());
    }
    let row =
        session.row("SELECT rule_set FROM tollgate_versions WHERE version = $1", &[number.into()]).await?;
    let Some(row) = row else {
        return Err(RecordsError::NotFound {
            what: format!("version {number}; the latest {VERSIONS_KEPT_MAX} are kept"),
        });
    };
    Content::parse(&row.get::<String>("rule_set")?, number)
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn places_are_numbered_through_and_hold_nothing_of_a_caller() {
        assert_eq!(places(2, ["", "NUMERIC"]), "($1, CAST($2 AS NUMERIC)), ($3, CAST($4 AS NUMERIC))");
    }
}
