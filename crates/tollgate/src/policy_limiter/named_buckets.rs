//! The buckets of one client under one rule, for whoever runs the service (O2): looked at, filled, given tokens.
//!
//! In memory nothing is waited for. In a shared ledger it is done in the store, for the whole fleet; this instance forgets at once whom it
//! denied and gives back what it leased, others judge by what they remember for a second at most (S5).

use std::sync::Arc;

use tollgate_core::{Algorithm, Cost};
use tollgate_policy::Action;

use super::PolicyLimiter;
use super::bucket_error::{BucketError, NoBuckets};
use super::ruleset::Handles;
use crate::ledger::{Bucket, BucketLimit, BucketLook, Gift, Ledger, OwnedKey};
use crate::{Given, Rule};

/// The buckets that a client has under one rule of the policy. A rule that is being rolled out has two for each key: one for when it is
/// enforced, and one for when it only watches.
#[derive(Debug, Clone)]
pub struct NamedBuckets {
    /// The enforced one, if there is one.
    first: NamedBucket,
    /// The shadow beside it.
    second: Option<NamedBucket>,
}

/// One of them.
#[derive(Debug, Clone)]
pub struct NamedBucket {
    is_shadow: bool,
    algorithm: Algorithm,
    place: Place,
}

/// Where a bucket is.
#[derive(Debug, Clone)]
enum Place {
    Here { rule: Box<Rule>, key: OwnedKey },
    Afar { ledger: Arc<dyn Ledger>, bucket: Bucket },
}

impl PolicyLimiter {
    /// The buckets of the client with this key under the rule of this name, by the policy in force. The key is what the rule book tells of
    /// a request ([`tollgate_policy::Hit::key`]).
    ///
    /// ```
    /// # use tollgate::*;
    /// # use tollgate::policy::{Facts, Policy, RuleBook};
    /// # let text = r#"{name: api, limit_keys: ["user"], rate: 1/h, burst: 2}"#;
    /// # let facts = Facts { user: Some("42"), ..Facts::new("GET", "/") };
    /// # let mut key = Vec::new();
    /// # RuleBook::new(Policy::parse("policy.yaml", text)?).rule_on(&facts, 0, |hit| key = hit.key.to_vec());
    /// # let limiter = Limiter::from_policy(Policy::parse("policy.yaml", text)?)?;
    /// # async move {
    /// let buckets = limiter.buckets("api", &key)?;
    /// assert!(limiter.check(&facts).is_admitted());
    /// assert_eq!(buckets.look(Cost::ONE).await?.balance.whole(), 1);
    /// assert_eq!(buckets.reset().await?.balance.whole(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # };
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn buckets(&self, rule: &str, key: &[u8]) -> Result<NamedBuckets, NoBuckets> {
        let ruleset = self.inner.ruleset.load();
        let rules = &ruleset.policy().rules;
        let Some(at) = rules.iter().position(|known| &*known.name == rule) else {
            return Err(NoBuckets::unknown(rule, rules));
        };
        let Action::Limit(algorithm) = rules[at].action else {
            return Err(NoBuckets::ChargesNothing { rule: rule.into() });
        };
        let key = OwnedKey::new(key).map_err(NoBuckets::Key)?;
        let bucket = |is_shadow: bool| {
            let Handles { here, in_ledger } = ruleset.handles(at, is_shadow)?;
            let place = match (self.ledger(), in_ledger) {
                (Some(ledger), Some(number)) => {
                    let bucket = Bucket { limit: BucketLimit::Rule(number), key: key.clone() };
                    Place::Afar { ledger: Arc::clone(ledger), bucket }
                }
                _ => Place::Here { rule: Box::new(here.clone()), key: key.clone() },
            };
            Some(NamedBucket { is_shadow, algorithm, place })
        };
        let (enforced, shadow) = (bucket(false), bucket(true));
        match enforced.or_else(|| shadow.clone()) {
            Some(first) => Ok(NamedBuckets { second: shadow.filter(|_| !first.is_shadow), first }),
            None => Err(NoBuckets::Off { rule: rule.into() }),
        }
    }
}

impl NamedBuckets {
    /// How the enforced bucket stands, and when it could pay `cost`; of a rule that only watches, its shadow.
    pub async fn look(&self, cost: Cost) -> Result<BucketLook, BucketError> {
        self.first.look(cost).await
    }

    /// Fills the enforced bucket; of a rule that only watches, its shadow. See [`NamedBucket::reset`].
    pub async fn reset(&self) -> Result<Given, BucketError> {
        self.first.reset().await
    }

    /// Gives the enforced bucket tokens; of a rule that only watches, its shadow. See [`NamedBucket::grant`].
    pub async fn grant(&self, tokens: Cost) -> Result<Given, BucketError> {
        self.first.grant(tokens).await
    }

    /// Whether they take such a grant: see [`NamedBucket::can_grant`].
    pub fn can_grant(&self, tokens: Cost) -> Result<(), BucketError> {
        self.first.can_grant(tokens)
    }

    /// The bucket by which the client is denied; `None` of a rule that only watches.
    pub fn enforced(&self) -> Option<&NamedBucket> {
        self.iter().find(|bucket| !bucket.is_shadow)
    }

    /// The bucket of the rule as a shadow; `None` if all are enforced.
    pub fn shadow(&self) -> Option<&NamedBucket> {
        self.iter().find(|bucket| bucket.is_shadow)
    }

    /// One or both, the enforced one first.
    pub fn iter(&self) -> impl Iterator<Item = &NamedBucket> {
        std::iter::once(&self.first).chain(&self.second)
    }
}

impl NamedBucket {
    /// Whether it is a shadow: its denials are counted, and nobody is denied.
    pub fn is_shadow(&self) -> bool {
        self.is_shadow
    }

    /// How it stands, and when it could pay `cost`. In a shared ledger what this instance leases of it is added to what the store says.
    pub async fn look(&self, cost: Cost) -> Result<BucketLook, BucketError> {
        match &self.place {
            Place::Here { rule, key } => rule.look(key, cost).map_err(BucketError::Key),
            Place::Afar { ledger, bucket } => {
                ledger.look(bucket.clone(), cost).await.map_err(BucketError::Down)
            }
        }
    }

    /// Fills it, whatever it has spent or owes, and frees its places: see [`Rule::reset`]. What other instances lease of it stays theirs.
    pub async fn reset(&self) -> Result<Given, BucketError> {
        match &self.place {
            Place::Here { rule, key } => rule.reset(key).map_err(BucketError::Key),
            Place::Afar { ledger, bucket } => given(&**ledger, bucket, Gift::Reset).await,
        }
    }

    /// Whether it takes such a grant, whatever it holds: for whoever writes down first what is done then.
    pub fn can_grant(&self, tokens: Cost) -> Result<(), BucketError> {
        if matches!(self.algorithm, Algorithm::LeakyBucket(_) | Algorithm::Concurrency(_)) {
            return Err(BucketError::CannotGrant { algorithm: self.algorithm.name() });
        }
        if tokens == Cost::micros(0) {
            return Err(BucketError::ZeroGrant);
        }
        Ok(())
    }

    /// Gives it tokens, until it is full: see [`Rule::grant`].
    pub async fn grant(&self, tokens: Cost) -> Result<Given, BucketError> {
        self.can_grant(tokens)?;
        match &self.place {
            Place::Here { rule, key } => rule.grant(key, tokens).map_err(BucketError::Key),
            Place::Afar { ledger, bucket } => given(&**ledger, bucket, Gift::Tokens(tokens)).await,
        }
    }
}

async fn given(ledger: &dyn Ledger, bucket: &Bucket, gift: Gift) -> Result<Given, BucketError> {
    ledger.give(bucket.clone(), gift).await.map_err(BucketError::Down)
}
