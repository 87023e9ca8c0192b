//! A small world for the loom proofs: the real store over fixed limits, with keys put where the test wants them.
//!
//! Compiled only under `--cfg loom`, where a window has two slots.

pub mod explicit;
mod limits;
pub mod waiting;

use std::cell::Cell;

use tollgate_core::{Cost, Demand, Mark, Moment, Tokens};

use crate::expiring::{Expiring, Taken};
use crate::identity::BucketId;
use crate::memory::meters::MeterSource;
use crate::memory::receipt::Receipt;
use crate::memory::slot::Tag;
use crate::memory::store::{Ask, Store, When};
use crate::memory::table::Table;
use crate::memory::wish::Wish;
use crate::seqlock::SeqLock;
use crate::{Breadth, TableFull, Verdict};
use limits::{Limits, limit_of};

/// Nanoseconds in which one token is minted: a clock error, so that one tick is the least that tells clocks apart. Also what
/// one generation of places lasts.
const TICK_NANOS: u64 = 100_000;

/// A store in which every bucket holds one token and the rule mints one in every tick; `l` is a log of one token in every
/// ten ticks, and `p` has places.
pub struct World {
    store: Store<Limits>,
    /// Open reservations, as a limiter keeps them.
    ledger: Expiring<u64, Receipt>,
}

/// A bucket: a letter, and the window it lives in.
pub type Letter = (char, u32);

/// A charge that was made, to be settled or given back.
#[derive(Clone, Copy)]
pub struct Paid(Receipt);

fn at(tick: u64) -> Moment {
    Moment::from_nanos(tick * TICK_NANOS)
}

fn ask((letter, window): Letter) -> Ask {
    let id = BucketId { fingerprint: u64::from(u32::from(letter)), windows: [window; 2] };
    Ask { id, limit: limit_of(letter), demand: Demand::of(Cost::ONE) }
}

fn wish(letter: Letter) -> Wish {
    Wish::plain(&ask(letter)).expect("it leaves nothing alone")
}

impl World {
    /// An empty world of `windows` windows, two slots each.
    pub fn new(windows: usize, table_full: TableFull) -> World {
        World::with_places(windows, table_full, 1)
    }

    /// The same with so many places in the bucket `p`.
    pub fn with_places(windows: usize, table_full: TableFull, places: u32) -> World {
        crate::sync::under_loom::begin();
        let store = Store::new(
            Table::try_for_keys(windows * 2).expect("memory"),
            table_full,
            Limits::new(places, table_full),
        );
        World { store, ledger: Expiring::new(8) }
    }

    /// Puts a bucket into a slot of its window, last charged at `tick`; full if it has places.
    pub fn put(&self, letter: Letter, slot: usize, tick: u64) {
        let ask = ask(letter);
        let reading = self.store.meters.ruler(ask.limit).reading(at(tick));
        let slot = &self.store.table.window(letter.1)[slot];
        slot.retag(Tag::new(ask.id.fingerprint, ask.limit));
        slot.release(reading.mark_of(0));
    }

    /// One check.
    pub fn check(&self, letter: Letter, tick: u64) -> Verdict {
        self.store.decide(&wish(letter), When::Given(at(tick)))
    }

    /// One check over several buckets, given with their breadths.
    pub fn check_all(&self, letters: &[(Letter, Breadth)], tick: u64) -> Verdict {
        let wishes: Vec<_> = letters.iter().map(|(letter, breadth)| (wish(*letter), *breadth)).collect();
        let wishes = wishes.iter().map(|(wish, breadth)| (wish, *breadth));
        self.store.charge_all::<4>(wishes, When::Given(at(tick)))
    }

    /// One check of one bucket that may be taken back.
    pub fn pay(&self, letter: Letter, tick: u64) -> Option<Paid> {
        let asks = [(ask(letter), Breadth::Client)];
        let outcome = self.store.charge_all_fully::<1>(asks, When::Given(at(tick)));
        outcome.receipts[0].map(Paid)
    }

    /// Gives back what was paid; the places, or so many micro-tokens. What the bucket gained, in micro-tokens.
    pub fn give_back(&self, Paid(receipt): Paid, micros: u64, tick: u64) -> u64 {
        let (micros, when) = (Tokens::from_micros(micros), When::Given(at(tick)));
        let given = self.store.give_back(&receipt, micros, Tokens::from(Cost::ONE), when);
        given.given().as_micros()
    }

    /// Fills a bucket, whatever was taken from it.
    pub fn reset(&self, letter: Letter, tick: u64) {
        self.store.reset(&ask(letter), Tokens::ZERO, None, When::Given(at(tick)));
    }

    /// Enters what was paid as a reservation of this number.
    pub fn reserve(&self, number: u64, Paid(receipt): Paid, tick: u64) {
        let claim = self.ledger.claim(number, at(tick)).expect("the ledger has room");
        claim.fill(receipt, at(tick + 100));
    }

    /// Settles a reservation, if it is open: gives back so many micro-tokens, and says how many that were.
    pub fn settle(&self, number: u64, micros: u64, tick: u64) -> Option<u64> {
        match self.ledger.take_if(number, at(tick), |_| Ok::<(), ()>(())) {
            Ok(Some(Taken::Alive(receipt))) => Some(self.give_back(Paid(receipt), micros, tick)),
            _ => None,
        }
    }

    /// In how many slots a bucket lives, and whether any slot of its window is still held.
    pub fn places(&self, letter: Letter) -> usize {
        let slots = self.store.table.window(letter.1);
        slots.iter().filter(|slot| slot.tag().is_of(ask(letter).id.fingerprint)).count()
    }

    /// Whether the bucket has been charged, at `tick`. Panics if its slot is held: no check is under way.
    pub fn is_spent(&self, letter: Letter, tick: u64) -> bool {
        self.balance(letter, tick) == 0
    }

    /// What the bucket holds, in micro-tokens; debt is negative. Panics if its slot is held: no check is under way.
    pub fn balance(&self, letter: Letter, tick: u64) -> i64 {
        let (ask, now) = (ask(letter), at(tick));
        let ruler = self.store.meters.ruler(ask.limit);
        if ruler.log().is_some() {
            let left = self.store.peek(&Ask { demand: Demand::of(Cost::micros(0)), ..ask }, When::Given(now));
            return left.remaining().map_or(0, |left| left.as_micros().cast_signed());
        }
        let Some((slot, tag)) = self.store.table.find(ask.id) else {
            return ruler.full().as_micros().cast_signed();
        };
        let mark: Mark = slot.mark(tag).expect("nobody holds a slot when all checks are done");
        ruler.reading(now).balance(mark)
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
