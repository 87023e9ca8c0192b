//! The charges that an admitted check has made: corrected when their true cost is known, places given back when their holder
//! is done.
//!
//! Each charge is known by its receipt, so that a bucket is never left fuller than if it had not been charged. It does not know
//! for how long it is kept: a reservation keeps it in a ledger, a guard holds it.

use tollgate_core::{BucketSet, Cost, Tokens};

use crate::memory::explicit::joint::ExplicitReceipt;
use crate::memory::meters::MeterSource;
use crate::memory::receipt::{LogReceipt, Outcome, Receipt};
use crate::memory::store::{Ask, When};
use crate::shared::Shared;

/// What one admitted check has charged.
#[derive(Debug, Clone)]
pub(crate) struct Charged {
    receipts: Vec<Receipt>,
    log_receipts: Vec<LogReceipt>,
    explicit_receipts: Vec<ExplicitReceipt>,
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

impl Charged {
    /// The charges of a check that was admitted.
    pub(crate) fn of<const N: usize>(outcome: Outcome<N>) -> Charged {
        let receipts = outcome.receipts.into_iter().flatten().collect();
        Charged { receipts, log_receipts: outcome.log_receipts, explicit_receipts: Vec::new() }
    }

    /// Charges to buckets whose limits came with the call.
    pub(crate) fn of_explicit(explicit_receipts: Vec<ExplicitReceipt>) -> Charged {
        Charged { receipts: Vec::new(), log_receipts: Vec::new(), explicit_receipts }
    }

    /// Corrects every bucket to the true cost of its charges, told by their positions in the check. Places are given back.
    pub(crate) fn correct(&self, shared: &Shared, actual: impl Fn(usize) -> Cost) -> Settled {
        self.correct_those(shared, actual, |_| true)
    }

    /// The same for tokens alone: places stay taken.
    #[cfg(feature = "policy")]
    pub(crate) fn correct_tokens(&self, shared: &Shared, actual: impl Fn(usize) -> Cost) -> Settled {
        self.correct_those(shared, actual, |receipt| receipt.generation.is_none())
    }

    /// Gives back the places that were taken; whether all of them were still its own.
    pub(crate) fn give_places_back(&self, shared: &Shared) -> bool {
        self.places().fold(true, |all, receipt| {
            let when = When::Read(shared.clock.now(), &shared.clock);
            let taken = Tokens::from(receipt.ask.demand.cost);
            let given = shared.store.give_back(receipt, taken, Tokens::ZERO, when).given();
            all && given > Tokens::ZERO
        })
    }

    /// The charges that took places.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Receipt> {
        self.receipts.iter().filter(|receipt| receipt.generation.is_some())
    }

    fn correct_those(
        &self,
        shared: &Shared,
        actual: impl Fn(usize) -> Cost,
        is_meant: impl Fn(&Receipt) -> bool,
    ) -> Settled {
        let mut settled = Settled {
            returned: Tokens::from_micros(u64::MAX),
            charged: Tokens::ZERO,
            forgiven: Tokens::ZERO,
        };
        let true_cost =
            |members: BucketSet| members.iter().fold(Cost::micros(0), |sum, charge| sum.plus(actual(charge)));
        for receipt in self.receipts.iter().filter(|receipt| is_meant(receipt)) {
            let due = true_cost(receipt.members);
            settled.add(Made::Word(receipt).correct(shared, receipt.ask.demand.cost, due));
        }
        for receipt in &self.log_receipts {
            let due = true_cost(receipt.members);
            settled.add(Made::Log(receipt).correct(shared, receipt.demand.cost, due));
        }
        for receipt in &self.explicit_receipts {
            settled.add(receipt.correct(shared, true_cost(receipt.wanted.members)));
        }
        settled
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

    /// Corrects one bucket.
    fn correct(self, shared: &Shared, estimate: Cost, actual: Cost) -> Settled {
        let Shared { store, clock, debt_max, waiting, .. } = shared;
        let when = When::Read(clock.now(), clock);
        let mut settled = Settled::NOTHING;
        let ask = self.ask();
        let debt_max = debt_max.unwrap_or_else(|| store.meters.ruler(ask.limit).full());
        let is_place = matches!(self, Made::Word(receipt) if receipt.generation.is_some());
        if actual <= estimate || is_place {
            let over = Tokens::from_micros(estimate.as_micros().saturating_sub(actual.as_micros()));
            settled.returned = match self {
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
            let id = match self {
                Made::Word(receipt) => receipt.awaited_id(),
                Made::Log(receipt) => receipt.id,
            };
            settled.charged = waiting.while_taking(id, take).taken().min(under);
            settled.forgiven = Tokens::from_micros(under.as_micros() - settled.charged.as_micros());
        }
        settled
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
