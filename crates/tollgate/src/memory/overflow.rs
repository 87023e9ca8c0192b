//! The bucket that all clients of a limit share that find no room in the table.
//!
//! It is never fuller than a client may be that draws on it: one that was forgotten as full, or evicted from its windows.

use tollgate_core::{BucketSet, Mark, Moment, Reading, Ruler, Spend};

use crate::Cause;
use crate::memory::counters::Event;
use crate::memory::gates::{Held, WindowMark};
use crate::memory::meters::MeterSource;
use crate::memory::slot::{Slot, Tag};
use crate::memory::store::{Ask, MoveIn, Purpose, Store, verdict_of};
use crate::memory::survey::Survey;

impl<M: MeterSource> Store<M> {
    /// Turns a client that finds no room to the bucket that all such clients of its limit share, and marks its windows, so that
    /// when it finds a place it starts no fuller than that bucket. The marks stay: they bind only while that bucket is not full.
    ///
    /// The client may have been evicted from its windows while its rule had another mode. That bucket therefore becomes no fuller than
    /// such a client may be.
    pub(super) fn overflow(
        &self,
        ask: &Ask,
        survey: &Survey<'_>,
        gates: &mut Held<'_>,
        purpose: Purpose,
        now: Moment,
    ) -> MoveIn {
        if matches!(purpose, Purpose::Place | Purpose::Charge) {
            gates.set(0, WindowMark::TURNED_AWAY);
            gates.set(1, WindowMark::TURNED_AWAY);
        }
        let (slot, ruler) = (self.meters.overflow(ask.limit), self.meters.ruler(ask.limit));
        let reading = ruler.reading(now);
        let evicted = (0..2).filter(|which| self.has_evicted(gates, *which, ask.limit));
        let inherited = evicted.filter_map(|which| survey.inheritance(which, ask.limit, &self.meters, now));
        let floor = inherited
            .fold(self.floor(&ruler, now), |floor, balance| reading.emptier(floor, reading.mark_of(balance)));
        if purpose == Purpose::Place {
            lower(slot, &reading, floor);
            return MoveIn::UseOverflow;
        }
        loop {
            let (_, mark) = slot.read();
            let from = reading.emptier(mark, floor);
            let spend = reading.spend(from, ask.demand);
            if let (Spend::Paid { mark: paid, .. }, Purpose::Charge) = (spend, purpose) {
                if !slot.swap(mark, paid) {
                    continue;
                }
                self.counters.count(Event::Overflowed);
            }
            return MoveIn::Decided(
                verdict_of(spend, &ruler, from, ask.demand, now).because(Cause::TableFull(BucketSet::FIRST)),
            );
        }
    }

    /// The fullest that an absent bucket may be at `now`: full, but no earlier than the last time a full one was forgotten.
    /// A client that was full then may have spent its tokens before.
    pub(crate) fn floor(&self, ruler: &Ruler, now: Moment) -> Mark {
        ruler.reading(now.max(self.reclaimed_at())).full_mark()
    }

    /// Before the last bucket of its tier leaves that tier, makes the tier's overflow bucket no fuller than it, and turns the window to
    /// that bucket. A client evicted on this tier then starts no fuller, and not by the refill of another tier.
    pub(super) fn bequeath(
        &self,
        tag: Tag,
        mark: Mark,
        which: usize,
        survey: &Survey<'_>,
        gates: &mut Held<'_>,
        now: Moment,
    ) {
        let Some(tier) = tag.limit().filter(|tier| survey.buckets(which, *tier) == 1) else { return };
        gates.set(which, WindowMark::TURNED_AWAY);
        lower(self.meters.overflow(tier), &self.meters.ruler(tier).reading(now), mark);
    }
}

/// Makes a bucket no fuller than one that stands at `most`.
fn lower(slot: &Slot, reading: &Reading, most: Mark) {
    loop {
        let (_, before) = slot.read();
        let after = reading.emptier(before, most);
        if after == before || slot.swap(before, after) {
            return;
        }
    }
}
