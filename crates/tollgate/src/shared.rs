//! What all handles of one limiter share, and the book of its rules.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tollgate_core::{Limit, Meter};

use crate::Breadth;
use crate::clock::Clock;
use crate::identity::{Seed, random_word};
use crate::memory::LimitId;
use crate::memory::meters::{MeterSource, Meters};
use crate::memory::store::Store;
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
    pub(crate) clock: Clock,
    pub(crate) seed: Seed,
    pub(crate) keys_max: usize,
    /// Tells this limiter's charges from another's.
    pub(crate) serial: u64,
    pub(crate) book: Mutex<Book>,
    pub(crate) waiting: Queues,
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

    /// The limit called `tier` of the rule called `rule`, which is made if it is new and set to `limit` if it is not.
    pub(crate) fn declare(
        &self,
        rule: &str,
        breadth: Breadth,
        tier: &str,
        limit: Limit,
    ) -> Result<LimitId, RuleError> {
        let mut book = self.book();
        let (id, is_new) = book.enter(rule, breadth, tier)?;
        let cell = self.store.meters.cell(id);
        if is_new {
            let rule = book.rules.get(rule).and_then(Entry::own_tier).unwrap_or(id);
            self.install(id, rule, limit);
        } else if *self.store.meters.meter(id).limit() != limit {
            cell.change(limit, || self.clock.now());
            // Those who wait are woken, which is their code, not ours: with no lock held.
            drop(book);
            self.waiting.limit_changed(id);
        }
        Ok(id)
    }

    /// Starts the meter of a new limit, at a random place so that no mark of another meter is one of its own.
    pub(crate) fn install(&self, id: LimitId, rule: LimitId, limit: Limit) {
        let now = self.clock.now();
        let meter = Meter::new(limit, now, random_word());
        self.store.meters.cell(id).install(id, rule, meter, meter.level(now).full_mark());
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
        }
    }
}

impl std::error::Error for RuleError {}
