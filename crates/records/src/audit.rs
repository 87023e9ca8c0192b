//! The audit trail: who changed what, when and why. A line is written in the transaction of its change, or neither is.

use serde::Serialize;

use crate::limits::{self, page};
use crate::session::{Row, Session, Value};
use crate::{
    ADDRESS_BYTES_MAX, AUDIT_KEPT_MAX, AUDIT_TEXT_BYTES_MAX, Author, KEY_BYTES_MAX, NAME_BYTES_MAX,
    REASON_BYTES_MAX, Records, RecordsError, Timestamp,
};

/// One line of the trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditRecord {
    /// Its number; later lines have greater ones.
    pub audit_id: i64,
    /// When it was.
    pub at: Timestamp,
    /// Who did it.
    pub who: String,
    /// What was done: `rules.apply`, `order.give`.
    pub action: String,
    /// To what: `version 7`, `order 12`.
    pub target: String,
    /// What was before, if anything was.
    pub before: Option<String>,
    /// What is now, if anything is.
    pub after: Option<String>,
    /// Why, in the words of whoever did it.
    pub reason: Option<String>,
    /// Where the request came from, if it came over a network.
    pub source_address: Option<String>,
}

/// A line to be written.
#[derive(Debug, Clone, Default)]
pub struct AuditNote<'a> {
    /// What was done.
    pub action: &'a str,
    /// To what.
    pub target: &'a str,
    /// What was before; cut beyond [`AUDIT_TEXT_BYTES_MAX`].
    pub before: Option<&'a str>,
    /// What is now; cut as well.
    pub after: Option<&'a str>,
    /// Why.
    pub reason: Option<&'a str>,
}

/// Which lines are wanted. Nothing said is every line.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// Of this author alone.
    pub who: Option<String>,
    /// Of this action alone.
    pub action: Option<String>,
    /// To this target alone.
    pub target: Option<String>,
    /// None about tokens: whose actions are called `token.…`.
    pub without_tokens: bool,
}

impl Records {
    /// Lines of the trail, newest first, at most [`PAGE_MAX`](crate::PAGE_MAX). Those after a page are found with the last number of it as cursor.
    pub async fn audit(
        &self,
        filter: &AuditFilter,
        cursor: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, RecordsError> {
        self.within(async {
            let mut session = self.read().await?;
            let rows = session
                .rows(
                    "SELECT audit_id, at, who, action, target, before, after, reason, source_address FROM tollgate_audit \
                     WHERE audit_id < $1 AND ($2 IS NULL OR who = $2 \
                     OR (length(who) = length($2) + 19 AND substr(who, 1, length($2) + 2) = $2 || ' (')) AND ($3 IS NULL OR action = $3) \
                     AND ($4 IS NULL OR target = $4) AND ($5 = 0 OR action NOT LIKE 'token.%') \
                     ORDER BY audit_id DESC LIMIT $6",
                    &[
                        cursor.unwrap_or(i64::MAX).into(),
                        (&filter.who).into(),
                        (&filter.action).into(),
                        (&filter.target).into(),
                        i64::from(filter.without_tokens).into(),
                        page(limit).into(),
                    ],
                )
                .await?;
            rows.iter().map(read).collect()
        })
        .await
    }

    /// Writes a line about something that is not filed here: a bucket was reset, the policy file was read again.
    pub async fn note_audit(&self, note: &AuditNote<'_>, author: &Author) -> Result<i64, RecordsError> {
        self.within(async {
            let mut session = self.write().await?;
            let audit_id = write(&mut session, note, author).await?;
            session.commit().await?;
            Ok(audit_id)
        })
        .await
    }
}

/// Writes a line in somebody's transaction.
pub(crate) async fn write(
    session: &mut Session,
    note: &AuditNote<'_>,
    author: &Author,
) -> Result<i64, RecordsError> {
    author.check()?;
    limits::text("action", note.action, NAME_BYTES_MAX)?;
    limits::text_or_empty("target", note.target, NAME_BYTES_MAX + KEY_BYTES_MAX)?;
    limits::text_or_empty("reason", note.reason.unwrap_or_default(), REASON_BYTES_MAX)?;
    let address = author.source_address.map(|address| address.to_string());
    limits::text_or_empty("source_address", address.as_deref().unwrap_or_default(), ADDRESS_BYTES_MAX)?;
    let row = session
        .row(
            "INSERT INTO tollgate_audit (at, who, action, target, before, after, reason, source_address) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING audit_id",
            &[
                Timestamp::now().into(),
                (&author.name).into(),
                note.action.into(),
                note.target.into(),
                Value::Text(note.before.map(|text| cut(text).into())),
                Value::Text(note.after.map(|text| cut(text).into())),
                note.reason.into(),
                address.as_deref().into(),
            ],
        )
        .await?;
    let audit_id: i64 = row.map_or(Ok(0), |row| row.get("audit_id"))?;
    session
        .execute("DELETE FROM tollgate_audit WHERE audit_id <= $1", &[(audit_id - AUDIT_KEPT_MAX).into()])
        .await?;
    Ok(audit_id)
}

/// The text, without a NUL, and cut where it would be too long.
fn cut(text: &str) -> String {
    let text = text.replace('\0', "\u{fffd}");
    if text.len() <= AUDIT_TEXT_BYTES_MAX {
        return text;
    }
    let end = text.floor_char_boundary(AUDIT_TEXT_BYTES_MAX - '…'.len_utf8());
    format!("{}…", &text[..end])
}

fn read(row: &Row) -> Result<AuditRecord, RecordsError> {
    Ok(AuditRecord {
        audit_id: row.get("audit_id")?,
        at: row.get("at")?,
        who: row.get("who")?,
        action: row.get("action")?,
        target: row.get("target")?,
        before: row.get("before")?,
        after: row.get("after")?,
        reason: row.get("reason")?,
        source_address: row.get("source_address")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_cut_between_characters_and_says_so() {
        let cut_text = cut(&"ü".repeat(AUDIT_TEXT_BYTES_MAX));
        assert!(cut_text.len() <= AUDIT_TEXT_BYTES_MAX && cut_text.ends_with("ü…"));
        assert_eq!(cut("a\0b"), "a\u{fffd}b");
    }
}
