//! The meters of a limiter's rules, read by every check and changed in place.
//!
//! Read the clock first, then the meter: the reverse lets a preempted reader run on at the old rate. A changer closes the
//! meter before it reads the clock, so whoever still read the old meter had read the clock before the change.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tollgate_core::{Algorithm, Mark, Meter, Moment, Ruler};

use crate::memory::LimitId;
use crate::memory::slot::{Slot, Tag};
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
}

/// All meters of one limiter.
#[derive(Debug)]
pub(crate) struct Meters {
    groups: Box<[OnceLock<Group>]>,
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
    /// Held by whoever changes the meter.
    changing: Mutex<()>,
}

impl Meters {
    pub(crate) fn new() -> Meters {
        Meters { groups: (0..=LimitId::COUNT_MAX / GROUP).map(|_| OnceLock::new()).collect() }
    }

    /// The cell of a limit, made on first use.
    #[inline]
    pub(crate) fn cell(&self, limit: LimitId) -> &Arc<MeterCell> {
        let index = usize::from(limit.get());
        let cells = || (0..GROUP).map(|_| Arc::new(MeterCell::new())).collect();
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
}

impl MeterCell {
    /// A cell without a ruler, under which nothing is likely.
    pub(crate) fn new() -> MeterCell {
        MeterCell {
            words: SeqLock::new([0; Ruler::WORDS]),
            overflow: Slot::free(),
            rule: OnceLock::new(),
            changing: Mutex::new(()),
        }
    }

    /// Puts the first ruler of `limit`, a tier of `rule`, in place, and its overflow bucket.
    pub(crate) fn install(&self, limit: LimitId, rule: LimitId, ruler: Ruler, overflow: Mark) {
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
