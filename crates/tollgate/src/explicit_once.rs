//! A check whose limits come with the call and that is charged once however often it is retried.

use tollgate_core::Span;

use crate::expiring::Full;
use crate::explicit::{Explicit, ExplicitCharge};
use crate::memory::counters::Event;
use crate::{CheckError, ExplicitVerdict, Key, Verdict};

impl Explicit<'_> {
    /// Decides one check over several buckets, all or nothing, once: a retry of the very same check with the same
    /// `idempotency_key` within `lifetime` of its admission costs nothing and is told the same, but for the time to full, which is
    /// true when it is told. See [`crate::Limiter::check_once`].
    ///
    /// ```
    /// # use tollgate::*;
    /// # let limit = Limit::new(Rate::per_hour(1), Burst::tokens(2))?;
    /// # let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(limit)?;
    /// let explicit = limiter.explicit();
    /// for _ in 0..5 {
    ///     let charges = [explicit.charge("ann", &limit, Cost::ONE)];
    ///     let told = explicit.check_once("order-7", Span::from_secs(60), &charges);
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
        if lifetime == Span::ZERO {
            return ExplicitVerdict::invalid(CheckError::ZeroLifetime);
        }
        let shared = self.shared;
        let asked = charges.iter().map(ExplicitCharge::asked);
        let place = match shared.remembered.place(&idempotency_key, &asked) {
            Ok(place) => place,
            Err(error) => return ExplicitVerdict::invalid(error),
        };
        let now = shared.clock.now();
        if let Some(verdict) = place.get(now) {
            let seen = self.peek_all(charges);
            let remaining = verdict.remaining().unwrap_or(seen.remaining);
            return ExplicitVerdict { verdict: *verdict, remaining, ..seen };
        }
        let told = self.check_all(charges);
        if let Verdict::Admit { .. } = told.verdict
            && place.insert(told.verdict, now + lifetime, now) == Err(Full)
        {
            shared.store.counters.count(Event::RetryUnguarded);
        }
        told
    }
}
