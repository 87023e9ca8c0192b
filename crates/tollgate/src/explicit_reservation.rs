//! Reservations of tokens whose limits come with the call: an estimate is charged at once, and corrected later.
//!
//! They are [`Reservation`]s like any other, in the same bounded ledger, and settled by the same names.

use std::sync::Arc;

use tollgate_core::{CHARGES_MAX, Cost, Span, Tokens};

use crate::charged::{Charged, Settled};
use crate::expiring::Full;
use crate::explicit::{Explicit, ExplicitCharge};
use crate::memory::explicit::joint::ExplicitReceipt;
use crate::memory::store::When;
use crate::reservation::Open;
use crate::shared::Shared;
use crate::{Reservation, ReserveError, Verdict};

impl Explicit<'_> {
    /// Charges estimates to one or several buckets, all or nothing, to be settled within `timeout`: see [`Reservation`]. What is
    /// given back goes to the bucket whatever its limit is by then, but no further than full by the limit it was reserved
    /// under. An overrun goes into debt, at most the burst it was reserved under, or [`crate::LimiterBuilder::debt_max`].
    ///
    /// ```
    /// # use tollgate::*;
    /// # let limit = Limit::new(Rate::per_minute(1), Burst::tokens(1_000))?;
    /// # let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(limit)?;
    /// let explicit = limiter.explicit();
    /// let estimate = explicit.charge("ann", &limit, Cost::tokens(300));
    /// let answer = explicit.reserve(&[estimate], Span::from_secs(60))?;
    /// answer.commit(Cost::tokens(120))?;
    /// assert_eq!(explicit.peek("ann", &limit, Cost::ONE).to_string(), "admitted, 879 left");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve(&self, charges: &[ExplicitCharge], timeout: Span) -> Result<Reservation, ReserveError> {
        if timeout == Span::ZERO {
            return Err(ReserveError::ZeroTimeout);
        }
        let shared = self.shared;
        let asks = self.accept_all(charges).map_err(|error| ReserveError::Denied(Verdict::Invalid(error)))?;
        let now = shared.clock.now();
        let id = shared.reservation_ids.next();
        // The place first: a charge that cannot be entered would have to be taken back.
        let claim = shared
            .reservations
            .claim(id, now)
            .map_err(|Full| ReserveError::TooManyOpen { reservations_max: shared.reservations.max() })?;
        let estimates = asks.clone().map(|ask| ask.cost).collect();
        let outcome = self.store.charge_all::<CHARGES_MAX>(asks, When::Read(now, &shared.clock));
        let verdict = outcome.told.verdict;
        if !verdict.is_admitted() {
            return Err(ReserveError::Denied(verdict));
        }
        let receipts = outcome.receipts.into_iter().flatten().collect();
        claim.fill(Open { charged: Charged::of_explicit(receipts), estimates }, now + timeout);
        Ok(Reservation { shared: Arc::clone(shared), id, verdict: Some(verdict) })
    }
}

impl ExplicitReceipt {
    /// Corrects its bucket to the true cost of its charges.
    pub(crate) fn correct(&self, shared: &Shared, actual: Cost) -> Settled {
        let store = &shared.explicit;
        let (ask, clock) = (&self.wanted.ask, &shared.clock);
        let when = When::Read(clock.now(), clock);
        if actual <= ask.cost {
            let over = Tokens::from_micros(ask.cost.as_micros() - actual.as_micros());
            return Settled { returned: store.give_back(self, over, when).given(), ..Settled::NOTHING };
        }
        let under = Tokens::from_micros(actual.as_micros() - ask.cost.as_micros());
        let debt_max = shared.debt_max.unwrap_or_else(|| ask.limit.burst());
        let charged = store.take_into_debt(ask, under, debt_max, when).taken().min(under);
        let forgiven = Tokens::from_micros(under.as_micros() - charged.as_micros());
        Settled { charged, forgiven, ..Settled::NOTHING }
    }
}
