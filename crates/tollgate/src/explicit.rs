//! Limits that come with the call: rate and burst are arguments of every check, not of a rule.

use std::fmt;

use tollgate_core::{Burst, CHARGES_MAX, Cost, Limit, Moment, Rate, Tokens};

use crate::identity::BucketId;
use crate::memory::explicit::store::ExplicitStore;
use crate::memory::explicit::told::ExplicitAsk;
use crate::memory::store::When;
use crate::operations::Given;
use crate::shared::Shared;
use crate::{CheckError, ExplicitVerdict, Key, Limiter};

/// Checks that are fetched together before the first of them is decided.
const BATCH: usize = 16;
/// The namespace of explicit keys. No rule has an empty name.
pub(crate) const NAMESPACE: &str = "";

/// A bucket that is to be full is so under any limit.
const ANY_LIMIT: Limit = match Limit::new(Rate::per_second(1), Burst::tokens(1)) {
    Ok(limit) => limit,
    Err(_) => panic!("one token a second is a limit"),
};

/// The explicit buckets of a limiter: whoever checks brings the limit along. They have nothing to do with those of rules, and a
/// table of their own ([`crate::LimiterBuilder::explicit_keys_max`]).
///
/// The rate of a call applies to all the time since the last charge of its key, and its burst bounds what that gives. So a key
/// that is checked with another limit keeps its balance: a smaller burst clamps it, a higher rate never denies what the lower
/// one would have admitted (but for the last micro-token, which each rate rounds in its own phase). In every interval of length
/// d in which a key has one limit, at most `burst + rate · d` is admitted.
///
/// A bucket that is full by the limit of its last charge may be forgotten, and is then full by whatever limit comes next. When
/// the table is crowded, the bucket that would be full soonest makes room, unless [`crate::TableFull::DenyNew`] says that newcomers
/// are denied. Whoever comes to that place later starts no fuller than a bucket which was evicted from it would be, judged by
/// the newcomer's own limit: nobody gains by being evicted, some newcomers are denied who need not have been, and for no longer
/// than a bucket of theirs takes to fill. [`crate::Stats::explicit`] counts all of it.
///
/// ```
/// # use tollgate::*;
/// # let limit = Limit::new(Rate::per_second(10), Burst::tokens(50))?;
/// # let limiter = Limiter::builder().clock(Clock::manual(Moment::default())).build(limit)?;
/// let explicit = limiter.explicit();
/// let free = Limit::new(Rate::per_second(1), Burst::tokens(5))?;
/// let told = explicit.check("user:42", &free, Cost::tokens(2));
/// assert_eq!(told.to_string(), "admitted, 3 left");
/// assert_eq!(told.time_to_full, Span::from_secs(2));
/// // The same key under a larger limit keeps its balance.
/// let pro = Limit::new(Rate::per_second(10), Burst::tokens(50))?;
/// assert_eq!(explicit.check("user:42", &pro, Cost::ONE).to_string(), "admitted, 2 left");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Explicit<'l> {
    pub(crate) shared: &'l std::sync::Arc<Shared>,
    pub(crate) store: &'l ExplicitStore,
}

/// What one check asks of one explicit bucket. `Copy`: the key is hashed when the charge is made, not kept.
#[derive(Debug, Clone, Copy)]
pub struct ExplicitCharge {
    ask: Result<ExplicitAsk, CheckError>,
    limiter: u64,
}

impl ExplicitCharge {
    /// What it asks for, if it is sound.
    pub(crate) fn ask(&self) -> Result<ExplicitAsk, CheckError> {
        self.ask
    }
}

impl Limiter {
    /// Checks whose limits come with the call. Their table takes 45.5 bytes for each key that was ever used at a time, up to
    /// [`crate::LimiterBuilder::explicit_keys_max`] keys.
    pub fn explicit(&self) -> Explicit<'_> {
        let shared = &self.default.shared;
        Explicit { shared, store: &shared.explicit }
    }
}

impl Explicit<'_> {
    /// Asks for `cost` from the bucket of `key`, under this limit.
    pub fn check(&self, key: impl Key, limit: &Limit, cost: Cost) -> ExplicitVerdict {
        match self.ask(&key, limit, cost) {
            Ok(ask) => {
                // The clock is read while the bucket is on its way.
                self.store.table.prefetch(ask.id);
                self.store.charge(&ask, self.when())
            }
            Err(error) => ExplicitVerdict::invalid(error),
        }
    }

    /// [`Explicit::check`] at a moment of the caller's choosing, on the time line of the limiter's clock. Moments may jump about;
    /// one that is more than a second behind the bucket's last charge counts as a clock that was set back for good: from then
    /// on the bucket follows it, and what was minted between is minted again.
    pub fn check_at(&self, key: impl Key, limit: &Limit, cost: Cost, now: Moment) -> ExplicitVerdict {
        match self.ask(&key, limit, cost) {
            Ok(ask) => self.store.charge(&ask, When::Given(now)),
            Err(error) => ExplicitVerdict::invalid(error),
        }
    }

    /// What a check of `cost` would be told. Spends nothing. A `cost` of 0 only looks.
    pub fn peek(&self, key: impl Key, limit: &Limit, cost: Cost) -> ExplicitVerdict {
        self.look(&key, limit, cost, self.when())
    }

    /// [`Explicit::peek`] at a moment of the caller's choosing.
    pub fn peek_at(&self, key: impl Key, limit: &Limit, cost: Cost, now: Moment) -> ExplicitVerdict {
        self.look(&key, limit, cost, When::Given(now))
    }

    /// `cost` from the bucket of `key` under this limit, to be asked for in a batch or together with others.
    pub fn charge(&self, key: impl Key, limit: &Limit, cost: Cost) -> ExplicitCharge {
        ExplicitCharge { ask: self.ask(&key, limit, cost), limiter: self.shared.serial }
    }

    /// Decides many checks that have nothing to do with one another, in their order: faster than one by one, since their
    /// buckets are fetched together and the clock is read once for every sixteen. `verdicts` is cleared and holds one for each
    /// charge; with enough room in it nothing is allocated.
    pub fn check_each(&self, charges: &[ExplicitCharge], verdicts: &mut Vec<ExplicitVerdict>) {
        self.decide_each(charges, || self.when(), verdicts);
    }

    /// [`Explicit::check_each`] at a moment of the caller's choosing.
    pub fn check_each_at(
        &self,
        charges: &[ExplicitCharge],
        now: Moment,
        verdicts: &mut Vec<ExplicitVerdict>,
    ) {
        self.decide_each(charges, || When::Given(now), verdicts);
    }

    /// Decides one check over several buckets, all or nothing: if one denies, none is charged. The verdict names every one that
    /// denied, by its position. Charges to the same key are added up, and must have the same limit.
    pub fn check_all(&self, charges: &[ExplicitCharge]) -> ExplicitVerdict {
        self.decide_all(charges, || self.when())
    }

    /// [`Explicit::check_all`] at a moment of the caller's choosing.
    pub fn check_all_at(&self, charges: &[ExplicitCharge], now: Moment) -> ExplicitVerdict {
        self.decide_all(charges, || When::Given(now))
    }

    /// What [`Explicit::check_all`] would be told. Charges nothing.
    pub fn peek_all(&self, charges: &[ExplicitCharge]) -> ExplicitVerdict {
        match self.accept_all(charges) {
            Ok(asks) => self.store.peek_all::<CHARGES_MAX>(asks, self.when()),
            Err(error) => ExplicitVerdict::invalid(error),
        }
    }

    /// Gives back tokens of an admitted check that came to nothing. Bounded by what is missing under this limit: the bucket is
    /// never fuller than full. It is not known who took what is missing: refund no more than was taken, or
    /// [reserve](Explicit::reserve), which keeps account of that.
    pub fn refund(&self, key: impl Key, limit: &Limit, amount: Cost) -> Result<Given, CheckError> {
        let ask = self.ask(&key, limit, amount)?;
        let change = self.store.give(&ask, Tokens::from(amount), self.when());
        let balance = Tokens::from_micros(change.after.max(0).unsigned_abs());
        Ok(Given { given: change.given(), balance })
    }

    /// Fills the bucket of `key`, whatever it has spent or owes: full by any limit. Reservations from before give nothing back.
    /// A bucket for which there is no room in a crowded table stays as full as a newcomer.
    pub fn reset(&self, key: impl Key) -> Result<(), CheckError> {
        let id = self.store.id(&key)?;
        self.store.reset(&ExplicitAsk { id, limit: ANY_LIMIT, cost: Cost::ONE }, self.when());
        Ok(())
    }

    pub(crate) fn when(&self) -> When<'_> {
        When::Read(self.shared.clock.now(), &self.shared.clock)
    }

    fn look(&self, key: &impl Key, limit: &Limit, cost: Cost, when: When<'_>) -> ExplicitVerdict {
        match self.store.id(key) {
            Ok(id) => self.store.peek(&ExplicitAsk { id, limit: *limit, cost }, when),
            Err(error) => ExplicitVerdict::invalid(error),
        }
    }

    fn ask(&self, key: &impl Key, limit: &Limit, cost: Cost) -> Result<ExplicitAsk, CheckError> {
        if cost == Cost::micros(0) {
            return Err(CheckError::ZeroCost);
        }
        Ok(ExplicitAsk { id: self.store.id(key)?, limit: *limit, cost })
    }

    /// The clock is read, or not, by `when`.
    fn decide_each<'c>(
        &self,
        charges: &[ExplicitCharge],
        when: impl Fn() -> When<'c>,
        verdicts: &mut Vec<ExplicitVerdict>,
    ) {
        verdicts.clear();
        self.prefetch(charges.iter().take(BATCH));
        for (number, batch) in charges.chunks(BATCH).enumerate() {
            // The next batch is on its way while this one is decided, and so is what is not where it was looked for.
            self.prefetch(charges.iter().skip((number + 1) * BATCH).take(BATCH));
            self.own_ids(batch.iter()).for_each(|id| self.store.table.prefetch_rest(id));
            let when = when();
            verdicts.extend(batch.iter().enumerate().map(|(index, charge)| {
                match self.accept(number * BATCH + index, charge) {
                    Ok(ask) => self.store.charge(&ask, when),
                    Err(error) => ExplicitVerdict::invalid(error),
                }
            }));
        }
    }

    fn decide_all<'c>(&self, charges: &[ExplicitCharge], when: impl FnOnce() -> When<'c>) -> ExplicitVerdict {
        let asks = match self.accept_all(charges) {
            Ok(asks) => asks,
            Err(error) => return ExplicitVerdict::invalid(error),
        };
        self.prefetch(charges.iter());
        // Room for as few as there are: clearing more takes as long as deciding.
        match charges.len() {
            1 => asks.into_iter().next().map_or(ExplicitVerdict::invalid(CheckError::NoCharges), |ask| {
                self.store.charge(&ask, when())
            }),
            2..=4 => self.store.charge_all::<4>(asks, when()).told,
            _ => self.store.charge_all::<CHARGES_MAX>(asks, when()).told,
        }
    }

    fn prefetch<'c>(&self, charges: impl Iterator<Item = &'c ExplicitCharge>) {
        self.own_ids(charges).for_each(|id| self.store.table.prefetch(id));
    }

    /// The buckets of this limiter among the charges.
    fn own_ids<'c>(
        &self,
        charges: impl Iterator<Item = &'c ExplicitCharge>,
    ) -> impl Iterator<Item = BucketId> {
        charges
            .filter(|charge| self.is_own(charge))
            .filter_map(|charge| charge.ask.as_ref().ok().map(|ask| ask.id))
    }

    /// The charges of one check, if they are sound.
    pub(crate) fn accept_all<'c>(
        &self,
        charges: &'c [ExplicitCharge],
    ) -> Result<impl Iterator<Item = ExplicitAsk> + Clone + use<'c>, CheckError> {
        match charges.len() {
            0 => return Err(CheckError::NoCharges),
            charges if charges > CHARGES_MAX => return Err(CheckError::TooManyCharges { charges }),
            _ => {}
        }
        for (index, charge) in charges.iter().enumerate() {
            self.accept(index, charge)?;
        }
        Ok(charges.iter().filter_map(|charge| charge.ask.ok()))
    }

    /// The charge, if it is sound and of this limiter: another table's bucket means nothing in this one.
    #[inline]
    fn accept(&self, index: usize, charge: &ExplicitCharge) -> Result<ExplicitAsk, CheckError> {
        if self.is_own(charge) { charge.ask } else { Err(CheckError::ForeignCharge { charge: index }) }
    }

    fn is_own(&self, charge: &ExplicitCharge) -> bool {
        charge.limiter == self.shared.serial
    }
}

impl fmt::Debug for Explicit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Explicit").field("keys_max", &self.shared.explicit_keys_max).finish_non_exhaustive()
    }
}
