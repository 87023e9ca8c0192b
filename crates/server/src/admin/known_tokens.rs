//! What is known of the tokens on record without asking for each: a list that is a moment old, and which tokens were right before.
//!
//! Promises one look at the list in [`LIST_TIME_MAX_MICROS`], whoever asks and however often, but for those who were let in. It lets nobody in: whether a token is right,
//! the records say each time.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

use tollgate_records::{Records, RecordsError, Timestamp, TokenRecord};

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
    /// By number.
    tokens: HashMap<String, TokenRecord>,
    asked_at: Option<Timestamp>,
}

impl List {
    /// Asks for it, unless it is new enough.
    async fn refresh(&mut self, records: &Records, now: Timestamp) -> Result<(), RecordsError> {
        let age = self.asked_at.map(|at| now.unix_micros().saturating_sub(at.unix_micros()));
        if !age.is_some_and(|age| (0..LIST_TIME_MAX_MICROS).contains(&age)) {
            let tokens = records.tokens().await?;
            self.tokens = tokens.into_iter().map(|token| (token.token_id.clone(), token)).collect();
            self.asked_at = Some(now);
        }
        Ok(())
    }

    fn has(&self, token_id: &str, now: Timestamp) -> bool {
        self.tokens.get(token_id).is_some_and(|token| {
            token.revoked_at.is_none() && token.expires_at.is_none_or(|expires_at| expires_at > now)
        })
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

    /// Whether there is a token of this number that is neither revoked nor over.
    pub(super) async fn stands(&self, records: &Records, token_id: &str) -> Result<bool, RecordsError> {
        let mut list = self.list.lock().await;
        let now = Timestamp::now();
        list.refresh(records, now).await?;
        Ok(list.has(token_id, now))
    }

    /// The same of a token that was right before: if the list does not have it at all, that is older than the token, and asked for again.
    pub(super) async fn still_stands(&self, records: &Records, token_id: &str) -> Result<bool, RecordsError> {
        let mut list = self.list.lock().await;
        let now = Timestamp::now();
        if !list.tokens.contains_key(token_id) {
            list.asked_at = None;
        }
        list.refresh(records, now).await?;
        Ok(list.has(token_id, now))
    }
}
