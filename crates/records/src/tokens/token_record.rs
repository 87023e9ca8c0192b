//! What is known of a token; not its secret.

use serde::Serialize;

use super::Role;
use crate::session::Row;
use crate::{RecordsError, Timestamp};

/// What is known of a token; not its secret, which nobody keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenRecord {
    /// By which it is found and revoked; no secret.
    pub token_id: String,
    /// What it is called.
    pub name: String,
    /// What may be done with it.
    pub role: Role,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was ended.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
}

impl TokenRecord {
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn read(row: &Row) -> Result<TokenRecord, RecordsError> {
        let token_id: String = row.get("token_id")?;
        let role: String = row.get("role")?;
        let Some(role) = Role::parse(&role) else {
            return Err(RecordsError::Malformed {
                what: format!("token {token_id}: no role is called \"{role}\""),
            });
        };
        Ok(TokenRecord {
            token_id,
            name: row.get("name")?,
            role,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            revoked_at: row.get("revoked_at")?,
            last_used_at: row.get("last_used_at")?,
        })
    }
}
