//! A check that is charged once however often it is retried.

use std::hash::{BuildHasher, Hash, Hasher};

use tollgate_core::{Cost, Span};

use crate::expiring::{Expiring, Full, Place};
use crate::memory::wish::Wish;
use crate::rule::{Charge, Rule};
use crate::{CheckError, Key, Limiter, Verdict};

/// How many idempotency keys a limiter remembers unless told otherwise.
pub const IDEMPOTENCY_KEYS_DEFAULT: usize = 100_000;

/// The verdicts of checks that may be retried, by what was asked.
#[derive(Debug)]
pub(crate) struct Remembered {
    /// The hash of an idempotency key and of all it was used for, with a secret of its own.
    verdicts: Expiring<u128, Verdict>,
    secrets: [std::hash::RandomState; 2],
}

impl Remembered {
    pub(crate) fn new(max: usize) -> Remembered {
        Remembered { verdicts: Expiring::new(max), secrets: Default::default() }
    }

    /// Idempotency keys that are remembered now.
    pub(crate) fn len(&self) -> usize {
        self.verdicts.len()
    }

    /// The place of this check, locked: of two retries at the same time one is charged. What names it is the idempotency key
    /// together with all that is `asked`, so that a key which is used for something else is another one.
    pub(crate) fn place(
        &self,
        idempotency_key: &impl Key,
        asked: &(impl Iterator<Item = impl Hash> + Clone),
    ) -> Result<Place<'_, u128, Verdict>, CheckError> {
        let name = idempotency_key.with_bytes(|kind, bytes| {
            kind.accept(bytes).map(|()| self.name(&[&[kind as u8], bytes].concat(), asked))
        });
        match name {
            Ok(name) => Ok(self.verdicts.place(name)),
            Err(CheckError::EmptyKey) => Err(CheckError::EmptyIdempotencyKey),
            Err(error) => Err(error),
        }
    }

    fn name(&self, once: &[u8], asked: &(impl Iterator<Item = impl Hash> + Clone)) -> u128 {
        let [high, low] = [0, 1].map(|half: usize| {
            let mut hasher = self.secrets[half].build_hasher();
            once.hash(&mut hasher);
            asked.clone().for_each(|one| one.hash(&mut hasher));
            u128::from(hasher.finish())
        });
        high << 64 | low
    }
}

/// Bucket, cost and the share that is left alone: a handle of another priority asks for something else.
fn asked(charge: &Charge) -> impl Hash + use<> {
    charge.wish.ok().map(|wish: Wish| (wish.id, wish.limit, wish.cost.as_micros(), wish.left_alone))
}

impl Rule {
    /// Asks for `cost` from the bucket of `key`, once: a retry with the same `idempotency_key` within `lifetime` of the admission is
    /// told the same and costs nothing.
    ///
    /// ```
    /// # use tollgate::*;
    /// # let limit = Limit::new(Rate::per_hour(1), Burst::tokens(2))?;
    /// # let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(limit)?;
    /// let rule = limiter.default_rule();
    /// for _ in 0..5 {
    ///     let verdict = rule.check_once("order-7", Span::from_secs(60), "ann", Cost::ONE);
    ///     assert_eq!(verdict.to_string(), "admitted, 1 left");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_once(
        &self,
        idempotency_key: impl Key,
        lifetime: Span,
        key: impl Key,
        cost: Cost,
    ) -> Verdict {
        Limiter { default: self.clone() }.check_once(idempotency_key, lifetime, &[self.charge_n(key, cost)])
    }
}

impl Limiter {
    /// Decides one check over several buckets, all or nothing, once: a retry of the very same check with the same
    /// `idempotency_key` within `lifetime` of its admission is told the same and costs nothing. A denial is not remembered: its
    /// retry is decided anew.
    ///
    /// Whoever chooses the idempotency key decides what is a retry, so let no client choose it freely: one that always sends the
    /// same key would pay once per lifetime. When [`crate::LimiterBuilder::idempotency_keys_max`] are remembered, further checks
    /// are charged and not remembered, which [`crate::Stats::retries_unguarded`] counts.
    pub fn check_once(&self, idempotency_key: impl Key, lifetime: Span, charges: &[Charge]) -> Verdict {
        if lifetime == Span::ZERO {
            return Verdict::Invalid(CheckError::ZeroLifetime);
        }
        let shared = &self.default.shared;
        let place = match shared.remembered.place(&idempotency_key, &charges.iter().map(asked)) {
            Ok(place) => place,
            Err(error) => return Verdict::Invalid(error),
        };
        let now = shared.clock.now();
        if let Some(verdict) = place.get(now) {
            return *verdict;
        }
        let verdict = self.check_all(charges);
        if verdict.is_admitted() && place.insert(verdict, now + lifetime, now) == Err(Full) {
            shared.store.counters.count(crate::memory::counters::Event::RetryUnguarded);
        }
        verdict
    }
}
