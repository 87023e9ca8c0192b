//! A look around the two windows of a newcomer: who lives there, who may go, and how full the newcomer may start.
//!
//! Only meaningful while the gates of both windows are held: charges go on meanwhile, but nobody moves in or out.

use std::cmp::Reverse;

use tollgate_core::{Cost, Demand, Mark, Moment, Reading};

use crate::clock::CLOCK_ERROR_MAX;
use crate::identity::BucketId;
use crate::memory::gates::{Held, WindowMark};
use crate::memory::meters::MeterSource;
use crate::memory::slot::{Slot, mutant};
use crate::memory::table::{HALF_SLOTS, Table, WINDOW_SLOTS};
use crate::memory::{LimitId, TableFull};

/// Slots in two windows.
const SEATS: usize = 2 * WINDOW_SLOTS;
/// Most slots of a window that live buckets may take which no newcomer can displace. The other slots stay for buckets that
/// can be displaced, so that a flood of keys under a sliding counter or a concurrency limit does not lock out other rules.
const PINNED_MAX: usize = WINDOW_SLOTS * 3 / 4;

/// One slot of the two windows, as it was seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seat<'t> {
    pub(crate) slot: &'t Slot,
    pub(crate) mark: Mark,
    pub(crate) standing: Standing,
    /// In the bucket's first (0) or second (1) window.
    pub(crate) window: usize,
    /// In the half of it that the bucket prefers.
    preferred: bool,
}

/// What a slot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    Free,
    /// A full bucket: forgetting it loses nothing.
    Full(LimitId),
    /// A bucket that is not full.
    Live(LimitId),
}

/// Two windows, as they were seen.
#[derive(Debug)]
pub(crate) struct Survey<'t> {
    seats: [Option<Seat<'t>>; SEATS],
}

impl<'t> Survey<'t> {
    /// Looks at every slot of both windows. A bucket counts as full if it was so a clock error before `now`: another
    /// thread's clock may be that far behind.
    pub(crate) fn of(table: &'t Table, id: BucketId, meters: &impl MeterSource, now: Moment) -> Survey<'t> {
        let (mut seats, mut readings) = ([None; SEATS], ReadingMemo::new(meters, now - CLOCK_ERROR_MAX));
        let windows = if id.windows[0] == id.windows[1] { 1 } else { 2 };
        for (which, window) in id.windows.into_iter().take(windows).enumerate() {
            for (index, slot) in table.window(window).iter().enumerate() {
                let (tag, mark) = slot.read();
                let standing = match tag.limit() {
                    None => Standing::Free,
                    Some(limit) if readings.of(limit).is_full(mark) => Standing::Full(limit),
                    Some(limit) => Standing::Live(limit),
                };
                let preferred = index / HALF_SLOTS == id.half(which);
                seats[which * WINDOW_SLOTS + index] =
                    Some(Seat { slot, mark, standing, window: which, preferred });
            }
        }
        Survey { seats }
    }

    /// A slot that may be taken at no loss: in the preferred half of the first window, since it is looked at first, or of the
    /// second, as long as that window keeps some room for those who have none elsewhere; then in the window that has more
    /// of it, so that both fill evenly. A free one before one that holds a full bucket. Only in windows that are `open` to the
    /// newcomer.
    pub(crate) fn vacancy(&self, open: [bool; 2]) -> Option<&Seat<'t>> {
        let vacancies = |which: usize| self.window(which).filter(move |seat| open[which] && !seat.is_live());
        let best =
            |which| vacancies(which).max_by_key(|seat| (seat.preferred, seat.standing == Standing::Free));
        let likely = |which| best(which).filter(|seat| seat.preferred);
        let room = [0, 1].map(|which| vacancies(which).count());
        let is_roomy = |which: &usize| room[*which] > WINDOW_SLOTS / 4 || room[*which] >= room[1 - which];
        let roomy = [0, 1].into_iter().filter(is_roomy).find_map(likely);
        let spare = || [1, 0].into_iter().filter(|which| room[*which] > 1).find_map(likely);
        roomy.or_else(spare).or_else(|| best(usize::from(room[1] > room[0])))
    }

    /// The slot to take when nothing is vacant: of a bucket that can return no fuller than it is. The limit with most buckets in
    /// a window gives way, the newcomer's own before others, so that a flood under one rule displaces its own keys; of its
    /// buckets there the fullest. Only in windows that are `open` to the newcomer.
    pub(crate) fn victim(
        &self,
        limit: LimitId,
        open: [bool; 2],
        meters: &impl MeterSource,
        now: Moment,
    ) -> Option<&Seat<'t>> {
        let may_go = |(seat, theirs): &(&Seat<'t>, LimitId)| {
            let reading = meters.ruler(*theirs).reading(now);
            let fullest = self.fullest_kin(seat, reading);
            // The newcomer itself stays as kin of its own limit.
            let is_last =
                fullest.is_none() && *theirs != limit && !mutant::is("evicts the last of its limit");
            !is_last && fullest.is_none_or(|fullest| fullest <= reading.balance(seat.mark))
        };
        let rank = |(seat, theirs): &(&Seat<'t>, LimitId)| {
            let kin = self.window(seat.window).filter(|other| other.standing == seat.standing).count();
            (kin, *theirs == limit, Reverse(nanos_to_full(meters, *theirs, seat.mark, now)))
        };
        let evictable = self.live().filter(|(seat, theirs)| open[seat.window] && !is_pinned(meters, *theirs));
        evictable.filter(may_go).max_by_key(rank).map(|(seat, _)| seat)
    }

    /// What the fullest other bucket of the same limit in the window of `victim` holds; `None` if `victim` is the last one. A
    /// client that is evicted returns no fuller than that: see [`Survey::inheritance`].
    fn fullest_kin(&self, victim: &Seat<'t>, reading: Reading) -> Option<i64> {
        let is_kin =
            |seat: &&Seat<'t>| seat.standing == victim.standing && !std::ptr::eq(seat.slot, victim.slot);
        self.window(victim.window).filter(is_kin).map(|seat| reading.balance(seat.mark)).max()
    }

    /// In which windows a newcomer of `limit` may take a slot. Buckets that could not be displaced later may take [`PINNED_MAX`] slots
    /// of a window. If several rules have such buckets, each slot is open only to rules that hold fewer than there are slots left: the
    /// first rule gets half of them, so that a flood under one rule leaves room for the others.
    pub(crate) fn open_to(&self, limit: LimitId, meters: &impl MeterSource) -> [bool; 2] {
        if !is_pinned(meters, limit) {
            return [true; 2];
        }
        let (rule, is_shared) = (meters.rule(limit), meters.pinned_rules() > 1);
        [0, 1].map(|which| {
            let here =
                self.live().filter(|(seat, theirs)| seat.window == which && is_pinned(meters, *theirs));
            let (pinned, own) = here.fold((0, 0), |(pinned, own), (_, theirs)| {
                (pinned + 1, own + usize::from(is_shared && meters.rule(theirs) == rule))
            });
            own < PINNED_MAX.saturating_sub(pinned)
        })
    }

    /// The most that a newcomer of `limit` may hold, in micro-tokens, if `which` window is crowded: what the fullest bucket there
    /// of the same limit holds, since whoever was evicted from there held no less. It may have been evicted on another tier of
    /// its rule, so each of these bounds it, too. `None` if nothing there says so.
    pub(crate) fn inheritance(
        &self,
        which: usize,
        limit: LimitId,
        meters: &impl MeterSource,
        now: Moment,
    ) -> Option<i64> {
        let rule = meters.rule(limit);
        let limits = self.window(which).filter_map(|seat| match seat.standing {
            Standing::Live(theirs) if meters.rule(theirs) == rule => Some(theirs),
            _ => None,
        });
        limits.filter_map(|tier| self.fullest(which, tier, meters.ruler(tier).reading(now))).min()
    }

    /// How many buckets of `limit` are in a window.
    pub(crate) fn buckets(&self, which: usize, limit: LimitId) -> usize {
        let kin = [Standing::Live(limit), Standing::Full(limit)];
        self.window(which).filter(|seat| kin.contains(&seat.standing)).count()
    }

    /// Whether this slot is in this window.
    pub(crate) fn has(&self, which: usize, slot: &Slot) -> bool {
        self.window(which).any(|seat| std::ptr::eq(seat.slot, slot))
    }

    /// What the fullest bucket of `limit` in a window holds, if none there is full.
    pub(crate) fn fullest(&self, which: usize, limit: LimitId, reading: Reading) -> Option<i64> {
        if self.window(which).any(|seat| seat.standing == Standing::Full(limit)) {
            return None;
        }
        let kin = self.window(which).filter(|seat| seat.standing == Standing::Live(limit));
        kin.map(|seat| reading.balance(seat.mark)).max()
    }

    /// Whether every client whose eviction from this window the mark may tell of would be full by now: a bucket of every limit is full
    /// that lives here and whose buckets may have been evicted.
    fn is_relieved(&self, which: usize, mark: WindowMark, meters: &impl MeterSource) -> bool {
        let full = |limit| self.window(which).any(|seat| seat.standing == Standing::Full(limit));
        let may_have_evicted = |limit| {
            WindowMark::evicted(meters.rule(limit)) == mark
                && meters.ruler(limit).is_inheritable()
                && meters.may_have_evicted(limit)
        };
        self.window(which).all(|seat| match seat.standing {
            Standing::Live(limit) => full(limit) || !may_have_evicted(limit),
            Standing::Free | Standing::Full(_) => true,
        })
    }

    /// How soon some slot here will be vacant, in nanoseconds; in windows that are not `open` to the newcomer, one of a bucket that
    /// keeps them closed.
    pub(crate) fn nanos_to_vacancy(&self, open: [bool; 2], meters: &impl MeterSource, now: Moment) -> u64 {
        let helps = |(seat, theirs): &(&Seat<'t>, LimitId)| open[seat.window] || is_pinned(meters, *theirs);
        let leaving = self.live().filter(helps);
        let soonest = leaving.map(|(seat, limit)| nanos_to_full(meters, limit, seat.mark, now)).min();
        soonest.unwrap_or(0).saturating_add(CLOCK_ERROR_MAX.as_nanos())
    }

    /// Clears each of [`WindowMark::EVICTED`] of windows whose evicted clients would be full by now.
    pub(crate) fn relieve(&self, gates: &mut Held<'_>, meters: &impl MeterSource) {
        // Where both windows are one, the second has no seats here and says nothing.
        for which in (0..2).filter(|which| self.window(*which).next().is_some()) {
            for mark in WindowMark::EVICTED {
                if gates.has(which, mark) && self.is_relieved(which, mark, meters) {
                    gates.clear(which, mark);
                }
            }
        }
    }

    fn window(&self, which: usize) -> impl Iterator<Item = &Seat<'t>> {
        self.seats.iter().flatten().filter(move |seat| seat.window == which)
    }

    fn live(&self) -> impl Iterator<Item = (&Seat<'t>, LimitId)> {
        self.seats.iter().flatten().filter_map(|seat| match seat.standing {
            Standing::Live(limit) => Some((seat, limit)),
            Standing::Free | Standing::Full(_) => None,
        })
    }
}

impl Seat<'_> {
    fn is_live(&self) -> bool {
        matches!(self.standing, Standing::Live(_))
    }
}

/// Whether no newcomer can displace a bucket of this limit: its rule has another mode, or nothing can be inherited from it.
fn is_pinned(meters: &impl MeterSource, limit: LimitId) -> bool {
    meters.table_full(limit) != TableFull::Inherit || !meters.ruler(limit).is_inheritable()
}

fn nanos_to_full(meters: &impl MeterSource, limit: LimitId, mark: Mark, now: Moment) -> u64 {
    let ruler = meters.ruler(limit);
    let all = Demand::of(Cost::micros(ruler.full().as_micros()));
    ruler.wait(mark, all, now).as_nanos()
}

/// The readings of the limits seen in one survey; nearly always it is the same limit again.
struct ReadingMemo<'m, M> {
    meters: &'m M,
    now: Moment,
    last: Option<(LimitId, Reading)>,
}

impl<'m, M: MeterSource> ReadingMemo<'m, M> {
    fn new(meters: &'m M, now: Moment) -> Self {
        Self { meters, now, last: None }
    }

    fn of(&mut self, limit: LimitId) -> Reading {
        match self.last {
            Some((last, reading)) if last == limit => reading,
            _ => {
                let reading = self.meters.ruler(limit).reading(self.now);
                self.last = Some((limit, reading));
                reading
            }
        }
    }
}
