//! A small world for the loom proofs: the real store over fixed meters, with keys put where the test wants them.
//!
//! Compiled only under `--cfg loom`, where a window has two slots.

pub mod waiting;

use std::cell::Cell;

use tollgate_core::{Algorithm, Burst, Cost, Demand, Limit, Mark, Meter, Moment, Rate, Ruler, Start};

use crate::identity::BucketId;
use crate::memory::LimitId;
use crate::memory::meters::MeterSource;
use crate::memory::slot::{Slot, Tag};
use crate::memory::store::{Ask, Store, When};
use crate::memory::table::Table;
use crate::seqlock::SeqLock;
use crate::{Breadth, Crowding, Verdict};

/// Nanoseconds in which one token is minted: a clock error, so that one tick is the least that tells clocks apart.
const TICK_NANOS: u64 = 100_000;

/// A store in which every bucket holds one token and the rule mints one in every tick.
pub struct World(Store<OneMeter>);

/// A bucket: a letter, and the window it lives in.
pub type Letter = (char, u32);

struct OneMeter {
    ruler: Ruler,
    overflow: Slot,
}

impl MeterSource for OneMeter {
    fn ruler(&self, _limit: LimitId) -> Ruler {
        self.ruler
    }

    fn try_meter(&self, _limit: LimitId) -> Option<Meter> {
        self.ruler.meter()
    }

    fn rule(&self, limit: LimitId) -> LimitId {
        limit
    }

    fn overflow(&self, _limit: LimitId) -> &Slot {
        &self.overflow
    }
}

fn at(tick: u64) -> Moment {
    Moment::from_nanos(tick * TICK_NANOS)
}

fn ask((letter, window): Letter) -> Ask {
    let id = BucketId { fingerprint: u64::from(u32::from(letter)), windows: [window; 2] };
    Ask { id, limit: LimitId::FIRST, demand: Demand::of(Cost::ONE) }
}

impl World {
    /// An empty world of `windows` windows, two slots each.
    pub fn new(windows: usize, crowding: Crowding) -> World {
        crate::sync::under_loom::begin();
        let limit = Limit::new(Rate::per_second(1_000_000_000 / TICK_NANOS), Burst::tokens(1)).unwrap();
        let start = Start { now: Moment::from_nanos(0), offset: 77, origin: 0 };
        let ruler = Ruler::new(Algorithm::TokenBucket(limit), start);
        let meter = OneMeter { ruler, overflow: Slot::free() };
        World(Store::new(Table::for_keys(windows * 2), crowding, meter, 0))
    }

    /// Puts a bucket into a slot of its window, last charged at `tick`.
    pub fn put(&self, letter: Letter, slot: usize, tick: u64) {
        let level = self.0.meters.ruler.reading(at(tick));
        let slot = &self.0.table.window(letter.1)[slot];
        slot.retag(Tag::new(ask(letter).id.fingerprint, LimitId::FIRST));
        slot.release(level.mark_of(0));
    }

    /// One check.
    pub fn check(&self, letter: Letter, tick: u64) -> Verdict {
        self.0.decide(&ask(letter), When::Given(at(tick)))
    }

    /// One check over several buckets, given with their breadths.
    pub fn check_all(&self, letters: &[(Letter, Breadth)], tick: u64) -> Verdict {
        let asks: Vec<_> = letters.iter().map(|(letter, breadth)| (ask(*letter), *breadth)).collect();
        self.0.charge_all::<4>(asks, When::Given(at(tick)))
    }

    /// In how many slots a bucket lives, and whether any slot of its window is still held.
    pub fn places(&self, letter: Letter) -> usize {
        let slots = self.0.table.window(letter.1);
        slots.iter().filter(|slot| slot.tag().is_of(ask(letter).id.fingerprint)).count()
    }

    /// Whether the bucket has been charged, at `tick`. Panics if its slot is held: no check is under way.
    pub fn is_spent(&self, letter: Letter, tick: u64) -> bool {
        let Some((slot, tag)) = self.0.table.find(ask(letter).id) else { return false };
        let mark: Mark = slot.mark(tag).expect("nobody holds a slot when all checks are done");
        self.0.meters.ruler.reading(at(tick)).balance(mark) == 0
    }
}

/// Two words under the sequence lock that meters and the clock use.
pub struct Pair(SeqLock<2>);

impl Pair {
    /// A pair of equal words.
    pub fn new(word: u64) -> Pair {
        Pair(SeqLock::new([word; 2]))
    }

    /// Both words, if no writer was at work.
    pub fn try_read(&self) -> Option<[u64; 2]> {
        self.0.try_read()
    }

    /// Adds to both.
    pub fn add(&self, by: u64) {
        self.0.write(|words| words.map(|word| word + by));
    }
}

thread_local!(static MUTANT: Cell<&'static str> = const { Cell::new("") });

/// Switches one deliberate mistake on for this thread's proofs.
pub fn set_mutant(name: &'static str) {
    MUTANT.set(name);
}

pub(crate) fn mutant_is(name: &str) -> bool {
    MUTANT.get() == name
}
