//! Writing the rule set: what differs from what is there, the version, and the line in the audit trail.

use super::reading::Seen;
use super::rule_set_change::Wanted;
use super::{Content, Entry, RowTerms, RuleSetDiff, Version};
use crate::audit::{self, AuditNote};
use crate::session::{Session, Value};
use crate::{Author, RecordsError, Timestamp, VERSIONS_KEPT_MAX};

/// Makes the tables say what is wanted, and touches nothing else.
pub(super) async fn store(session: &mut Session, now: &Content, wanted: &Wanted) -> Result<(), RecordsError> {
    store_entries(session, now, wanted).await?;
    store_rows(session, now, wanted).await
}

async fn store_entries(session: &mut Session, now: &Content, wanted: &Wanted) -> Result<(), RecordsError> {
    for entry in &now.entries {
        if !wanted.entries.contains_key(&entry.name) {
            session.execute("DELETE FROM tollgate_entries WHERE name = $1", &[(&entry.name).into()]).await?;
        }
    }
    for entry in wanted.entries.values().filter(|entry| !now.entries.contains(entry)) {
        put_entry(session, entry).await?;
    }
    Ok(())
}

async fn put_entry(session: &mut Session, entry: &Entry) -> Result<(), RecordsError> {
    let put = "INSERT INTO tollgate_entries (name, text, is_active, description, created_at, updated_at) \
               VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (name) DO UPDATE SET text = excluded.text, \
               is_active = excluded.is_active, description = excluded.description, updated_at = excluded.updated_at";
    let Entry { name, text, is_active, description } = entry;
    let values = [name.into(), text.into(), (*is_active).into(), description.into(), Timestamp::now().into()];
    session.execute(put, &values).await.map(drop)
}

async fn store_rows(session: &mut Session, now: &Content, wanted: &Wanted) -> Result<(), RecordsError> {
    for row in now.rows.iter().filter(|row| !wanted.rows.contains_key(&row.rule_id)) {
        session.execute("DELETE FROM rate_limit_rules WHERE rule_id = $1", &[row.rule_id.into()]).await?;
    }
    let changed = |row: &&super::PlainRow| wanted.rows.get(&row.rule_id).is_some_and(|wanted| wanted != *row);
    // Two rows may change places, and each place has one row at any time.
    for row in now.rows.iter().filter(changed) {
        let park = "UPDATE rate_limit_rules SET key_pattern = 'moving ' || CAST(rule_id AS TEXT), plan = NULL WHERE rule_id = $1";
        session.execute(park, &[row.rule_id.into()]).await?;
    }
    for row in now.rows.iter().filter(changed) {
        let update = "UPDATE rate_limit_rules SET key_pattern = $1, scope = $2, rate_per_second = CAST($3 AS NUMERIC), \
                      burst_capacity = CAST($4 AS NUMERIC), plan = $5, is_active = $6, description = $7 WHERE rule_id = $8";
        let wanted = &wanted.rows[&row.rule_id];
        let mut values = terms(&wanted.terms).to_vec();
        values.push(row.rule_id.into());
        session.execute(update, &values).await?;
    }
    let is_known = |rule_id: i64| now.rows.iter().any(|row| row.rule_id == rule_id);
    for row in wanted.rows.values().filter(|row| !is_known(row.rule_id)) {
        let insert = "INSERT INTO rate_limit_rules (key_pattern, scope, rate_per_second, burst_capacity, plan, is_active, \
                      description, rule_id) VALUES ($1, $2, CAST($3 AS NUMERIC), CAST($4 AS NUMERIC), $5, $6, $7, $8)";
        let mut values = terms(&row.terms).to_vec();
        values.push(row.rule_id.into());
        session.execute(insert, &values).await?;
    }
    for put in &wanted.new_rows {
        let insert = "INSERT INTO rate_limit_rules (key_pattern, scope, rate_per_second, burst_capacity, plan, is_active, \
                      description) VALUES ($1, $2, CAST($3 AS NUMERIC), CAST($4 AS NUMERIC), $5, $6, $7)";
        session.execute(insert, &terms(&put.terms)).await?;
    }
    Ok(())
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
