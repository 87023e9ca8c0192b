//! The meters of a limiter's rules, read by every check and changed in place.
//!
//! Read the clock first, then the meter: the reverse lets a preempted reader run on at the old rate. A changer closes the
//! meter before it reads the clock, so whoever still read the old meter had read the clock before the change.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tollgate_core::{Limit, Mark, Meter, Moment};

use crate::memory::LimitId;
use crate::memory::slot::{Slot, Tag};
use crate::seqlock::SeqLock;
use crate::sync::Patience;

/// Meters are made in groups of so many, when first needed.
const GROUP: usize = 64;

/// Where the table looks up what a mark means.
pub(crate) trait MeterSource {
    /// The meter of a limit, as it is now.
    fn meter(&self, limit: LimitId) -> Meter;

    /// The meter of a limit, if nobody is changing it.
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
    words: SeqLock<{ Meter::WORDS }>,
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
    #[inline]
    fn meter(&self, limit: LimitId) -> Meter {
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
    fn new() -> MeterCell {
        MeterCell {
            words: SeqLock::new([0; Meter::WORDS]),
            overflow: Slot::free(),
            rule: OnceLock::new(),
            changing: Mutex::new(()),
        }
    }

    /// Puts the first meter of `limit`, a tier of `rule`, in place, and its overflow bucket.
    pub(crate) fn install(&self, limit: LimitId, rule: LimitId, meter: Meter, overflow: Mark) {
        self.rule.get_or_init(|| rule);
        self.overflow.retag(Tag::overflow(limit));
        self.overflow.release(overflow);
        self.write(|_| meter);
    }

    /// The meter with its residue, which a snapshot must not lose.
    pub(crate) fn read_whole(&self) -> Meter {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = Patience::default();
        loop {
            match self.words.try_read() {
                Some(words) => return Meter::from_words(words),
                None => patience.wait(),
            }
        }
    }

    /// The meter as it is, if nobody is changing it. Its residue is left out: only a change needs it.
    #[inline]
    pub(crate) fn try_read(&self) -> Option<Meter> {
        self.words.try_read().map(|[a, b, c, d, e, f, g, h]| Meter::from_words([a, b, c, d, e, f, g, h, 0]))
    }

    /// The meter as it is.
    #[inline]
    pub(crate) fn read(&self) -> Meter {
        self.try_read().unwrap_or_else(|| self.read_patiently())
    }

    /// The meter, once whoever is changing it is done.
    #[cold]
    fn read_patiently(&self) -> Meter {
        let patience = Patience::default();
        loop {
            match self.try_read() {
                Some(meter) => return meter,
                None => patience.wait(),
            }
        }
    }

    /// Continues the meter under another limit, from the moment that `clock` gives once no reader can see the old one.
    pub(crate) fn change(&self, limit: Limit, clock: impl FnOnce() -> Moment) {
        self.write(|meter| meter.change(limit, clock()));
    }

    fn write(&self, next: impl FnOnce(Meter) -> Meter) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.words.write(|words| next(Meter::from_words(words)).words());
    }
}
