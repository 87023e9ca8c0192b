//! A small world for the proofs about limits that come with the call: the real store, with keys put where the test wants them.

use tollgate_core::{Burst, Cost, Limit, Moment, Rate, Span, StampedBalance};

use super::Letter;
use crate::identity::{BucketId, Seed};
use crate::memory::explicit::slot::FullAt;
use crate::memory::explicit::store::ExplicitStore;
use crate::memory::explicit::table::{Table, tag_of};
use crate::memory::explicit::told::ExplicitAsk;
use crate::memory::store::When;
use crate::{ExplicitVerdict, TableFull, Verdict};

/// In one tick one token is minted. Longer than the steps in which a slot says when its bucket is full.
const TICK_NANOS: u64 = 100_000_000;
const TOKEN: i64 = 1_000_000;

/// A store of explicit buckets, all under one limit: one token in every tick, and a burst of the test's choosing.
pub struct ExplicitWorld {
    store: ExplicitStore,
    limit: Limit,
}

fn at(tick: u64) -> Moment {
    Moment::from_nanos(tick * TICK_NANOS)
}

fn id((letter, window): Letter) -> BucketId {
    BucketId { fingerprint: u64::from(u32::from(letter)), windows: [window; 2] }
}

impl ExplicitWorld {
    /// An empty world of `windows` windows, two slots each.
    pub fn new(windows: u32, table_full: TableFull, burst: u64) -> ExplicitWorld {
        crate::sync::under_loom::begin();
        let rate = Rate::new(1, Span::from_nanos(TICK_NANOS));
        let limit = Limit::new(rate, Burst::tokens(burst)).expect("a sound limit");
        let table = Table::try_of_windows(windows as usize).expect("memory");
        let namespace = Seed([1, 2]).namespace("");
        ExplicitWorld { store: ExplicitStore::new(table, namespace, table_full), limit }
    }

    /// Puts a bucket that held so many tokens at `tick` into a slot of its window.
    pub fn put(&self, letter: Letter, slot: usize, tokens: u64, tick: u64) {
        let slot = &self.store.table.window(letter.1)[slot];
        let seen = slot.look().1.expect("nobody is at work yet");
        let missing = self.limit.burst().whole() - tokens;
        let balance = StampedBalance { micros: tokens.cast_signed() * TOKEN, stamp: at(tick) };
        assert!(slot.hold(seen));
        slot.retag(seen, tag_of(id(letter)), balance, FullAt::at(at(tick + missing)));
    }

    /// One check of so many tokens.
    pub fn check(&self, letter: Letter, tokens: u64, tick: u64) -> Verdict {
        self.store.charge(&self.ask(letter, tokens), When::Given(at(tick))).verdict
    }

    /// One check of one token each.
    pub fn check_all(&self, letters: &[Letter], tick: u64) -> Verdict {
        let asks = letters.iter().map(|letter| self.ask(*letter, 1));
        self.store.charge_all::<4>(asks, When::Given(at(tick))).told.verdict
    }

    /// Fills a bucket.
    pub fn reset(&self, letter: Letter, tick: u64) {
        self.store.reset(&self.ask(letter, 1), When::Given(at(tick)));
    }

    /// What a bucket holds, in whole tokens.
    pub fn held(&self, letter: Letter, tick: u64) -> u64 {
        self.peek(letter, tick).remaining.whole()
    }

    /// In how many slots a bucket lives. Panics if one of its window is held: no check is under way.
    pub fn places(&self, letter: Letter) -> usize {
        let slots = self.store.table.window(letter.1);
        assert!(slots.iter().all(|slot| slot.look().1.is_some()), "a slot is still held");
        slots.iter().filter(|slot| slot.is_of(tag_of(id(letter)))).count()
    }

    fn peek(&self, letter: Letter, tick: u64) -> ExplicitVerdict {
        self.store.peek(&self.ask(letter, 0), When::Given(at(tick)))
    }

    fn ask(&self, letter: Letter, tokens: u64) -> ExplicitAsk {
        ExplicitAsk { id: id(letter), limit: self.limit, cost: Cost::tokens(tokens) }
    }
}
