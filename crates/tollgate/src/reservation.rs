//! Reserve now, settle later: an estimate is charged at once, and corrected when the true cost is known.

use std::fmt;
use std::sync::Arc;

use tollgate_core::{CHARGES_MAX, Cost, Span};

use crate::charged::{Charged, Settled};
use crate::expiring::{Full, Taken};
use crate::memory::store::When;
use crate::reservation_id::ReservationId;
use crate::rule::{Charge, Rule};
use crate::settle_error::{ReserveError, SettleError};
use crate::shared::Shared;
use crate::{Key, Limiter, Verdict};

/// How many reservations of a limiter may be open at a time unless told otherwise.
pub const RESERVATIONS_DEFAULT: usize = 100_000;

/// An estimate that was charged and waits to be settled: committed at its true cost, or cancelled. Whoever does neither in
/// time has paid the estimate.
///
/// It is only a name: dropping it settles nothing, and [`Limiter::reservation`] gives another.
#[derive(Clone)]
pub struct Reservation {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: ReservationId,
    pub(crate) verdict: Option<Verdict>,
}

/// What an open reservation has charged.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub(crate) charged: Charged,
    /// The estimate of each charge, in order.
    pub(crate) estimates: Vec<Cost>,
}

impl Reservation {
    /// The name to settle it by, from elsewhere.
    pub fn id(&self) -> ReservationId {
        self.id
    }

    /// What the check was told: [`Verdict::Admit`], with what was left and, for a leaky bucket, how long to wait. `None` of a
    /// reservation that was found by its name.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// Settles at the true cost, the same for every charge. Less than the estimate is given back; more becomes debt, which is
    /// repaid before anything else is admitted. Places at work are given back.
    pub fn commit(&self, actual: Cost) -> Result<Settled, SettleError> {
        let open = self.close(|open| {
            let first = open.estimates.first();
            match open.estimates.iter().position(|estimate| Some(estimate) != first) {
                Some(charge) => Err(SettleError::CostsDiffer { charge }),
                None => Ok(()),
            }
        })?;
        Ok(open.charged.correct(&self.shared, |_| actual))
    }

    /// Settles at the true cost of each charge, in their order.
    pub fn commit_each(&self, actual: &[Cost]) -> Result<Settled, SettleError> {
        let open = self.close(|open| match open.estimates.len() {
            charges if charges == actual.len() => Ok(()),
            charges => Err(SettleError::WrongCount { charges, costs: actual.len() }),
        })?;
        Ok(open.charged.correct(&self.shared, |charge| actual[charge]))
    }

    /// Gives everything back: nothing was done. No more than there would be if nothing had been reserved: what the bucket would
    /// have minted beyond full meanwhile is lost, and what a [reset](Rule::reset) has forgiven is not given as well. After two and a
    /// half hours, all is lost if the limit was changed meanwhile.
    ///
    /// Two things it cannot see, each worth at most the estimate: that a smaller [tier](Rule::tier), on which the client was checked
    /// meanwhile, had no room for what was reserved; and that the clock was set back from a time when the bucket had filled up
    /// again, unless the bucket is left deeper in debt than [`crate::LimiterBuilder::debt_max`] allows: then as much less is given.
    /// Only a [manual clock](crate::Clock::manual) can be set back.
    pub fn cancel(&self) -> Result<Settled, SettleError> {
        let open = self.close(|_| Ok(()))?;
        Ok(open.charged.correct(&self.shared, |_| Cost::micros(0)))
    }

    /// Takes it out of the ledger, unless `check` says no: whoever does so settles it, and nobody else.
    fn close(&self, check: impl FnOnce(&Open) -> Result<(), SettleError>) -> Result<Open, SettleError> {
        match self.shared.reservations.take_if(self.id, self.shared.clock.now(), check)? {
            Some(Taken::Alive(open)) => Ok(open),
            Some(Taken::Expired) => Err(SettleError::Expired),
            None => Err(SettleError::Unknown),
        }
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Rule {
    /// Charges an estimate to the bucket of `key`, to be settled within `timeout`. A place of a [`crate::Concurrency`] limit that
    /// is not settled in time is taken until its own timeout.
    ///
    /// ```
    /// # use tollgate::*;
    /// # let clock = Clock::manual(Moment::default());
    /// # let limit = Limit::new(Rate::per_minute(1), Burst::tokens(1_000))?;
    /// # let limiter = Limiter::builder().clock(clock).build(limit)?;
    /// // A completion of about 300 tokens; how many it was is known when it is done.
    /// let answer = limiter.default_rule().reserve("ann", Cost::tokens(300), Span::from_secs(60))?;
    /// answer.commit(Cost::tokens(120))?;
    /// assert_eq!(limiter.peek("ann").to_string(), "admitted, 879 left");
    /// assert!(answer.cancel().is_err(), "it is settled");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve(&self, key: impl Key, estimate: Cost, timeout: Span) -> Result<Reservation, ReserveError> {
        Limiter { default: self.clone() }.reserve(&[self.charge_n(key, estimate)], timeout)
    }
}

impl Limiter {
    /// Charges estimates to several buckets, all or nothing, to be settled within `timeout`.
    pub fn reserve(&self, charges: &[Charge], timeout: Span) -> Result<Reservation, ReserveError> {
        if timeout == Span::ZERO {
            return Err(ReserveError::ZeroTimeout);
        }
        let shared = Arc::clone(&self.default.shared);
        let wishes =
            self.accept_all(charges).map_err(|error| ReserveError::Denied(Verdict::Invalid(error)))?;
        let asks = wishes.map(|(wish, breadth)| (wish.ask(&shared.store.meters), breadth));
        let now = shared.clock.now();
        let id = shared.reservation_ids.next();
        // The place first: a charge that cannot be entered would have to be taken back.
        let claim = shared
            .reservations
            .claim(id, now)
            .map_err(|Full| ReserveError::TooManyOpen { reservations_max: shared.reservations.max() })?;
        let estimates = asks.clone().map(|(ask, _)| ask.demand.cost).collect();
        let outcome = shared.store.charge_all_fully::<CHARGES_MAX>(asks, When::Read(now, &shared.clock));
        let verdict = outcome.verdict;
        if !verdict.is_admitted() {
            return Err(ReserveError::Denied(verdict));
        }
        claim.fill(Open { charged: Charged::of(outcome), estimates }, now + timeout);
        Ok(Reservation { shared, id, verdict: Some(verdict) })
    }

    /// The reservation of this name, open or not: settling it will tell.
    pub fn reservation(&self, id: ReservationId) -> Reservation {
        Reservation { shared: Arc::clone(&self.default.shared), id, verdict: None }
    }
}
