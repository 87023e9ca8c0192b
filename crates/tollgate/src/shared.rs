//! What all handles of one limiter share, and the book of its rules.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tollgate_core::{Algorithm, Moment, Ruler, Start, Tokens};

use crate::Breadth;
use crate::clock::Clock;
use crate::expiring::Expiring;
use crate::identity::{Seed, random_word};
use crate::memory::LimitId;
use crate::memory::explicit::store::ExplicitStore;
use crate::memory::meters::{MeterSource, Meters};
use crate::memory::store::Store;
use crate::once::Remembered;
use crate::reservation::Open;
use crate::reservation_id::{ReservationId, ReservationIds};
use crate::snapshot::SavedTier;
use crate::waiting::Queues;

/// The name of the rule that every limiter has.
pub(crate) const DEFAULT_RULE: &str = "default";
/// Longest name of a rule or tier, in bytes.
pub const NAME_BYTES_MAX: usize = 128;
/// Most limits (rules and their tiers) in one limiter.
pub const LIMITS_MAX: usize = LimitId::COUNT_MAX;

/// One limiter, behind its handles.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Store<Meters>,
    /// The buckets whose limits come with the call.
    pub(crate) explicit: ExplicitStore,
    pub(crate) clock: Clock,
    pub(crate) seed: Seed,
    pub(crate) keys_max: usize,
    pub(crate) explicit_keys_max: usize,
    /// Tells this limiter's charges from another's.
    pub(crate) serial: u64,
    pub(crate) book: Mutex<Book>,
    pub(crate) waiting: Queues,
    /// How far into debt a commit may put a bucket; its full size if `None`.
    pub(crate) debt_max: Option<Tokens>,
    pub(crate) reservations: Expiring<ReservationId, Open>,
    pub(crate) reservation_ids: ReservationIds,
    pub(crate) remembered: Remembered,
}

/// The rules by name. Read when a rule is declared, never by a check.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) rules: HashMap<String, Entry>,
    limits: u16,
}

/// One rule: how broad, and the limit of each tier; the rule's own tier has the empty name.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) breadth: Breadth,
    pub(crate) tiers: HashMap<String, LimitId>,
}

impl Shared {
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of every limit: of its rule, and of its tier.
    pub(crate) fn names(&self) -> HashMap<LimitId, (String, String)> {
        let book = self.book();
        let of_rule = |(rule, entry): (&String, &Entry)| {
            let names = |(tier, id): (&String, &LimitId)| (*id, (rule.clone(), tier.clone()));
            entry.tiers.iter().map(names).collect::<Vec<_>>()
        };
        book.rules.iter().flat_map(of_rule).collect()
    }

    /// The limit called `tier` of the rule called `rule`, which is made if it is new and set to `limit` if it is not.
    pub(crate) fn declare(
        &self,
        rule: &str,
        breadth: Breadth,
        tier: &str,
        limit: Algorithm,
    ) -> Result<LimitId, RuleError> {
        let mut book = self.book();
        if let Some(own) = book.rules.get(rule).and_then(Entry::own_tier) {
            // Its buckets go from tier to tier, so every tier must be able to read them.
            self.sibling(own, limit).ok_or_else(|| self.conflict(own, limit))?;
        }
        let (id, is_new) = book.enter(rule, breadth, tier)?;
        if is_new {
            let rule = book.rules.get(rule).and_then(Entry::own_tier).unwrap_or(id);
            self.install(id, rule, limit);
            return Ok(id);
        }
        drop(book);
        self.change(id, limit, || self.clock.now()).map(|()| id)
    }

    /// The limit of the rule called `rule`, which is made if it is new; if it is not, it stays as it is, but could be set to
    /// `limit`.
    #[cfg(feature = "policy")]
    pub(crate) fn declare_for_later(
        &self,
        rule: &str,
        breadth: Breadth,
        limit: Algorithm,
    ) -> Result<LimitId, RuleError> {
        let mut book = self.book();
        let (id, is_new) = book.enter(rule, breadth, "")?;
        if is_new {
            self.install(id, id, limit);
        } else if self.store.meters.cell(id).read().change(limit, self.clock.now()).is_none() {
            return Err(self.conflict(id, limit));
        }
        Ok(id)
    }

    /// Changes a limit from the moment that `clock` gives.
    pub(crate) fn change(
        &self,
        id: LimitId,
        limit: Algorithm,
        clock: impl FnOnce() -> Moment,
    ) -> Result<(), RuleError> {
        let cell = self.store.meters.cell(id);
        if cell.read().algorithm() == limit {
            return Ok(());
        }
        if !cell.change(limit, clock) {
            return Err(self.conflict(id, limit));
        }
        // Wakes whoever waits, which is their code, not ours: the caller must hold no lock.
        self.waiting.limit_changed(id);
        Ok(())
    }

    /// Starts the ruler of a new limit of a rule.
    pub(crate) fn install(&self, id: LimitId, rule: LimitId, limit: Algorithm) {
        let ruler = if id == rule { None } else { self.sibling(rule, limit) };
        let ruler = ruler.unwrap_or_else(|| Ruler::new(limit, self.start()));
        let full = ruler.reading(self.clock.now()).full_mark();
        self.store.meters.install(id, rule, ruler, full);
    }

    /// A ruler for another tier of the rule whose own is `own`, if its buckets mean something there.
    fn sibling(&self, own: LimitId, limit: Algorithm) -> Option<Ruler> {
        self.store.meters.ruler(own).sibling(limit, self.start())
    }

    /// Now, and at a random place so that no mark of another meter is one of this one.
    fn start(&self) -> Start {
        Start { now: self.clock.now(), offset: random_word(), origin: self.clock.wall_origin() }
    }

    fn conflict(&self, id: LimitId, asked: Algorithm) -> RuleError {
        RuleError::AlgorithmConflict { is: self.store.meters.ruler(id).algorithm(), asked }
    }
}

impl Entry {
    /// The limit of the rule's own tier.
    pub(crate) fn own_tier(&self) -> Option<LimitId> {
        self.tiers.get("").copied()
    }
}

impl Book {
    /// A book with the default rule alone, whose limit is [`LimitId::FIRST`].
    pub(crate) fn fresh() -> Book {
        let entry =
            Entry { breadth: Breadth::Client, tiers: HashMap::from([(String::new(), LimitId::FIRST)]) };
        Book { rules: HashMap::from([(DEFAULT_RULE.to_owned(), entry)]), limits: LimitId::FIRST.get() }
    }

    /// The limit of the default rule.
    pub(crate) fn default_limit(&self) -> Option<LimitId> {
        let entry = self.rules.get(DEFAULT_RULE).filter(|entry| entry.breadth == Breadth::Client)?;
        entry.own_tier()
    }

    /// Enters a tier under the number it had; `None` if its name is taken or its rule has another breadth.
    pub(crate) fn restore(&mut self, tier: &SavedTier) -> Option<()> {
        self.limits = self.limits.max(tier.limit.get());
        let entry = self.rules.entry(tier.rule.clone());
        let entry = entry.or_insert_with(|| Entry { breadth: tier.breadth, tiers: HashMap::new() });
        let is_new = entry.tiers.insert(tier.name.clone(), tier.limit).is_none();
        (is_new && entry.breadth == tier.breadth).then_some(())
    }

    /// The limit of a tier, and whether it is new.
    pub(crate) fn enter(
        &mut self,
        rule: &str,
        breadth: Breadth,
        tier: &str,
    ) -> Result<(LimitId, bool), RuleError> {
        for name in [rule, tier] {
            if name.len() > NAME_BYTES_MAX {
                return Err(RuleError::NameTooLong { bytes: name.len() });
            }
        }
        if rule.is_empty() {
            return Err(RuleError::EmptyName);
        }
        if let Some(entry) = self.rules.get(rule) {
            if entry.breadth != breadth {
                return Err(RuleError::BreadthConflict { is: entry.breadth, asked: breadth });
            }
            if let Some(id) = entry.tiers.get(tier) {
                return Ok((*id, false));
            }
        }
        let id = self.limits.checked_add(1).and_then(LimitId::new).ok_or(RuleError::TooManyLimits)?;
        self.limits = id.get();
        let entry =
            self.rules.entry(rule.to_owned()).or_insert_with(|| Entry { breadth, tiers: HashMap::new() });
        entry.tiers.insert(tier.to_owned(), id);
        Ok((id, true))
    }
}

/// Why a rule cannot be declared. Each message names the field, the value and the cure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleError {
    /// A rule without a name.
    EmptyName,
    /// A name above [`NAME_BYTES_MAX`].
    NameTooLong {
        /// Its length.
        bytes: usize,
    },
    /// More than [`LIMITS_MAX`] limits.
    TooManyLimits,
    /// A rule declared again with another breadth.
    BreadthConflict {
        /// The breadth it has.
        is: Breadth,
        /// The breadth it was declared with now.
        asked: Breadth,
    },
    /// A limit under which the rule's buckets mean nothing: another algorithm, another length of a sliding window, another
    /// timeout, or a sliding counter raised beyond what its word can count.
    AlgorithmConflict {
        /// The limit it has.
        is: Algorithm,
        /// The limit that was asked for.
        asked: Algorithm,
    },
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyName => {
                write!(f, "`name` is empty; name the rule, for instance after what it protects")
            }
            Self::NameTooLong { bytes } => {
                write!(f, "`name` has {bytes} bytes; use at most {NAME_BYTES_MAX}")
            }
            Self::TooManyLimits => write!(
                f,
                "`limit` would be one of more than {LIMITS_MAX} in this limiter; let clients share tiers, or use a second \
                 limiter"
            ),
            Self::BreadthConflict { is, asked } => write!(
                f,
                "`breadth` is {asked:?}, but the rule was declared with {is:?}, and checks under way rely on that; declare it \
                 under another name"
            ),
            Self::AlgorithmConflict { is, asked } if is.name() == asked.name() => write!(
                f,
                "`limit` has another window or timeout than the rule's {}, or a quota too large for the steps it counts in; its \
                 buckets cannot be carried over, so declare it under another name",
                is.name()
            ),
            Self::AlgorithmConflict { is, asked } => write!(
                f,
                "`limit` is a {}, but the rule is a {}, and its buckets mean nothing there; declare it under another name",
                asked.name(),
                is.name()
            ),
        }
    }
}

impl std::error::Error for RuleError {}
