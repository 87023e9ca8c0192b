//! Tokens of the database, known without a query for each request: a list that is at most a moment old, and tokens that were right before.
//!
//! The list is read once in [`LIST_TIME_MAX_MICROS`] at most, however many requests come; only sessions of a token that the list lacks
//! have it read again. It admits no request: whether a token is right, the database says each time.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

use tollgate_records::{Records, RecordsError, Timestamp, TokenHashes};

use super::guard::Bearer;

/// How old the list may be, in microseconds.
const LIST_TIME_MAX_MICROS: i64 = 1_000_000;
/// Tokens that are remembered as right; if there are more, all are forgotten.
const PROVEN_MAX: usize = 4_096;

/// What is known of the tokens on record.
#[derive(Debug, Default)]
pub(super) struct KnownTokens {
    /// One asks for it while the others wait.
    list: tokio::sync::Mutex<List>,
    proven: Mutex<HashSet<u64>>,
    /// Keyed by chance, so that nobody can choose two that are the same. And if they were: nobody is let in by it.
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct List {
    tokens: TokenHashes,
    asked_at: Option<Timestamp>,
}

impl List {
    /// Asks for it, unless it is new enough.
    async fn refresh(&mut self, records: &Records, now: Timestamp) -> Result<(), RecordsError> {
        let age = self.asked_at.map(|at| now.unix_micros().saturating_sub(at.unix_micros()));
        if !age.is_some_and(|age| (0..LIST_TIME_MAX_MICROS).contains(&age)) {
            self.tokens = records.token_hashes().await?;
            self.asked_at = Some(now);
        }
        Ok(())
    }
}

impl KnownTokens {
    /// Whether this very token was right when it was last presented.
    pub(super) fn is_proven(&self, token: Bearer<'_>) -> bool {
        let digest = self.hasher.hash_one(token.as_str());
        self.proven.lock().is_ok_and(|proven| proven.contains(&digest))
    }

    /// Remembers whether a token is right.
    pub(super) fn note(&self, token: Bearer<'_>, is_right: bool) {
        let digest = self.hasher.hash_one(token.as_str());
        let Ok(mut proven) = self.proven.lock() else { return };
        if !is_right {
            proven.remove(&digest);
        } else if !proven.contains(&digest) {
            if proven.len() >= PROVEN_MAX {
                proven.clear();
            }
            proven.insert(digest);
        }
    }

    /// Returns whether a token is right by the list, in a time that does not tell how much of its secret is right.
    pub(super) async fn is_right(&self, records: &Records, token: Bearer<'_>) -> Result<bool, RecordsError> {
        let mut list = self.list.lock().await;
        let now = Timestamp::now();
        list.refresh(records, now).await?;
        Ok(list.tokens.is_right(token.as_str(), now))
    }

    /// Returns whether a token that was right before is still valid. A list that lacks it is older than the token, and is read again.
    pub(super) async fn still_stands(&self, records: &Records, token_id: &str) -> Result<bool, RecordsError> {
        let mut list = self.list.lock().await;
        let now = Timestamp::now();
        if !list.tokens.contains(token_id) {
            list.asked_at = None;
        }
        list.refresh(records, now).await?;
        Ok(list.tokens.is_valid(token_id, now))
    }
}
