//! A look around the two windows of a newcomer: who lives there, and who may go.
//!
//! Only meaningful while the gates of both windows are held: charges go on meanwhile, but nobody moves in or out.

use tollgate_core::{Moment, Span};

use crate::clock::CLOCK_ERROR_MAX;
use crate::identity::BucketId;
use crate::memory::explicit::slot::{Seen, Slot};
use crate::memory::explicit::table::{Table, WINDOW_SLOTS};

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

/// The two windows of a bucket, looked at as often as something is asked.
#[derive(Debug)]
pub(crate) struct Survey<'t> {
    table: &'t Table,
    id: BucketId,
    /// A bucket counts as full if it was so at this moment.
    earlier: Moment,
}

/// What may be taken at no loss in one window.
#[derive(Debug)]
struct Vacancies<'t> {
    room: usize,
    best: Option<Seat<'t>>,
}

impl<'t> Survey<'t> {
    /// A survey at `now`. A bucket counts as full if it was so a clock error before: another thread's clock may be that far
    /// behind.
    pub(crate) fn of(table: &'t Table, id: BucketId, now: Moment) -> Survey<'t> {
        Survey { table, id, earlier: now - CLOCK_ERROR_MAX }
    }

    /// A slot that may be taken at no loss: in the preferred line of the first window, since it is looked at first, or of the
    /// second, as long as that window is not half full or has no less room than the other; then in the window that has more
    /// of it, so that both fill evenly. A free one before one that holds a full bucket. So in a table that is as full as it is
    /// made for, two in three are where they are looked for first, and 1 in 50,000 finds no place.
    pub(crate) fn vacancy(&self) -> Option<Seat<'t>> {
        let first = self.vacancies(0);
        // The second is not looked at if it does not matter.
        if first.room > WINDOW_SLOTS / 2 && first.likely().is_some() {
            return first.best;
        }
        let second = self.vacancies(1);
        let is_roomy = |one: &Vacancies<'t>, other: &Vacancies<'t>| {
            one.room > WINDOW_SLOTS / 2 || one.room >= other.room
        };
        let in_first = first.likely().filter(|_| is_roomy(&first, &second));
        let in_second = second.likely().filter(|_| is_roomy(&second, &first));
        in_first.or(in_second).or(if second.room > first.room { second.best } else { first.best })
    }

    /// The slot to take when nothing is vacant: of the bucket that would be full soonest. One in debt is never forgotten.
    pub(crate) fn victim(&self) -> Option<Seat<'t>> {
        let full_at = |seat: &Seat<'t>| seat.seen.map(Seen::full_at);
        let may_go = |seat: &Seat<'t>| seat.seen.is_some_and(|seen| seen.balance.micros >= 0);
        [0, 1].into_iter().flat_map(|which| self.seats(which)).filter(may_go).min_by_key(full_at)
    }

    /// How soon some slot here will be vacant.
    pub(crate) fn time_to_vacancy(&self, now: Moment) -> Span {
        let seen = [0, 1].into_iter().flat_map(|which| self.seats(which)).filter_map(|seat| seat.seen);
        let soonest = seen.map(|seen| seen.full_at().moment()).min().unwrap_or(now);
        soonest.since(now) + CLOCK_ERROR_MAX
    }

    #[inline]
    fn vacancies(&self, which: usize) -> Vacancies<'t> {
        let mut found = Vacancies { room: 0, best: None };
        for seat in self.seats(which).filter(|seat| seat.standing != Standing::Live) {
            found.room += 1;
            if found.best.is_none_or(|best| seat.rank() >= best.rank()) {
                found.best = Some(seat);
            }
        }
        found
    }

    /// Every slot of one window, as it is now. Where both windows are the same, there is only the first.
    #[inline]
    fn seats(&self, which: usize) -> impl Iterator<Item = Seat<'t>> + use<'t> {
        let (id, earlier) = (self.id, self.earlier);
        let is_there = which == 0 || id.windows[0] != id.windows[1];
        let slots = self.table.seats(id, which).filter(move |_| is_there);
        slots.map(move |(slot, preferred)| {
            let (is_free, seen) = slot.look();
            let standing = match seen {
                _ if is_free => Standing::Free,
                Some(seen) if seen.full_at().moment() <= earlier => Standing::Full,
                _ => Standing::Live,
            };
            Seat { slot, seen, standing, window: which, preferred }
        })
    }
}

impl<'t> Vacancies<'t> {
    /// The best, if it is where the bucket is looked for first.
    fn likely(&self) -> Option<Seat<'t>> {
        self.best.filter(|best| best.preferred)
    }
}

impl Seat<'_> {
    /// The higher, the better to take.
    fn rank(&self) -> (bool, bool) {
        (self.preferred, self.standing == Standing::Free)
    }
}
