//! A check whose limits come with the call, charged once however often it is retried.

use std::hash::{Hash, Hasher};

use tollgate_core::Span;

use crate::explicit::{Explicit, ExplicitCharge};
use crate::once::Told;
use crate::{ExplicitVerdict, Key};

/// Tells these checks from those of rules, whose buckets are others.
const EXPLICIT: &str = "explicit";

/// The charges of a check, as an idempotency key is bound to them: every bucket, limit and cost.
struct Asked<'c>(&'c [ExplicitCharge]);

impl Hash for Asked<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        EXPLICIT.hash(hasher);
        for charge in self.0 {
            charge.ask().ok().map(|ask| (ask.id, ask.limit, ask.cost)).hash(hasher);
        }
    }
}

impl Explicit<'_> {
    /// [`Explicit::check_all`], once: a retry of the very same check with the same `idempotency_key` within `lifetime` of its
    /// admission is told the same and costs nothing. See [`crate::Limiter::check_once`], with which it shares
    /// [`crate::LimiterBuilder::idempotency_keys_max`].
    ///
    /// ```
    /// # use tollgate::*;
    /// # let limit = Limit::new(Rate::per_hour(1), Burst::tokens(2))?;
    /// # let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(limit)?;
    /// let explicit = limiter.explicit();
    /// for _ in 0..5 {
    ///     let order = [explicit.charge("ann", &limit, Cost::ONE)];
    ///     let told = explicit.check_once("order-7", Span::from_secs(60), &order);
    ///     assert_eq!(told.to_string(), "admitted, 1 left");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_once(
        &self,
        idempotency_key: impl Key,
        lifetime: Span,
        charges: &[ExplicitCharge],
    ) -> ExplicitVerdict {
        let decide = || Told::Explicit(self.check_all(charges));
        let remembered = &self.shared.remembered;
        match remembered.once(&idempotency_key, lifetime, Asked(charges), self.shared, decide) {
            Ok(Told::Explicit(told)) => told,
            // Named apart, so it is none of the rules'.
            Ok(Told::ByRules(_)) => self.check_all(charges),
            Err(error) => ExplicitVerdict::invalid(error),
        }
    }
}
