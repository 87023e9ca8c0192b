//! The limiter: rules over one bounded table and one clock.

use std::path::Path;
#[cfg(feature = "policy")]
use std::time::Duration;

use tollgate_core::{Algorithm, BucketSet, CHARGES_MAX, Cost, Moment, Span};

use crate::builder::LimiterBuilder;
use crate::memory::refusal::Refusal;
use crate::memory::store::When;
use crate::memory::wish::{LastLevel, Wish};
use crate::rule::{Breadth, Charge, Rule};
use crate::shared::{RuleError, Shared};
use crate::snapshot_file::{self, SnapshotError};
use crate::{CheckError, Key, Stats, Verdict};

/// Buckets that are fetched together before the first of them is decided.
const BATCH: usize = 16;

/// Limits how often things may happen, for any number of keys, in memory that is fixed when it is made.
///
/// Clones share all state. See the [crate's page](crate) for a tour.
#[derive(Debug, Clone)]
pub struct Limiter {
    pub(crate) default: Rule,
}

impl Limiter {
    /// A limiter with one rule, for up to [`KEYS_DEFAULT`](crate::KEYS_DEFAULT) keys that are not full at the same time.
    pub fn new(limit: impl Into<Algorithm>) -> Limiter {
        LimiterBuilder::build_default(limit.into())
    }

    /// A limiter with other settings.
    pub fn builder() -> LimiterBuilder {
        LimiterBuilder::default()
    }

    /// Asks for one token from the bucket of `key`.
    ///
    /// ```
    /// # use tollgate::{Burst, Limit, Limiter, Rate};
    /// let limiter = Limiter::new(Limit::new(Rate::per_second(10), Burst::tokens(50))?);
    /// assert!(limiter.check("user:42").is_admitted());
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    #[inline]
    pub fn check(&self, key: impl Key) -> Verdict {
        self.default.check(key)
    }

    /// Asks for `cost` from the bucket of `key`.
    #[inline]
    pub fn check_n(&self, key: impl Key, cost: Cost) -> Verdict {
        self.default.check_n(key, cost)
    }

    /// Asks for `cost` from the bucket of `key` at a moment of the caller's choosing; see [`Rule::check_at`].
    pub fn check_at(&self, key: impl Key, cost: Cost, now: Moment) -> Verdict {
        self.default.check_at(key, cost, now)
    }

    /// What a check of one token would be told. Spends nothing.
    pub fn peek(&self, key: impl Key) -> Verdict {
        self.default.peek(key)
    }

    /// The rule that [`Limiter::check`] applies.
    pub fn default_rule(&self) -> &Rule {
        &self.default
    }

    /// Another set of buckets with a limit of its own, one bucket for each client. Declaring a name again gives the same
    /// buckets and sets their limit, as [`Rule::set_limit`] does.
    pub fn rule(&self, name: &str, limit: impl Into<Algorithm>) -> Result<Rule, RuleError> {
        self.shared_rule(name, limit, Breadth::Client)
    }

    /// Another set of buckets, each shared by as many clients as `breadth` says.
    pub fn shared_rule(
        &self,
        name: &str,
        limit: impl Into<Algorithm>,
        breadth: Breadth,
    ) -> Result<Rule, RuleError> {
        Rule::declare(&self.default.shared, name, breadth, "", limit.into())
    }

    /// [`Limiter::shared_rule`] that leaves the limit of a rule that exists as it is, to be set later.
    #[cfg(feature = "policy")]
    pub(crate) fn rule_for_later(
        &self,
        name: &str,
        limit: Algorithm,
        breadth: Breadth,
    ) -> Result<Rule, RuleError> {
        let shared = &self.default.shared;
        let id = shared.declare_for_later(name, breadth, limit)?;
        Ok(Rule::handle(std::sync::Arc::clone(shared), name, breadth, id))
    }

    /// Decides many checks that have nothing to do with one another: faster than one by one, since their buckets are fetched
    /// together and the clock is read once for every sixteen. `verdicts` is cleared and holds one verdict for each charge.
    pub fn check_each(&self, charges: &[Charge], verdicts: &mut Vec<Verdict>) {
        let clock = &self.shared().clock;
        self.decide_each(charges, || When::Read(clock.now(), clock), verdicts);
    }

    /// [`Limiter::check_each`] at a moment of the caller's choosing.
    pub fn check_each_at(&self, charges: &[Charge], now: Moment, verdicts: &mut Vec<Verdict>) {
        self.decide_each(charges, || When::Given(now), verdicts);
    }

    /// Decides one check over several buckets, all or nothing: if one denies, none is charged. The verdict names every one
    /// that denied, by its position, and the longest of their waits.
    pub fn check_all(&self, charges: &[Charge]) -> Verdict {
        let clock = &self.shared().clock;
        self.decide_all(charges, || When::Read(clock.now(), clock))
    }

    /// [`Limiter::check_all`] at a moment of the caller's choosing.
    pub fn check_all_at(&self, charges: &[Charge], now: Moment) -> Verdict {
        self.decide_all(charges, || When::Given(now))
    }

    /// What [`Limiter::check_all`] would be told. Charges nothing. Places may be asked about, too.
    pub fn peek_all(&self, charges: &[Charge]) -> Verdict {
        let wishes = match self.accept_all(charges) {
            Ok(wishes) => wishes,
            Err(error) => return Verdict::Invalid(error),
        };
        let Shared { store, clock, .. } = self.shared();
        let (when, mut refusal) = (When::Read(clock.now(), clock), Refusal::none());
        let mut delay = Span::ZERO;
        for (index, (wish, _)) in wishes.clone().enumerate() {
            let mut ask = wish.ask(&store.meters);
            let others =
                wishes.clone().enumerate().filter(|(at, (other, _))| *at != index && other.id == wish.id);
            ask.demand.cost = others.fold(ask.demand.cost, |cost, (_, (other, _))| cost.plus(other.cost));
            match store.peek(&ask, when) {
                Verdict::Admit { remaining, delay: mine } => {
                    refusal.left = refusal.left.min(remaining);
                    delay = delay.max(mine);
                }
                Verdict::Deny { wait, remaining, cause, .. } => {
                    refusal.add(cause, BucketSet::of(index), wait, remaining);
                }
                Verdict::Never { .. } => refusal.never.insert(index),
                invalid @ Verdict::Invalid(_) => return invalid,
            }
        }
        refusal.verdict().unwrap_or(Verdict::Admit { remaining: refusal.left, delay })
    }

    /// What time it is by this limiter's clock.
    pub fn now(&self) -> Moment {
        self.shared().clock.now()
    }

    /// Writes all balances to a file that only its owner can read, for [`LimiterBuilder::restore`] after a restart. Stop
    /// checking first: what is charged while it is written may be missing. Not kept are places at work, whose holders end with
    /// the program; open reservations, which stand at their estimate for good; and idempotency keys, so that a retry across the
    /// restart is charged again.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SnapshotError> {
        snapshot_file::write(path.as_ref(), &self.shared().snapshot())
    }

    /// What the table has been through.
    pub fn stats(&self) -> Stats {
        Stats::of(self.shared())
    }

    /// The time since 1970 by the wall clock; by a manual clock, its own.
    #[cfg(feature = "policy")]
    pub(crate) fn wall_time(&self) -> Duration {
        self.shared().clock.wall_time()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.default.shared
    }

    /// The clock is read, or not, by `when`. The buckets were sent for when the charges were made.
    fn decide_each<'c>(&self, charges: &[Charge], when: impl Fn() -> When<'c>, verdicts: &mut Vec<Verdict>) {
        let store = &self.shared().store;
        verdicts.clear();
        for batch in charges.chunks(BATCH) {
            let (when, base, mut last) = (when(), verdicts.len(), LastLevel::default());
            verdicts.extend(batch.iter().enumerate().map(|(index, charge)| {
                match self.accept(base + index, charge) {
                    Ok(wish) => store.decide_by(last.of(wish, store, when.moment()), wish, when),
                    Err(error) => Verdict::Invalid(error),
                }
            }));
        }
    }

    fn decide_all<'c>(&self, charges: &[Charge], when: impl FnOnce() -> When<'c>) -> Verdict {
        if let Err(error) = count(charges) {
            return Verdict::Invalid(error);
        }
        for (index, charge) in charges.iter().enumerate() {
            if let Err(error) = self.accept(index, charge) {
                return Verdict::Invalid(error);
            }
        }
        let store = &self.shared().store;
        let wishes = charges.iter().filter_map(|charge| Some((charge.wish.as_ref().ok()?, charge.breadth)));
        // Room for as few as there are: clearing more takes as long as deciding.
        match charges.len() {
            0..=1 => store.charge_all::<1>(wishes, when()),
            2..=4 => store.charge_all::<4>(wishes, when()),
            5..=8 => store.charge_all::<8>(wishes, when()),
            _ => store.charge_all::<CHARGES_MAX>(wishes, when()),
        }
    }

    /// The charges of a check whose places will be given back, if they are sound.
    pub(crate) fn accept_all<'c>(
        &self,
        charges: &'c [Charge],
    ) -> Result<impl Iterator<Item = (&'c Wish, Breadth)> + Clone + use<'c>, CheckError> {
        count(charges)?;
        for (index, charge) in charges.iter().enumerate() {
            self.accept_guarded(index, charge)?;
        }
        Ok(charges.iter().filter_map(|charge| Some((charge.wish.as_ref().ok()?, charge.breadth))))
    }

    /// The charge, if it is sound and takes no place that nobody would give back.
    #[inline]
    fn accept<'c>(&self, index: usize, charge: &'c Charge) -> Result<&'c Wish, CheckError> {
        let wish = self.accept_guarded(index, charge)?;
        if wish.takes_places { Err(CheckError::NeedsGuard { charge: index }) } else { Ok(wish) }
    }

    /// The charge, if it is sound and of this limiter: another table's bucket means nothing in this one.
    #[inline]
    fn accept_guarded<'c>(&self, index: usize, charge: &'c Charge) -> Result<&'c Wish, CheckError> {
        if charge.limiter != self.shared().serial {
            return Err(CheckError::ForeignCharge { charge: index });
        }
        charge.wish.as_ref().map_err(|error| *error)
    }
}

/// Refuses no charges, and too many.
fn count(charges: &[Charge]) -> Result<(), CheckError> {
    match charges.len() {
        0 => Err(CheckError::NoCharges),
        charges if charges > CHARGES_MAX => Err(CheckError::TooManyCharges { charges }),
        _ => Ok(()),
    }
}
