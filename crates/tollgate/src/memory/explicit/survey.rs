//! A look around the two windows of a newcomer: who lives there, and who may go.
//!
//! Only meaningful while the gates of both windows are held: charges go on meanwhile, but nobody moves in or out.

use tollgate_core::{Moment, Span};

use crate::clock::CLOCK_ERROR_MAX;
use crate::identity::BucketId;
use crate::memory::explicit::slot::{Seen, Slot};
use crate::memory::explicit::table::{Table, WINDOW_SLOTS};

/// Slots in two windows.
const SEATS: usize = 2 * WINDOW_SLOTS;

/// One slot of the two windows, as it was seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seat<'t> {
    pub(crate) slot: &'t Slot,
    /// `None` if somebody is at work on it.
    pub(crate) seen: Option<Seen>,
    pub(crate) standing: Standing,
    /// In the bucket's first (0) or second (1) window.
    pub(crate) window: usize,
    /// In the line of it that the bucket prefers.
    preferred: bool,
}

/// What a slot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    Free,
    /// A full bucket: forgetting it loses nothing.
    Full,
    /// A bucket that is not full.
    Live,
}

/// Two windows, as they were seen.
#[derive(Debug)]
pub(crate) struct Survey<'t> {
    seats: [Option<Seat<'t>>; SEATS],
}

impl<'t> Survey<'t> {
    /// Looks at every slot of both windows. A bucket counts as full if it was so a clock error before `now`: another
    /// thread's clock may be that far behind.
    pub(crate) fn of(table: &'t Table, id: BucketId, now: Moment) -> Survey<'t> {
        let (mut seats, earlier) = ([None; SEATS], now - CLOCK_ERROR_MAX);
        let windows = if id.windows[0] == id.windows[1] { 1 } else { 2 };
        let all = (0..windows).flat_map(|which| table.seats(id, which).map(move |seat| (which, seat)));
        for (seat, (window, (slot, preferred))) in seats.iter_mut().zip(all) {
            let (is_free, seen) = slot.look();
            let standing = match seen {
                _ if is_free => Standing::Free,
                Some(seen) if seen.full_at().moment() <= earlier => Standing::Full,
                _ => Standing::Live,
            };
            *seat = Some(Seat { slot, seen, standing, window, preferred });
        }
        Survey { seats }
    }

    /// A slot that may be taken at no loss: in the preferred line of the first window, since it is looked at first, or of the
    /// second, as long as that window is not half full or has no less room than the other; then in the window that has more
    /// of it, so that both fill evenly. A free one before one that holds a full bucket. So in a table that is as full as it is
    /// made for, two in three are where they are looked for first, and 1 in 50,000 finds no place.
    pub(crate) fn vacancy(&self) -> Option<&Seat<'t>> {
        let vacancies = |which| self.window(which).filter(|seat| seat.standing != Standing::Live);
        let best =
            |which| vacancies(which).max_by_key(|seat| (seat.preferred, seat.standing == Standing::Free));
        let likely = |which| best(which).filter(|seat| seat.preferred);
        let room = [0, 1].map(|which| vacancies(which).count());
        let is_roomy = |which: &usize| room[*which] > WINDOW_SLOTS / 2 || room[*which] >= room[1 - which];
        let roomy = [0, 1].into_iter().filter(is_roomy).find_map(likely);
        roomy.or_else(|| best(usize::from(room[1] > room[0])))
    }

    /// The slot to take when nothing is vacant: of the bucket that would be full soonest. One in debt is never forgotten.
    pub(crate) fn victim(&self) -> Option<&Seat<'t>> {
        let full_at = |seat: &&Seat<'t>| seat.seen.map(Seen::full_at);
        let may_go = |seat: &&Seat<'t>| seat.seen.is_some_and(|seen| seen.balance.micros >= 0);
        self.seats.iter().flatten().filter(may_go).min_by_key(full_at)
    }

    /// How soon some slot here will be vacant.
    pub(crate) fn time_to_vacancy(&self, now: Moment) -> Span {
        let seen = self.seats.iter().flatten().filter_map(|seat| seat.seen);
        let soonest = seen.map(|seen| seen.full_at().moment()).min().unwrap_or(now);
        soonest.since(now) + CLOCK_ERROR_MAX
    }

    fn window(&self, which: usize) -> impl Iterator<Item = &Seat<'t>> {
        self.seats.iter().flatten().filter(move |seat| seat.window == which)
    }
}
