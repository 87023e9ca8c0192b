//! A set of buckets that several programs share, one for each key, under one limit: a rule's, or one that came with the call.

use tollgate::ledger::{
    Answer, Bucket, BucketLimit, Gift, Ledger, LedgerCharge, LedgerDown, Manner, OwnedKey,
};
use tollgate::{CheckError, Given, Key};
use tollgate_core::Cost;

use crate::SharedLimiter;

/// A handle on the buckets of one rule of a [`SharedLimiter`], or of one explicit limit. Cheap to clone; clones share the buckets.
#[derive(Debug, Clone)]
pub struct SharedRule {
    limiter: SharedLimiter,
    limit: BucketLimit,
}

/// What one check asks of one bucket. The key is taken along.
#[derive(Debug, Clone)]
pub struct SharedCharge {
    charge: Result<LedgerCharge, CheckError>,
    limiter: u64,
}

impl SharedRule {
    pub(crate) fn new(limiter: SharedLimiter, limit: BucketLimit) -> SharedRule {
        SharedRule { limiter, limit }
    }

    /// Asks for one token from the bucket of `key`.
    pub async fn check(&self, key: impl Key) -> Answer {
        let charge = self.charge(key);
        self.limiter.ask(&[charge], Manner::Check).await
    }

    /// Asks for `cost` from the bucket of `key`.
    pub async fn check_n(&self, key: impl Key, cost: Cost) -> Answer {
        let charge = self.charge_n(key, cost);
        self.limiter.ask(&[charge], Manner::Check).await
    }

    /// What a check of one token would be told. Spends nothing.
    pub async fn peek(&self, key: impl Key) -> Answer {
        let charge = self.charge(key);
        self.limiter.ask(&[charge], Manner::Peek).await
    }

    /// One token from the bucket of `key`, to be asked for together with others.
    pub fn charge(&self, key: impl Key) -> SharedCharge {
        self.charge_n(key, Cost::ONE)
    }

    /// `cost` from the bucket of `key`, to be asked for together with others.
    pub fn charge_n(&self, key: impl Key, cost: Cost) -> SharedCharge {
        let charge = self.bucket(key).map(|bucket| LedgerCharge { bucket, cost });
        SharedCharge { charge, limiter: self.limiter.serial() }
    }

    /// Gives tokens to the bucket of `key`, until it is full.
    pub async fn give(&self, key: impl Key, tokens: Cost) -> Result<Given, GiveError> {
        let bucket = self.bucket(key).map_err(GiveError::Key)?;
        self.limiter.ledger().give(bucket, Gift::Tokens(tokens)).await.map_err(GiveError::Down)
    }

    /// Fills the bucket of `key`.
    pub async fn reset(&self, key: impl Key) -> Result<Given, GiveError> {
        let bucket = self.bucket(key).map_err(GiveError::Key)?;
        self.limiter.ledger().give(bucket, Gift::Reset).await.map_err(GiveError::Down)
    }

    fn bucket(&self, key: impl Key) -> Result<Bucket, CheckError> {
        Ok(Bucket { limit: self.limit, key: OwnedKey::new(key)? })
    }
}

impl SharedCharge {
    /// What it asks for, if it is sound and of that limiter.
    pub(crate) fn of(&self, limiter: u64, at: usize) -> Result<LedgerCharge, CheckError> {
        if self.limiter != limiter {
            return Err(CheckError::ForeignCharge { charge: at });
        }
        self.charge.clone()
    }
}

/// Why nothing was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveError {
    /// The key names no bucket.
    Key(CheckError),
    /// The store did not answer. It may have been given all the same.
    Down(LedgerDown),
}

impl std::fmt::Display for GiveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GiveError::Key(error) => error.fmt(f),
            GiveError::Down(down) => down.fmt(f),
        }
    }
}

impl std::error::Error for GiveError {}
