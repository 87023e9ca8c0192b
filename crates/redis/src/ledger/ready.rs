//! A question ready to be asked: every charge with the name of its key, its limit as the store knows it, and what becomes of it where
//! the store does not answer.

use std::sync::Arc;

use tollgate::CheckError;
use tollgate::ledger::{Bucket, BucketLimit, LedgerCharge};
use tollgate::policy::OnStoreFailure;
use tollgate_core::{Algorithm, Cost, LeaseTerms, Limit};

use super::late::Late;
use super::rules::{RuleEntry, Rules};
use crate::{Charge, KeyName, KeySpace, SharedLimit};

/// A question ready to be asked.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) charges: Vec<ReadyCharge>,
    /// Whether every limit was agreed upon with the other nodes, so that the store can be asked.
    pub(super) is_agreed: bool,
    /// The store's answer, if it is late.
    pub(super) late: Late,
}

/// One charge of it.
#[derive(Debug, Clone)]
pub(super) struct ReadyCharge {
    pub(super) key: KeyName,
    /// As the store knows it; of a rule's limit that was not agreed upon yet, `None`.
    pub(super) limit: Option<SharedLimit>,
    /// As it is in force, or came with the call; of a limit that was not agreed upon yet, as it was declared.
    pub(super) algorithm: Algorithm,
    /// By which this node keeps its share while the store does not answer: the same, unless its policy was changed since and the store
    /// has not heard of it.
    pub(super) alone: Algorithm,
    pub(super) cost: Cost,
    pub(super) on_failure: OnStoreFailure,
    /// Whose bucket it is; `None` where the limit came with the call.
    pub(super) rule: Option<Arc<RuleEntry>>,
    /// Whether this node may hold a slice of the bucket: the rule is leased, and its limit agreed upon.
    pub(super) is_leased: bool,
}

/// One bucket that can be asked about.
#[derive(Debug, Clone)]
pub(super) struct ReadyBucket {
    pub(super) key: KeyName,
    pub(super) limit: SharedLimit,
}

impl Ready {
    pub(super) fn of(
        keys: &KeySpace,
        rules: &Rules,
        charges: Vec<LedgerCharge>,
    ) -> Result<Ready, CheckError> {
        let mut ready =
            Ready { charges: Vec::with_capacity(charges.len()), is_agreed: true, late: Late::default() };
        for (at, LedgerCharge { bucket, cost }) in charges.into_iter().enumerate() {
            let charge = ready_charge(keys, rules, at, bucket, cost)?;
            ready.is_agreed &= charge.limit.is_some();
            ready.charges.push(charge);
        }
        Ok(ready)
    }

    /// The bucket of a charge.
    pub(super) fn key_of(&self, at: usize) -> Option<&KeyName> {
        self.charges.get(at).map(|charge| &charge.key)
    }

    /// The same question, to be asked anew.
    pub(super) fn again(&self) -> Ready {
        Ready { charges: self.charges.clone(), is_agreed: self.is_agreed, late: Late::default() }
    }

    /// A bucket, if the store can be asked about it.
    pub(super) fn of_bucket(keys: &KeySpace, rules: &Rules, bucket: &Bucket) -> Option<ReadyBucket> {
        let charge = ready_charge(keys, rules, 0, bucket.clone(), Cost::ONE).ok()?;
        Some(ReadyBucket { key: charge.key, limit: charge.limit? })
    }

    /// As the store is asked; empty if a limit was not agreed upon.
    pub(super) fn asked(&self) -> Vec<Charge> {
        let charges = self
            .charges
            .iter()
            .map(|charge| Some(Charge::new(charge.key.clone(), charge.limit.as_ref()?, charge.cost)));
        charges.collect::<Option<_>>().unwrap_or_default()
    }
}

impl ReadyCharge {
    /// On which terms its bucket is leased, if it is.
    pub(super) fn terms(&self) -> Option<&LeaseTerms> {
        self.rule.as_ref().filter(|_| self.is_leased)?.lease.as_ref()
    }

    /// The limit, if it is that of a token bucket.
    pub(super) fn token_bucket(&self) -> Option<&Limit> {
        match &self.algorithm {
            Algorithm::TokenBucket(limit) => Some(limit),
            _ => None,
        }
    }
}

fn ready_charge(
    keys: &KeySpace,
    rules: &Rules,
    at: usize,
    bucket: Bucket,
    cost: Cost,
) -> Result<ReadyCharge, CheckError> {
    let Bucket { limit, key: owned } = bucket;
    match limit {
        BucketLimit::Explicit(limit) => Ok(ReadyCharge {
            key: keys.explicit(&owned)?,
            limit: Some(SharedLimit::explicit(&limit).map_err(|_| CheckError::LimitRefused { charge: at })?),
            algorithm: limit.into(),
            alone: limit.into(),
            cost,
            on_failure: OnStoreFailure::Local,
            rule: None,
            is_leased: false,
        }),
        BucketLimit::Rule(number) => {
            let entry = rules.get(number).ok_or(CheckError::ForeignCharge { charge: at })?;
            let agreed = entry.agreed.load();
            let identity = agreed.as_ref().map_or(&entry.identity, |agreed| &agreed.identity);
            let key = keys.bucket(identity, &owned)?;
            let limit = agreed.as_ref().map(|agreed| agreed.limit.clone());
            let algorithm = agreed.as_ref().map_or(entry.algorithm, |agreed| agreed.algorithm);
            // By the limit that was agreed upon alone: slices must not be spent faster than the store mints.
            let is_agreed = agreed.is_some() && algorithm == entry.algorithm;
            let is_heard = agreed.as_ref().is_some_and(|agreed| agreed.declared == entry.algorithm);
            let alone = if is_heard { algorithm } else { entry.algorithm };
            drop(agreed);
            Ok(ReadyCharge {
                key,
                limit,
                algorithm,
                alone,
                cost,
                on_failure: entry.on_failure,
                is_leased: is_agreed && entry.lease.is_some(),
                rule: Some(entry),
            })
        }
    }
}
