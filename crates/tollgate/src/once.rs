//! A check that is charged once however often it is retried.

use std::hash::{BuildHasher, Hash, Hasher};

use tollgate_core::{Cost, Span};

use crate::expiring::{Expiring, Full};
use crate::memory::wish::Wish;
use crate::rule::{Charge, Rule};
use crate::shared::Shared;
use crate::{CheckError, ExplicitVerdict, Key, Limiter, Verdict};

/// How many idempotency keys a limiter remembers unless told otherwise.
pub const IDEMPOTENCY_KEYS_DEFAULT: usize = 100_000;

/// The verdicts of checks that may be retried, by what was asked.
#[derive(Debug)]
pub(crate) struct Remembered {
    /// The hash of an idempotency key and of all it was used for, with a secret of its own.
    verdicts: Expiring<u128, Told>,
    secrets: [std::hash::RandomState; 2],
}

/// What a check that may be retried was told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Told {
    ByRules(Verdict),
    Explicit(ExplicitVerdict),
}

impl Told {
    const fn is_admitted(&self) -> bool {
        match self {
            Told::ByRules(verdict) => verdict.is_admitted(),
            Told::Explicit(told) => told.is_admitted(),
        }
    }
}

impl Remembered {
    pub(crate) fn new(max: usize) -> Remembered {
        Remembered { verdicts: Expiring::new(max), secrets: Default::default() }
    }

    /// Idempotency keys that are remembered now.
    pub(crate) fn len(&self) -> usize {
        self.verdicts.len()
    }

    /// What the check was told that has this idempotency key, if it is a retry; otherwise what `decide` tells it, which is
    /// remembered for `lifetime` if it was admitted. The check is known by its key together with `asked`, so that a key used for
    /// something else is another one.
    pub(crate) fn once(
        &self,
        idempotency_key: &impl Key,
        lifetime: Span,
        asked: impl Hash,
        shared: &Shared,
        decide: impl FnOnce() -> Told,
    ) -> Result<Told, CheckError> {
        if lifetime == Span::ZERO {
            return Err(CheckError::ZeroLifetime);
        }
        let named = idempotency_key.with_bytes(|kind, bytes| {
            kind.accept(bytes).map(|()| self.name(&[&[kind as u8], bytes].concat(), &asked))
        });
        let name = named.map_err(|error| match error {
            CheckError::EmptyKey => CheckError::EmptyIdempotencyKey,
            error => error,
        })?;
        // Locked while the check is decided, so that of two retries at the same time one is charged.
        let place = self.verdicts.place(name);
        let now = shared.clock.now();
        if let Some(told) = place.get(now) {
            return Ok(*told);
        }
        let told = decide();
        if told.is_admitted() && place.insert(told, now + lifetime, now) == Err(Full) {
            shared.store.counters.count(crate::memory::counters::Event::RetryUnguarded);
        }
        Ok(told)
    }

    /// What names a check.
    fn name(&self, once: &[u8], asked: &impl Hash) -> u128 {
        let [high, low] = [0, 1].map(|half: usize| {
            let mut hasher = self.secrets[half].build_hasher();
            once.hash(&mut hasher);
            asked.hash(&mut hasher);
            u128::from(hasher.finish())
        });
        high << 64 | low
    }
}

/// The charges of a check, as an idempotency key is bound to them: every bucket, cost and share that is left alone.
struct Asked<'c>(&'c [Charge]);

impl Hash for Asked<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for charge in self.0 {
            let asked = |wish: Wish| (wish.id, wish.limit, wish.cost.as_micros(), wish.left_alone);
            charge.wish.ok().map(asked).hash(hasher);
        }
    }
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
        let shared = &self.default.shared;
        let decide = || Told::ByRules(self.check_all(charges));
        match shared.remembered.once(&idempotency_key, lifetime, Asked(charges), shared, decide) {
            Ok(Told::ByRules(verdict) | Told::Explicit(ExplicitVerdict { verdict, .. })) => verdict,
            Err(error) => Verdict::Invalid(error),
        }
    }
}
