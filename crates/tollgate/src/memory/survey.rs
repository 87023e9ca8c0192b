//! A look around the two windows of a newcomer: who lives there, who may go, and how full the newcomer may start.
//!
//! Only meaningful while the gates of both windows are held: charges go on meanwhile, but nobody moves in or out.

use tollgate_core::{Cost, Demand, Mark, Moment, Reading};

use crate::clock::CLOCK_ERROR_MAX;
use crate::identity::BucketId;
use crate::memory::LimitId;
use crate::memory::gates::Held;
use crate::memory::meters::MeterSource;
use crate::memory::slot::Slot;
use crate::memory::table::{HALF_SLOTS, Table, WINDOW_SLOTS};

/// Slots in two windows.
const SEATS: usize = 2 * WINDOW_SLOTS;

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
    /// of it, so that both fill evenly. A free one before one that holds a full bucket.
    pub(crate) fn vacancy(&self) -> Option<&Seat<'t>> {
        let vacancies = |which| self.window(which).filter(|seat| !seat.is_live());
        let best =
            |which| vacancies(which).max_by_key(|seat| (seat.preferred, seat.standing == Standing::Free));
        let likely = |which| best(which).filter(|seat| seat.preferred);
        let room = [0, 1].map(|which| vacancies(which).count());
        let is_roomy = |which: &usize| room[*which] > WINDOW_SLOTS / 4 || room[*which] >= room[1 - which];
        let roomy = [0, 1].into_iter().filter(is_roomy).find_map(likely);
        let spare = || [1, 0].into_iter().filter(|which| room[*which] > 1).find_map(likely);
        roomy.or_else(spare).or_else(|| best(usize::from(room[1] > room[0])))
    }

    /// The slot to take when nothing is vacant: the fullest bucket of the newcomer's own limit; where there is none, the one
    /// that would have been full soonest.
    pub(crate) fn victim(&self, limit: LimitId, meters: &impl MeterSource, now: Moment) -> Option<&Seat<'t>> {
        let reading = meters.ruler(limit).reading(now);
        let kin = self.evictable(meters).filter(|(_, theirs)| *theirs == limit).map(|(seat, _)| seat);
        kin.max_by_key(|seat| reading.balance(seat.mark)).or_else(|| {
            let to_full =
                |(seat, limit): &(&Seat<'t>, LimitId)| nanos_to_full(meters, *limit, seat.mark, now);
            self.evictable(meters).min_by_key(to_full).map(|(seat, _)| seat)
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

    /// Whether whoever was evicted from this window would be full by now: a bucket of every limit that lives here is.
    pub(crate) fn is_relieved(&self, which: usize) -> bool {
        let full = |limit| self.window(which).any(|seat| seat.standing == Standing::Full(limit));
        self.window(which).any(|seat| !seat.is_live())
            && self.window(which).all(|seat| match seat.standing {
                Standing::Live(limit) => full(limit),
                Standing::Free | Standing::Full(_) => true,
            })
    }

    /// Whether another bucket of the victim's limit stays in its window, for the victim to inherit from when it returns.
    pub(crate) fn leaves_kin(&self, victim: &Seat<'t>) -> bool {
        self.window(victim.window)
            .any(|seat| seat.standing == victim.standing && !std::ptr::eq(seat.slot, victim.slot))
    }

    /// How soon some slot here will be vacant, in nanoseconds.
    pub(crate) fn nanos_to_vacancy(&self, meters: &impl MeterSource, now: Moment) -> u64 {
        let soonest = self.live().map(|(seat, limit)| nanos_to_full(meters, limit, seat.mark, now)).min();
        soonest.unwrap_or(0).saturating_add(CLOCK_ERROR_MAX.as_nanos())
    }

    /// Clears the crowded mark of windows that are so no more.
    pub(crate) fn relieve(&self, gates: &mut Held<'_>) {
        for which in 0..2 {
            if gates.is_crowded(which) && self.is_relieved(which) {
                gates.set_crowded(which, false);
            }
        }
    }

    fn window(&self, which: usize) -> impl Iterator<Item = &Seat<'t>> {
        self.seats.iter().flatten().filter(move |seat| seat.window == which)
    }

    /// The buckets that are not full but may be forgotten, because whoever comes can inherit what they stood at.
    fn evictable(&self, meters: &impl MeterSource) -> impl Iterator<Item = (&Seat<'t>, LimitId)> {
        self.live().filter(|(_, limit)| meters.ruler(*limit).is_inheritable())
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
