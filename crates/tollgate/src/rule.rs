//! A rule: a set of buckets, one for each key, under one limit.

use std::fmt;
use std::sync::Arc;

use tollgate_core::{Algorithm, Cost, Moment, Span};

use crate::identity::{BucketId, Namespace};
use crate::memory::LimitId;
use crate::memory::meters::{MeterCell, MeterSource};
use crate::memory::store::{Ask, When};
use crate::memory::wish::Wish;
use crate::shared::{RuleError, Shared};
use crate::{CheckError, Key, TableFull, Verdict};

/// How many clients share one bucket of a rule. A check over several buckets takes them from narrow to broad, so that the
/// one everybody shares is never held while others wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Breadth {
    /// One client: a user, an API key, an address.
    Client,
    /// Many clients: an organisation, an endpoint, a network prefix.
    Group,
    /// All of them: the global limit.
    Everyone,
}

/// A handle on one rule of a [`crate::Limiter`]. Cheap to clone; clones share the buckets.
#[derive(Clone)]
pub struct Rule {
    pub(crate) shared: Arc<Shared>,
    namespace: Namespace,
    limit: LimitId,
    /// What the likely check reads. Of a handle that leaves a share alone, an empty one: no such check is likely.
    quick: Arc<MeterCell>,
    breadth: Breadth,
    name: Arc<str>,
    /// Percent of every bucket that checks leave alone.
    left_alone: u8,
    /// Whether checks take places, which someone must give back.
    takes_places: bool,
}

/// What one check asks of one bucket. Small and `Copy`: the key is hashed when the charge is made, not kept. Best made just
/// before it is checked: the bucket is on its way from memory meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Charge {
    pub(crate) wish: Result<Wish, CheckError>,
    pub(crate) breadth: Breadth,
    pub(crate) limiter: u64,
}

#[cfg(feature = "policy")]
impl Charge {
    /// What it asks for; nothing if it is at fault.
    pub(crate) fn cost(&self) -> Cost {
        self.wish.as_ref().map_or(Cost::micros(0), |wish| wish.cost)
    }

    /// A number that is the same for the same key of the same rule.
    pub(crate) fn identity(&self) -> u64 {
        self.wish.as_ref().map_or(0, |wish| wish.id.fingerprint)
    }
}

impl Rule {
    pub(crate) fn declare(
        shared: &Arc<Shared>,
        name: &str,
        breadth: Breadth,
        tier: &str,
        limit: Algorithm,
    ) -> Result<Rule, RuleError> {
        let id = shared.declare(name, breadth, tier, limit)?;
        Ok(Rule::handle(Arc::clone(shared), name, breadth, id))
    }

    /// A handle on a rule that is in the book.
    pub(crate) fn handle(shared: Arc<Shared>, name: &str, breadth: Breadth, limit: LimitId) -> Rule {
        let namespace = shared.seed.namespace(name);
        let quick = Arc::clone(shared.store.meters.cell(limit));
        let takes_places = quick.read().is_of_places();
        Rule { shared, namespace, limit, quick, breadth, name: Arc::from(name), left_alone: 0, takes_places }
    }

    /// Asks for one token from the bucket of `key`.
    #[inline]
    pub fn check(&self, key: impl Key) -> Verdict {
        self.check_n(key, Cost::ONE)
    }

    /// Asks for `cost` from the bucket of `key`.
    #[inline]
    pub fn check_n(&self, key: impl Key, cost: Cost) -> Verdict {
        let hash = match self.hash(&key, cost) {
            Ok(hash) => hash,
            Err(error) => return Verdict::Invalid(error),
        };
        let wish = self.wish_of(hash, cost);
        let Shared { store, clock, .. } = &*self.shared;
        // The clock is read while the bucket is on its way, and the meter after the clock. Of a handle that leaves a share alone
        // the meter is none, so no share need be looked at here.
        let likely = store.table.likely(wish.id);
        let now = clock.now();
        let level = self.quick.try_read().and_then(|meter| meter.quick_level(now));
        match likely.charge(&wish, level) {
            Some(remaining) => Verdict::Admit { remaining, delay: Span::ZERO },
            None => self.check_fully(hash, cost, now),
        }
    }

    /// The check in full. Apart, and with few words to hand over, so that the likely one has the registers to itself.
    #[cold]
    #[inline(never)]
    fn check_fully(&self, hash: u64, cost: Cost, now: Moment) -> Verdict {
        if self.takes_places {
            return Verdict::Invalid(CheckError::NeedsGuard { charge: 0 });
        }
        let ask = self.wish_of(hash, cost).ask(&self.shared.store.meters);
        self.shared.store.charge(&ask, When::Read(now, &self.shared.clock))
    }

    /// Asks for `cost` from the bucket of `key` at a moment of the caller's choosing.
    ///
    /// Moments may jump about: whatever the order, no interval of a token bucket admits more than `burst + rate · d`, as long as the
    /// limit stays the same and no step back is longer than it takes to mint 10^12 tokens. A sliding counter bears steps back of up
    /// to 16 windows, a limit on concurrency of 8 timeouts; to a sliding log moments must not run back. They share one time line
    /// with the limiter's clock and with [`Rule::set_limit_at`]; a moment far ahead binds newcomers until then, if room had to be
    /// made for it.
    pub fn check_at(&self, key: impl Key, cost: Cost, now: Moment) -> Verdict {
        match self.wish(&key, cost) {
            Ok(_) if self.takes_places => Verdict::Invalid(CheckError::NeedsGuard { charge: 0 }),
            Ok(wish) => self.shared.store.decide(&wish, When::Given(now)),
            Err(error) => Verdict::Invalid(error),
        }
    }

    /// What a check of one token would be told. Spends nothing.
    pub fn peek(&self, key: impl Key) -> Verdict {
        self.peek_n(key, Cost::ONE)
    }

    /// What a check of `cost` would be told. Spends nothing.
    pub fn peek_n(&self, key: impl Key, cost: Cost) -> Verdict {
        match self.ask(&key, cost) {
            Ok(ask) => self.shared.store.peek(&ask, When::Read(self.shared.clock.now(), &self.shared.clock)),
            Err(error) => Verdict::Invalid(error),
        }
    }

    /// What a check of `cost` at `now` would be told. Spends nothing.
    pub fn peek_at(&self, key: impl Key, cost: Cost, now: Moment) -> Verdict {
        match self.ask(&key, cost) {
            Ok(ask) => self.shared.store.peek(&ask, When::Given(now)),
            Err(error) => Verdict::Invalid(error),
        }
    }

    /// One token from the bucket of `key`, to be asked for together with others.
    #[inline]
    pub fn charge(&self, key: impl Key) -> Charge {
        self.charge_n(key, Cost::ONE)
    }

    /// `cost` from the bucket of `key`, to be asked for together with others.
    #[inline]
    pub fn charge_n(&self, key: impl Key, cost: Cost) -> Charge {
        let wish = self.wish(&key, cost);
        if let Ok(wish) = wish {
            // Sends for the bucket.
            self.shared.store.table.likely(wish.id);
        }
        Charge { wish, breadth: self.breadth, limiter: self.shared.serial }
    }

    /// `cost` from a bucket that is kept elsewhere, so that its key need not be hashed: for lists that are told by others what the
    /// bucket holds.
    #[cfg(feature = "policy")]
    #[inline]
    pub(crate) fn charge_elsewhere(&self, cost: Cost) -> Charge {
        let wish = if cost.as_micros() == 0 { Err(CheckError::ZeroCost) } else { Ok(self.wish_of(0, cost)) };
        Charge { wish, breadth: self.breadth, limiter: self.shared.serial }
    }

    /// Sends for the bucket of `key`, for a check that comes soon.
    #[cfg(feature = "policy")]
    #[inline]
    pub(crate) fn send_for(&self, key: impl Key) {
        if let Ok(hash) = self.namespace.hash(&key) {
            self.shared.store.table.likely(BucketId::new(hash, self.shared.store.table.windows()));
        }
    }

    /// The same buckets under another limit: for keys that have limits of their own. A client that moves from one tier to
    /// another takes its balance along, at most the new burst. Declaring a tier that exists sets its limit, as
    /// [`Rule::set_limit`] does.
    ///
    /// Tiers are for clients that seldom change theirs. A client that has become full on its tier may be forgotten, and then is
    /// full on whatever tier it returns on: each change may gain it up to the new burst, once it has filled up on the old tier.
    /// Without room in the table ([`crate::TableFull::SharedOverflow`]) it draws on one shared bucket for each tier.
    ///
    /// While somebody waits for the key ([`Rule::acquire`]), what was booked takes as long on another tier as it would have on its
    /// own, so that nobody is overtaken: on all its tiers together a key gets at most the larger burst, and the larger rate. Nothing
    /// can be given to a key, by whatever means, while clients of several tiers wait for it, or while it stands under another tier
    /// than those who wait. A limit that is changed meanwhile counts from then on for those of its own tier only: checks of that
    /// tier may overtake those who wait on another, by a burst.
    pub fn tier(&self, name: &str, limit: impl Into<Algorithm>) -> Result<Rule, RuleError> {
        Rule::declare(&self.shared, &self.name, self.breadth, name, limit.into())
    }

    /// Changes the limit from now on, for every key at once. Balances carry over: what was refilled was refilled at the old
    /// rate, a smaller burst clamps, a larger one is room to refill into. Refuses another algorithm, under which the buckets
    /// would mean nothing.
    pub fn set_limit(&self, limit: impl Into<Algorithm>) -> Result<(), RuleError> {
        self.shared.change(self.limit, limit.into(), || self.shared.clock.now())
    }

    /// Changes the limit from `now` on, which should not lie before moments that were checked already: they would be minted
    /// anew.
    pub fn set_limit_at(&self, limit: impl Into<Algorithm>, now: Moment) -> Result<(), RuleError> {
        self.shared.change(self.limit, limit.into(), || now)
    }

    /// Sets what happens to new clients of this rule, on all its tiers, when the table is full; `None` is the limiter's own
    /// mode ([`crate::LimiterBuilder::table_full`]). May change while the rule is in use.
    pub fn set_table_full(&self, mode: Option<TableFull>) {
        self.shared.store.meters.set_table_full(self.limit, mode);
    }

    /// Sets how many charges the sliding logs of this rule remember together, instead of
    /// [`crate::LimiterBuilder::log_entries_max`]. May change while the rule is in use.
    pub fn set_log_entries_max(&self, entries: usize) {
        self.shared.store.meters.log_room(self.limit).set_entries_max(entries);
    }

    /// How many charges the sliding logs of this rule remember now, and how many they may.
    pub fn log_entries(&self) -> (usize, usize) {
        let Shared { store, clock, .. } = &*self.shared;
        store.logs.forget_empty(clock.now());
        let room = store.meters.log_room(self.limit);
        (room.entries(), room.entries_max())
    }

    /// The limit in force, with its algorithm.
    pub fn limit(&self) -> Algorithm {
        self.cell().read().algorithm()
    }

    /// The rule's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many clients share one of its buckets.
    pub fn breadth(&self) -> Breadth {
        self.breadth
    }

    /// A handle on the same buckets whose checks leave alone so many percent of them.
    pub(crate) fn keeping(&self, percent: u8) -> Rule {
        let quick = if percent == 0 { Arc::clone(self.cell()) } else { Arc::new(MeterCell::new(0)) };
        Rule { quick, left_alone: percent, ..self.clone() }
    }

    fn cell(&self) -> &Arc<MeterCell> {
        self.shared.store.meters.cell(self.limit)
    }

    #[inline]
    pub(crate) fn ask(&self, key: &impl Key, cost: Cost) -> Result<Ask, CheckError> {
        self.wish(key, cost).map(|wish| wish.ask(&self.shared.store.meters))
    }

    #[inline]
    fn wish(&self, key: &impl Key, cost: Cost) -> Result<Wish, CheckError> {
        self.hash(key, cost).map(|hash| self.wish_of(hash, cost))
    }

    #[inline]
    fn hash(&self, key: &impl Key, cost: Cost) -> Result<u64, CheckError> {
        if cost.as_micros() == 0 { Err(CheckError::ZeroCost) } else { self.namespace.hash(key) }
    }

    #[inline]
    fn wish_of(&self, hash: u64, cost: Cost) -> Wish {
        let id = BucketId::new(hash, self.shared.store.table.windows());
        let (left_alone, takes_places) = (self.left_alone, self.takes_places);
        Wish { id, cost, limit: self.limit, left_alone, takes_places }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("name", &self.name).field("limit", &self.limit()).finish_non_exhaustive()
    }
}
