//! The meters of a limiter's rules, read by every check and changed in place.
//!
//! Read the clock first, then the meter: the reverse lets a preempted reader run on at the old rate. A changer closes the
//! meter before it reads the clock, so whoever still read the old meter had read the clock before the change.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tollgate_core::{Algorithm, Mark, Meter, Moment, Ruler};

use crate::memory::log_room::LogRoom;
use crate::memory::slot::{Slot, Tag};
use crate::memory::{LimitId, TableFull};
use crate::seqlock::SeqLock;
use crate::sync::Patience;

/// Meters are made in groups of so many, when first needed.
const GROUP: usize = 64;

/// Where the table looks up what a mark means.
pub(crate) trait MeterSource {
    /// The ruler of a limit, as it is now.
    fn ruler(&self, limit: LimitId) -> Ruler;

    /// The meter of a limit for [`Meter::quick_level`], if nobody is changing it. Of a limit that is no token bucket, one that
    /// has no quick level.
    fn try_meter(&self, limit: LimitId) -> Option<Meter>;

    /// The rule that a limit is a tier of, by the limit of its own tier.
    fn rule(&self, limit: LimitId) -> LimitId;

    /// The bucket shared by the clients of a limit that find no room.
    fn overflow(&self, limit: LimitId) -> &Slot;

    /// Treatment of new clients of a limit when the table is full: the mode of its rule.
    fn table_full(&self, limit: LimitId) -> TableFull;

    /// The room for entries of the sliding logs of a limit's rule.
    fn log_room(&self, limit: LimitId) -> &Arc<LogRoom>;

    /// How many rules have had buckets that no newcomer can displace: their state is no mark on a meter, or their own mode is not
    /// [`TableFull::Inherit`]. Sliding logs have no buckets in the table.
    fn pinned_rules(&self) -> usize;

    /// Whether buckets of the limit may have been evicted: the mode of its rule is [`TableFull::Inherit`], or was before a change.
    fn may_have_evicted(&self, limit: LimitId) -> bool;
}

/// All meters of one limiter.
#[derive(Debug)]
pub(crate) struct Meters {
    groups: Box<[OnceLock<Group>]>,
    /// The mode of rules that have none of their own.
    table_full: TableFull,
    /// Rules whose cell says [`PINNED`].
    pinned_rules: AtomicUsize,
    /// Entries of the sliding logs of a rule without a bound of its own.
    log_entries_max: usize,
}

/// [`GROUP`] meters.
type Group = Box<[Arc<MeterCell>]>;

/// One meter, shared by all threads.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct MeterCell {
    words: SeqLock<{ Ruler::WORDS }>,
    overflow: Slot,
    /// The limit of the rule's own tier.
    rule: OnceLock<LimitId>,
    /// The rule's own [`TableFull`] mode as [`mode_word`] writes it, [`MAY_HAVE_EVICTED`] and [`PINNED`]. Used in the rule's own tier only.
    table_full: AtomicU8,
    /// Used in the rule's own tier only.
    log_room: Arc<LogRoom>,
    /// Held by whoever changes the meter.
    changing: Mutex<()>,
}

/// Bit of [`MeterCell::table_full`]: buckets of the rule may have been evicted before its mode changed.
const MAY_HAVE_EVICTED: u8 = 0x10;
/// Bit of [`MeterCell::table_full`]: the rule has had buckets that no newcomer can displace.
const PINNED: u8 = 0x20;
/// Bits of [`MeterCell::table_full`] that [`mode_word`] writes.
const MODE: u8 = 0x0f;

/// A rule's own mode in a cell; 0 if it has none.
const fn mode_word(mode: Option<TableFull>) -> u8 {
    match mode {
        None => 0,
        Some(TableFull::Inherit) => 1,
        Some(TableFull::DenyNew) => 2,
        Some(TableFull::SharedOverflow) => 3,
    }
}

impl Meters {
    /// No meters yet; rules without a mode or a bound of their own have these.
    pub(crate) fn new(table_full: TableFull, log_entries_max: usize) -> Meters {
        let groups = (0..=LimitId::COUNT_MAX / GROUP).map(|_| OnceLock::new()).collect();
        Meters { groups, table_full, pinned_rules: AtomicUsize::new(0), log_entries_max }
    }

    /// Entries of the sliding logs of a rule without a bound of its own.
    pub(crate) fn log_entries_max(&self) -> usize {
        self.log_entries_max
    }

    /// Puts the first ruler of `limit`, a tier of `rule`, in place, and its overflow bucket.
    pub(crate) fn install(&self, limit: LimitId, rule: LimitId, ruler: Ruler, overflow: Mark) {
        self.cell(limit).install(limit, rule, ruler, overflow);
        if !ruler.is_inheritable() && ruler.log().is_none() {
            self.note_pinned(rule);
        }
    }

    /// Sets the mode of a limit's rule; `None` is the limiter's own.
    pub(crate) fn set_table_full(&self, limit: LimitId, mode: Option<TableFull>) {
        let rule = self.rule(limit);
        if mode.is_some_and(|mode| mode != TableFull::Inherit) && self.ruler(rule).log().is_none() {
            self.note_pinned(rule);
        }
        let evicted = if self.may_have_evicted(limit) { MAY_HAVE_EVICTED } else { 0 };
        let cell = &self.cell(rule).table_full;
        let pinned = cell.load(Ordering::Relaxed) & PINNED;
        cell.store(mode_word(mode) | evicted | pinned, Ordering::Relaxed);
    }

    fn note_pinned(&self, rule: LimitId) {
        if self.cell(rule).table_full.fetch_or(PINNED, Ordering::Relaxed) & PINNED == 0 {
            self.pinned_rules.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes that buckets of a limit's rule may have been evicted in an earlier run.
    pub(crate) fn note_evictions(&self, limit: LimitId) {
        self.cell(self.rule(limit)).table_full.fetch_or(MAY_HAVE_EVICTED, Ordering::Relaxed);
    }

    /// The cell of a limit, made on first use.
    #[inline]
    pub(crate) fn cell(&self, limit: LimitId) -> &Arc<MeterCell> {
        let index = usize::from(limit.get());
        let cells = || (0..GROUP).map(|_| Arc::new(MeterCell::new(self.log_entries_max))).collect();
        let group = self.groups[index / GROUP].get_or_init(cells);
        &group[index % GROUP]
    }
}

impl MeterSource for Meters {
    fn ruler(&self, limit: LimitId) -> Ruler {
        self.cell(limit).read()
    }

    #[inline]
    fn try_meter(&self, limit: LimitId) -> Option<Meter> {
        self.cell(limit).try_read()
    }

    fn rule(&self, limit: LimitId) -> LimitId {
        *self.cell(limit).rule.get().unwrap_or(&limit)
    }

    fn overflow(&self, limit: LimitId) -> &Slot {
        &self.cell(limit).overflow
    }

    fn table_full(&self, limit: LimitId) -> TableFull {
        match self.cell(self.rule(limit)).table_full.load(Ordering::Relaxed) & MODE {
            1 => TableFull::Inherit,
            2 => TableFull::DenyNew,
            3 => TableFull::SharedOverflow,
            _ => self.table_full,
        }
    }

    fn log_room(&self, limit: LimitId) -> &Arc<LogRoom> {
        &self.cell(self.rule(limit)).log_room
    }

    fn pinned_rules(&self) -> usize {
        self.pinned_rules.load(Ordering::Relaxed)
    }

    fn may_have_evicted(&self, limit: LimitId) -> bool {
        let cell = self.cell(self.rule(limit));
        self.table_full(limit) == TableFull::Inherit
            || cell.table_full.load(Ordering::Relaxed) & MAY_HAVE_EVICTED != 0
    }
}

impl MeterCell {
    /// A cell without a ruler, under which nothing is likely, and with room for so many entries of sliding logs.
    pub(crate) fn new(log_entries_max: usize) -> MeterCell {
        MeterCell {
            words: SeqLock::new([0; Ruler::WORDS]),
            overflow: Slot::free(),
            rule: OnceLock::new(),
            table_full: AtomicU8::new(mode_word(None)),
            log_room: Arc::new(LogRoom::new(log_entries_max)),
            changing: Mutex::new(()),
        }
    }

    /// Puts the first ruler of `limit`, a tier of `rule`, in place, and its overflow bucket.
    fn install(&self, limit: LimitId, rule: LimitId, ruler: Ruler, overflow: Mark) {
        self.rule.get_or_init(|| rule);
        self.overflow.retag(Tag::overflow(limit));
        self.overflow.release(overflow);
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.words.write(|_| ruler.words());
    }

    /// The meter for [`Meter::quick_level`], if nobody is changing it.
    #[inline]
    pub(crate) fn try_read(&self) -> Option<Meter> {
        self.words.try_read().map(Meter::from_quick_words)
    }

    /// The ruler as it is, once whoever is changing it is done.
    pub(crate) fn read(&self) -> Ruler {
        let patience = Patience::default();
        loop {
            match self.words.try_read() {
                Some(words) => return Ruler::from_words(words),
                None => patience.wait(),
            }
        }
    }

    /// Continues the ruler under another limit, from the moment that `clock` gives once no reader can see the old one. Whether
    /// its buckets mean something under that one; if not, all stays as it is.
    pub(crate) fn change(&self, algorithm: Algorithm, clock: impl FnOnce() -> Moment) -> bool {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = false;
        self.words.write(|words| match Ruler::from_words(words).change(algorithm, clock()) {
            Some(next) => {
                changed = true;
                next.words()
            }
            None => words,
        });
        changed
    }
}
