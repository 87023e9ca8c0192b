//! The hashes of all tokens at one moment: whether a token is right is known without asking the database.

use std::collections::HashMap;
use std::fmt;

use super::TokenRecord;
use super::token_secret::Presented;
use crate::session::Row;
use crate::{RecordsError, Timestamp};

/// Every token with its hash, by its number. At most [`TOKENS_MAX`](crate::TOKENS_MAX), as in the database.
#[derive(Clone, Default)]
pub struct TokenHashes(HashMap<String, (TokenRecord, Vec<u8>)>);

impl TokenHashes {
    pub(super) fn read(rows: &[Row]) -> Result<TokenHashes, RecordsError> {
        let read = |row: &Row| {
            let record = TokenRecord::read(row)?;
            Ok((record.token_id.clone(), (record, row.get("hash")?)))
        };
        rows.iter().map(read).collect::<Result<_, _>>().map(TokenHashes)
    }

    /// Returns whether there is no token, not even one that has ended.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the token of this number was there, ended or not.
    pub fn contains(&self, token_id: &str) -> bool {
        self.0.contains_key(token_id)
    }

    /// Returns whether the token of this number is neither revoked nor expired.
    pub fn is_valid(&self, token_id: &str, now: Timestamp) -> bool {
        self.0.get(token_id).is_some_and(|(token, _)| {
            token.revoked_at.is_none() && token.expires_at.is_none_or(|expires_at| expires_at > now)
        })
    }

    /// Returns whether `presented` is a valid token in full, in a time that does not tell how much of its secret is right.
    pub fn is_right(&self, presented: &str, now: Timestamp) -> bool {
        let Some(presented) = Presented::parse(presented) else { return false };
        let stored = self.0.get(presented.token_id).map_or(&[][..], |(_, hash)| hash);
        presented.is_hashed_by(stored) & self.is_valid(presented.token_id, now)
    }
}

/// Shows how many there are, and no hash.
impl fmt::Debug for TokenHashes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHashes({})", self.0.len())
    }
}
