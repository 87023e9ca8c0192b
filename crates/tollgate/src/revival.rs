//! From a limiter to its snapshot and back.
//!
//! A restored meter has minted what it had when the snapshot was taken, and what the wall clock says has passed since,
//! never less than nothing. Balances are what they would have been without the restart.

use tollgate_core::{Moment, Span};

use crate::clock::{Clock, wall_nanos};
use crate::memory::LimitId;
use crate::memory::meters::{MeterSource, Meters};
use crate::memory::slot::Tag;
use crate::memory::store::Store;
use crate::memory::table::WINDOW_SLOTS;
use crate::shared::{Book, Shared};
use crate::snapshot::{SavedSlot, SavedTier, Snapshot};

impl Shared {
    /// Everything this limiter must remember, as of now. Checks may go on meanwhile; whether the snapshot has the last of
    /// them is chance.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let (wall_nanos, taken_at) = (wall_nanos(), self.clock.now());
        let book = self.book();
        let tiers = book.rules.iter().flat_map(|(rule, entry)| {
            entry.tiers.iter().map(|(name, limit)| SavedTier {
                rule: rule.clone(),
                breadth: entry.breadth,
                name: name.clone(),
                limit: *limit,
                ruler: self.store.meters.cell(*limit).read(),
                overflow: self.store.meters.overflow(*limit).read().1,
            })
        });
        Snapshot {
            seed: self.seed,
            keys_max: self.keys_max as u64,
            windows: u64::from(self.store.table.windows()),
            wall_nanos,
            taken_at,
            tiers: tiers.collect(),
            slots: self.store.saved_slots(taken_at).collect(),
            marked_windows: self.store.table.gates.marked().collect(),
            logs: self.store.logs.saved(taken_at),
            explicit: self.explicit.saved(self.explicit_keys_max, taken_at),
        }
    }
}

/// From the time line of the clock that a snapshot was taken by to that of another. The time between them is the wall clock's,
/// never less than nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passage {
    /// What the old clock would say now.
    until: Moment,
    /// What the new one says.
    now: Moment,
}

impl Passage {
    /// From the clock of `snapshot` to this one.
    pub(crate) fn to(clock: &Clock, snapshot: &Snapshot) -> Passage {
        let away = Span::from_nanos(wall_nanos().saturating_sub(snapshot.wall_nanos));
        Passage { until: snapshot.taken_at + away, now: clock.now() }
    }

    /// Now, by the new clock.
    pub(crate) const fn now(&self) -> Moment {
        self.now
    }

    /// A moment of the old clock by the new one; the end of time is the same for both.
    pub(crate) fn of(&self, moment: Moment) -> Moment {
        if moment == Moment::from_nanos(u64::MAX) {
            return moment;
        }
        self.of_past(moment) + moment.since(self.until)
    }

    /// The same, but no later than now. What the new clock's origin is too late for has happened there.
    pub(crate) fn of_past(&self, moment: Moment) -> Moment {
        self.now - self.until.since(moment)
    }
}

impl Snapshot {
    /// Puts the meters and buckets into a new store, as of now by its clock. The rules, as a book.
    pub(crate) fn revive(&self, store: &Store<Meters>, clock: &Clock, passage: &Passage) -> Option<Book> {
        let now = passage.now;
        if self.windows != u64::from(store.table.windows()) {
            return None;
        }
        let (mut book, mut known) = (Book::default(), vec![false; LimitId::COUNT_MAX + 1]);
        for tier in &self.tiers {
            let is_taken = std::mem::replace(&mut known[usize::from(tier.limit.get())], true);
            book.restore(tier).filter(|()| !is_taken)?;
        }
        for tier in &self.tiers {
            let rule = book.rules.get(&tier.rule)?.own_tier()?;
            let ruler = tier.ruler.transplant(passage.until, now, clock.wall_origin());
            store.meters.install(tier.limit, rule, ruler, tier.overflow);
        }
        let is_known = |tag: Tag| tag.limit().is_some_and(|limit| known[usize::from(limit.get())]);
        for SavedSlot { index, tag, mark } in &self.slots {
            let index = usize::try_from(*index).ok()?;
            let slot = store.table.slot(index).filter(|_| is_known(*tag))?;
            slot.retag(*tag);
            slot.release(*mark);
            store.table.gates.note_used(index / WINDOW_SLOTS);
        }
        for log in &self.logs {
            let limit =
                store.meters.ruler(log.limit).log().filter(|_| known[usize::from(log.limit.get())])?;
            let room = store.meters.log_room(log.limit);
            store.logs.with(log.id, log.limit, &limit, room, now, |kept| {
                for (at, micros) in &log.charges {
                    kept.charge(*micros, passage.of_past(*at));
                }
                // What was a window ago by now no longer counts.
                kept.forget(&limit, now);
            });
        }
        store.table.gates.restore(&self.marked_windows)?;
        if !self.marked_windows.is_empty() {
            self.tiers.iter().for_each(|tier| store.meters.note_evictions(tier.limit));
        }
        store.note_revival(self.slots.len(), now);
        Some(book)
    }
}

impl Store<Meters> {
    /// The buckets that are not full at `now`, and outlive the program.
    fn saved_slots(&self, now: Moment) -> impl Iterator<Item = SavedSlot> {
        let live = move |limit: LimitId, mark| {
            let ruler = self.meters.ruler(limit);
            !ruler.is_of_places() && !ruler.reading(now).is_full(mark)
        };
        self.table.slots().filter_map(move |(index, slot)| {
            let (tag, mark) = slot.read();
            let kept = tag.limit().is_some_and(|limit| live(limit, mark));
            kept.then_some(SavedSlot { index: index as u64, tag, mark })
        })
    }
}
