//! Reserve now, settle later: an estimate is charged at once, and corrected when the true cost is known.

use std::fmt;
use std::sync::Arc;

use tollgate_core::{BucketSet, CHARGES_MAX, Cost, Span, Tokens};

use crate::expiring::{Full, Taken};
use crate::memory::explicit::joint::ExplicitReceipt;
use crate::memory::meters::MeterSource;
use crate::memory::receipt::{LogReceipt, Receipt};
use crate::memory::store::{Ask, When};
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
    receipts: Vec<Receipt>,
    log_receipts: Vec<LogReceipt>,
    explicit_receipts: Vec<ExplicitReceipt>,
    /// The estimate of each charge, in order.
    estimates: Vec<Cost>,
}

impl Open {
    /// Charges to buckets whose limits came with the call.
    pub(crate) fn of_explicit(explicit_receipts: Vec<ExplicitReceipt>, estimates: Vec<Cost>) -> Open {
        Open { receipts: Vec::new(), log_receipts: Vec::new(), explicit_receipts, estimates }
    }
}

/// What a settlement did to the buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// The least that any bucket was given back. Less than the difference where the bucket would have been full meanwhile.
    pub returned: Tokens,
    /// The most that any bucket was charged on top of the estimate, into debt if need be.
    pub charged: Tokens,
    /// The most of an overrun that a bucket was not charged, because it is in debt as far as
    /// [`crate::LimiterBuilder::debt_max`] allows.
    pub forgiven: Tokens,
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
        Ok(self.settle(&open, |_| actual))
    }

    /// Settles at the true cost of each charge, in their order.
    pub fn commit_each(&self, actual: &[Cost]) -> Result<Settled, SettleError> {
        let open = self.close(|open| match open.estimates.len() {
            charges if charges == actual.len() => Ok(()),
            charges => Err(SettleError::WrongCount { charges, costs: actual.len() }),
        })?;
        Ok(self.settle(&open, |charge| actual[charge]))
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
        Ok(self.settle(&open, |_| Cost::micros(0)))
    }

    /// Takes it out of the ledger, unless `check` says no: whoever does so settles it, and nobody else.
    fn close(&self, check: impl FnOnce(&Open) -> Result<(), SettleError>) -> Result<Open, SettleError> {
        match self.shared.reservations.take_if(self.id, self.shared.clock.now(), check)? {
            Some(Taken::Alive(open)) => Ok(open),
            Some(Taken::Expired) => Err(SettleError::Expired),
            None => Err(SettleError::Unknown),
        }
    }

    /// Corrects every bucket to the true cost of its charges.
    fn settle(&self, open: &Open, actual: impl Fn(usize) -> Cost) -> Settled {
        let mut settled = Settled {
            returned: Tokens::from_micros(u64::MAX),
            charged: Tokens::ZERO,
            forgiven: Tokens::ZERO,
        };
        let true_cost =
            |members: BucketSet| members.iter().fold(Cost::micros(0), |sum, charge| sum.plus(actual(charge)));
        for receipt in &open.receipts {
            let due = true_cost(receipt.members);
            settled.add(self.correct(Made::Word(receipt), receipt.ask.demand.cost, due));
        }
        for receipt in &open.log_receipts {
            settled.add(self.correct(Made::Log(receipt), receipt.demand.cost, true_cost(receipt.members)));
        }
        for receipt in &open.explicit_receipts {
            settled.add(self.correct_explicit(receipt, true_cost(receipt.wanted.members)));
        }
        settled
    }

    /// Corrects one bucket.
    fn correct(&self, made: Made<'_>, estimate: Cost, actual: Cost) -> Settled {
        let Shared { store, clock, debt_max, waiting, .. } = &*self.shared;
        let when = When::Read(clock.now(), clock);
        let mut settled = Settled::NOTHING;
        let ask = made.ask();
        let debt_max = debt_max.unwrap_or_else(|| store.meters.ruler(ask.limit).full());
        let is_place = matches!(made, Made::Word(receipt) if receipt.generation.is_some());
        if actual <= estimate || is_place {
            let over = Tokens::from_micros(estimate.as_micros().saturating_sub(actual.as_micros()));
            settled.returned = match made {
                Made::Word(receipt) => waiting.while_settling(store, receipt, over, debt_max, when),
                Made::Log(receipt) => store.give_back_to_log(receipt, over, when),
            }
            .given();
        } else {
            let under = Tokens::from_micros(actual.as_micros() - estimate.as_micros());
            let take = |booked: Tokens| {
                let most = debt_max.as_micros().saturating_add(booked.as_micros());
                store.take_into_debt(&ask, under, Tokens::from_micros(most), when)
            };
            let id = match made {
                Made::Word(receipt) => receipt.awaited_id(),
                Made::Log(receipt) => receipt.id,
            };
            settled.charged = waiting.while_taking(id, take).taken().min(under);
            settled.forgiven = Tokens::from_micros(under.as_micros() - settled.charged.as_micros());
        }
        settled
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A charge, wherever it was made.
#[derive(Clone, Copy)]
enum Made<'r> {
    Word(&'r Receipt),
    Log(&'r LogReceipt),
}

impl Made<'_> {
    fn ask(self) -> Ask {
        match self {
            Made::Word(receipt) => receipt.ask,
            Made::Log(LogReceipt { id, limit_id, demand, .. }) => {
                Ask { id: *id, limit: *limit_id, demand: *demand }
            }
        }
    }
}

impl Settled {
    pub(crate) const NOTHING: Settled =
        Settled { returned: Tokens::ZERO, charged: Tokens::ZERO, forgiven: Tokens::ZERO };

    fn add(&mut self, bucket: Settled) {
        self.returned = self.returned.min(bucket.returned);
        self.charged = self.charged.max(bucket.charged);
        self.forgiven = self.forgiven.max(bucket.forgiven);
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
        if !outcome.verdict.is_admitted() {
            return Err(ReserveError::Denied(outcome.verdict));
        }
        let receipts = outcome.receipts.into_iter().flatten().collect();
        let (log_receipts, explicit_receipts) = (outcome.log_receipts, Vec::new());
        claim.fill(Open { receipts, log_receipts, explicit_receipts, estimates }, now + timeout);
        Ok(Reservation { shared, id, verdict: Some(outcome.verdict) })
    }

    /// The reservation of this name, open or not: settling it will tell.
    pub fn reservation(&self, id: ReservationId) -> Reservation {
        Reservation { shared: Arc::clone(&self.default.shared), id, verdict: None }
    }
}
