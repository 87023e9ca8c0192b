//! Operations on buckets, for every instance to do once: in memory mode each has buckets of its own.

use serde::Serialize;

use crate::audit::{self, AuditNote};
use crate::limits::{self, page};
use crate::session::Row;
use crate::{
    Author, DECIMAL_BYTES_MAX, KEY_BYTES_MAX, NAME_BYTES_MAX, OPERATIONS_KEPT_MAX, REASON_BYTES_MAX, Records,
    RecordsError, Timestamp, decimal_text,
};

/// What is done to a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OperationKind {
    /// It is full again.
    Reset,
    /// It is given tokens.
    Grant {
        /// How many, as decimal text above 0; of an operation written by hand whatever stands there, and nothing where nothing does: whoever does it
        /// refuses that, and goes on.
        amount: String,
    },
}

/// An operation to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOperation {
    /// What is done.
    pub kind: OperationKind,
    /// To a bucket of this rule.
    pub rule: String,
    /// The one with this key, as an operator types it.
    pub key: String,
    /// Why.
    pub reason: String,
    /// What the bucket holds before it, in words for the audit trail alone: as in `3.5 of 10 tokens`.
    pub before: Option<String>,
    /// What it is to hold: as in `+2: 5.5 of 10 tokens`.
    pub after: Option<String>,
}

/// An operation that was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// Its number; later ones have greater numbers, and become visible in that order.
    pub operation_id: i64,
    /// What is done.
    #[serde(flatten)]
    pub kind: OperationKind,
    /// To a bucket of this rule.
    pub rule: String,
    /// The one with this key.
    pub key: String,
    /// Who asked for it.
    pub author: String,
    /// Why.
    pub reason: String,
    /// When.
    pub created_at: Timestamp,
}

impl Records {
    /// The number of the latest operation, 0 if there is none: an instance that starts has nothing to make up for.
    pub async fn latest_operation(&self) -> Result<i64, RecordsError> {
        self.within(async {
            let mut session = self.read().await?;
            let latest = "SELECT COALESCE(MAX(operation_id), 0) AS operation_id FROM tollgate_operations";
            session.row(latest, &[]).await?.map_or(Ok(0), |row| row.get("operation_id"))
        })
        .await
    }

    /// The operations after one, oldest first, at most [`PAGE_MAX`](crate::PAGE_MAX).
    pub async fn operations_since(&self, operation_id: i64) -> Result<Vec<Operation>, RecordsError> {
        self.within(async {
            let mut session = self.read().await?;
            let rows = session
                .rows(
                    "SELECT operation_id, kind, rule, key, amount, author, reason, created_at FROM tollgate_operations \
                     WHERE operation_id > $1 ORDER BY operation_id LIMIT $2",
                    &[operation_id.into(), page(usize::MAX).into()],
                )
                .await?;
            rows.iter().map(read).collect()
        })
        .await
    }

    /// Tells every instance of an operation. Returns its number.
    pub async fn note_operation(&self, new: &NewOperation, author: &Author) -> Result<i64, RecordsError> {
        limits::text("rule", &new.rule, NAME_BYTES_MAX)?;
        limits::text("key", &new.key, KEY_BYTES_MAX)?;
        limits::text("reason", &new.reason, REASON_BYTES_MAX)?;
        author.check()?;
        let (kind, amount) = match &new.kind {
            OperationKind::Reset => ("reset", None),
            OperationKind::Grant { amount } => ("grant", Some(grant(amount)?)),
        };
        self.within(async {
            let mut session = self.write().await?;
            // Before the number is given: whoever has seen a number has seen all that are less.
            session.take_turn().await?;
            let row = session
                .row(
                    "INSERT INTO tollgate_operations (kind, rule, key, amount, author, reason, created_at) \
                     VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING operation_id",
                    &[
                        kind.into(),
                        (&new.rule).into(),
                        (&new.key).into(),
                        (&amount).into(),
                        (&author.name).into(),
                        (&new.reason).into(),
                        Timestamp::now().into(),
                    ],
                )
                .await?;
            let operation_id: i64 = row.map_or(Ok(0), |row| row.get("operation_id"))?;
            let oldest = operation_id - OPERATIONS_KEPT_MAX;
            session
                .execute("DELETE FROM tollgate_operations WHERE operation_id <= $1", &[oldest.into()])
                .await?;
            let note = AuditNote {
                action: &format!("bucket.{kind}"),
                target: &format!("{} {}", new.rule, new.key),
                before: new.before.as_deref(),
                after: new.after.as_deref(),
                reason: Some(&new.reason),
            };
            audit::write(&mut session, &note, author).await?;
            self.commit(session).await?;
            Ok(operation_id)
        })
        .await
    }
}

fn grant(amount: &str) -> Result<String, RecordsError> {
    limits::text("amount", amount, DECIMAL_BYTES_MAX)?;
    decimal_text::canonical(amount).filter(|amount| amount != "0").ok_or_else(|| RecordsError::Invalid {
        field: "amount",
        why: format!("is \"{}\"; write a number of tokens above 0", amount.escape_debug()),
    })
}

fn read(row: &Row) -> Result<Operation, RecordsError> {
    let operation_id = row.get("operation_id")?;
    let (kind, amount): (String, Option<String>) = (row.get("kind")?, row.get("amount")?);
    let kind = match (kind.as_str(), amount) {
        ("reset", _) => OperationKind::Reset,
        ("grant", amount) => OperationKind::Grant { amount: amount.unwrap_or_default() },
        (other, _) => {
            return Err(RecordsError::Malformed {
                what: format!("operation {operation_id}: no kind is called \"{}\"", other.escape_debug()),
            });
        }
    };
    Ok(Operation {
        operation_id,
        kind,
        rule: row.get("rule")?,
        key: row.get("key")?,
        author: row.get("author")?,
        reason: row.get("reason")?,
        created_at: row.get("created_at")?,
    })
}
