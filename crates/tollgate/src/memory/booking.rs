//! Charges that lie ahead of the meter, for those who wait: booked at once, covered later.
//!
//! While a booking is not covered the bucket is in debt, so no check is admitted before whoever waits. Knows no queue.

use std::cell::Cell;

use tollgate_core::{Cost, Demand, Mark, Meter, Moment, Reading, Ruler, Span, Spend, Tokens, Unbookable};

use crate::Verdict;
use crate::clock::CLOCK_ERROR_MAX;
use crate::memory::adjust::{Adjusted, move_mark};
use crate::memory::counters::Event;
use crate::memory::meters::MeterSource;
use crate::memory::slot::{Slot, Tag, Unread};
use crate::memory::store::{Ask, MoveIn, Purpose, Store, When};
use crate::sync::Patience;

/// Times an absent bucket is given a place and loses it again before it is booked, until it counts as without room.
const PLACES_MAX: usize = 4_096;

/// What was booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Booked {
    /// Where the meter of the ask's limit must be before whoever booked may leave.
    pub(crate) departure: Mark,
    /// How long that takes; zero if it may leave at once.
    pub(crate) wait: Span,
    /// Whether it is in a leaky bucket, in which checks may come between two who wait.
    pub(crate) is_queue: bool,
}

/// Why nothing was booked. Nothing was charged either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unbooked {
    /// The cost is above the burst.
    Never,
    /// It would be covered only after this wait, which is longer than allowed, or [`Span::MAX`]: never.
    TooLong(Span),
    /// A leaky bucket has no room for it until after this wait.
    Full(Span),
    /// The bucket would be in debt by more than [`tollgate_core::DEBT_MAX`].
    TooDeep,
    /// The table has no room for the bucket, and may have some after this wait.
    TableFull(Span),
    /// The table has no room for the bucket, and the overflow bucket stands for it: that must be asked instead.
    Overflows,
    /// Nobody can wait under this algorithm.
    NoQueue(&'static str),
}

impl<M: MeterSource> Store<M> {
    /// Charges the bucket whether it holds the cost or not, if it will be covered within `wait_max`. It may be an overflow bucket.
    pub(crate) fn book(&self, ask: &Ask, when: When<'_>, wait_max: Span) -> Result<Booked, Unbooked> {
        let (now, patience, mut places) = (when.moment(), Patience::default(), 0);
        let ruler = self.meters.ruler(ask.limit);
        let meter = meter_of(&ruler)?;
        if ruler.never_admits(ask.demand) {
            return Err(Unbooked::Never);
        }
        loop {
            let (slot, tag) = match self.find_awaited(ask) {
                Some(found) => found,
                None if places == PLACES_MAX => return Err(Unbooked::TableFull(CLOCK_ERROR_MAX)),
                None => {
                    places += 1;
                    self.place_to_book(ask, when)?;
                    continue;
                }
            };
            if tag.limit() != Some(ask.limit) {
                self.relabel(ask, when);
                patience.wait();
                continue;
            }
            match slot.mark(tag) {
                Ok(mark) => {
                    let from =
                        if ask.id.is_overflow() { self.overflow_mark(mark, &ruler, now) } else { mark };
                    let booking =
                        meter.book(from, ask.demand, now).map_err(|why| unbooked(why, &meter, now))?;
                    let wait = wait_for(&meter, booking.missing, now);
                    if wait > wait_max || wait == Span::MAX {
                        return Err(Unbooked::TooLong(wait));
                    }
                    if slot.swap(mark, booking.mark) {
                        if ask.id.is_overflow() {
                            self.counters.count(Event::Overflowed);
                        }
                        let is_queue = meter.is_queue();
                        return Ok(Booked { departure: booking.departure, wait, is_queue });
                    }
                }
                Err(Unread::Locked) => patience.wait(),
                Err(Unread::Gone) => {}
            }
        }
    }

    /// Whether there is nothing to do but to book: the bucket is in the table and holds too little, or it is one that nobody
    /// leaves without a booking. A quick look: what it does not see, a check in full will. Who leaves a share alone books in a
    /// leaky bucket only, which keeps the share: elsewhere its booking would go through the share into debt.
    pub(crate) fn must_book(&self, ask: &Ask, now: Moment) -> Result<bool, Unbooked> {
        let ruler = self.meters.ruler(ask.limit);
        let meter = meter_of(&ruler)?;
        if ruler.never_admits(ask.demand) {
            return Err(Unbooked::Never);
        }
        if meter.is_queue() || ask.demand.keep > Tokens::ZERO {
            return Ok(meter.is_queue());
        }
        let mark = self.find(ask).filter(|(_, tag)| tag.limit() == Some(ask.limit));
        let mark = mark.and_then(|(slot, tag)| slot.mark(tag).ok());
        let spend = mark.map(|mark| ruler.reading(now).spend(mark, ask.demand));
        Ok(matches!(spend, Some(Spend::Short { .. })))
    }

    /// How long after `now` the meter of the ask's limit will be at `departure`.
    pub(crate) fn time_to(&self, ask: &Ask, departure: Mark, now: Moment) -> Span {
        let meter = self.meters.ruler(ask.limit).meter();
        meter.map_or(Span::ZERO, |meter| {
            wait_for(&meter, meter.lead(departure, now).min(0).unsigned_abs(), now)
        })
    }

    /// Gives a booking back whose time has not come; whether those behind it may move forward by that. `end` is where the last of
    /// those who wait left the bucket: in a leaky bucket nothing is given back once a check has been told to leave after that.
    /// Nor is it if the bucket has gone to another tier meanwhile, on which the booking is worth something else.
    pub(crate) fn give_booking(&self, ask: &Ask, end: Mark, when: When<'_>) -> bool {
        let (cost, may_move) = (ask.demand.cost.as_micros(), Cell::new(false));
        self.give_while_last(ask, cost, end, when, &may_move);
        may_move.get()
    }

    /// Gives back a booking of somebody who left at this departure: no more than there would be had it never come, as of any charge.
    /// In micro-tokens; `end` as for [`Store::give_booking`].
    pub(crate) fn give_back_booked(&self, ask: &Ask, departure: Mark, end: Mark, when: When<'_>) -> u64 {
        let ruler = self.meters.ruler(ask.limit);
        let returnable = ruler.meter().map_or(0, |meter| {
            let paid = meter.mark_of_booking(departure, ask.demand);
            ruler.reading(when.moment()).returnable(paid, ask.demand.cost)
        });
        self.give_while_last(ask, returnable, end, when, &Cell::new(false)).given().as_micros()
    }

    fn give_while_last(
        &self,
        ask: &Ask,
        micros: u64,
        end: Mark,
        when: When<'_>,
        may_move: &Cell<bool>,
    ) -> Adjusted {
        let ruler = self.meters.ruler(ask.limit);
        let booked_under = ruler.reading(when.moment());
        let next = |reading: &Reading, mark| {
            may_move.set(*reading == booked_under && (!ruler.is_queue() || mark == end));
            // At most a burst: it fits.
            if may_move.get() { reading.adjust(mark, micros.cast_signed()) } else { mark }
        };
        match self.overflow_of(ask) {
            Some((slot, tag)) => {
                move_mark(slot, tag, &booked_under, |mark| next(&booked_under, mark)).unwrap_or(Adjusted::NOT)
            }
            None => self.rewrite(ask, when, next),
        }
    }

    /// Makes the bucket hold no more than when the ask, with this departure, was booked; if it was forgotten it gets a place for
    /// that.
    pub(crate) fn drain_to(&self, ask: &Ask, departure: Mark, when: When<'_>) {
        let ruler = self.meters.ruler(ask.limit);
        let Some(meter) = ruler.meter() else { return };
        let reading = ruler.reading(when.moment());
        let booked = reading.mark_of(reading.balance(meter.mark_of_booking(departure, ask.demand)));
        let (patience, mut places) = (Patience::default(), 0);
        loop {
            let Some((slot, tag)) = self.find_awaited(ask) else {
                places += 1;
                if places == PLACES_MAX || self.place_to_book(ask, when).is_err() {
                    return;
                }
                continue;
            };
            if tag.limit() != Some(ask.limit) {
                self.relabel(ask, when);
            } else if let Ok(mark) = slot.mark(tag) {
                let drained = reading.emptier(mark, booked);
                if drained == mark || slot.swap(mark, drained) {
                    return;
                }
            }
            patience.wait();
        }
    }

    /// The slot that somebody waits for, and its tag there.
    fn find_awaited(&self, ask: &Ask) -> Option<(&Slot, Tag)> {
        self.overflow_of(ask).or_else(|| self.find(ask))
    }

    /// The overflow bucket, if that is asked.
    fn overflow_of(&self, ask: &Ask) -> Option<(&Slot, Tag)> {
        ask.id.is_overflow().then(|| (self.meters.overflow(ask.limit), Tag::overflow(ask.limit)))
    }

    /// Gives an absent bucket a place without charging it, if there is one: look again.
    fn place_to_book(&self, ask: &Ask, when: When<'_>) -> Result<(), Unbooked> {
        // A place is taken for no cost at all: what the bucket holds does not matter to whoever will wait.
        let free = Ask { demand: Demand::of(Cost::micros(0)), ..*ask };
        match self.move_in(&free, when, Purpose::Place) {
            MoveIn::UseOverflow => Err(Unbooked::Overflows),
            // No room, or only for one that starts in debt, which is not booked blindly: it may be somebody else's.
            MoveIn::Decided(Verdict::Deny { wait, .. }) => Err(Unbooked::TableFull(wait)),
            MoveIn::Decided(_) | MoveIn::LookAgain => Ok(()),
        }
    }

    fn overflow_mark(&self, mark: Mark, ruler: &Ruler, now: Moment) -> Mark {
        ruler.reading(now).emptier(mark, self.floor(ruler, now))
    }
}

fn meter_of(ruler: &Ruler) -> Result<Meter, Unbooked> {
    ruler.meter().ok_or(Unbooked::NoQueue(ruler.algorithm().name()))
}

fn unbooked(why: Unbookable, meter: &Meter, now: Moment) -> Unbooked {
    match why {
        Unbookable::Full { missing } => Unbooked::Full(meter.wait_for(missing, now)),
        Unbookable::TooDeep => Unbooked::TooDeep,
    }
}

/// How long until so much is minted; [`Span::MAX`] if time, which ends after 584 years, ends first.
fn wait_for(meter: &Meter, missing: u64, now: Moment) -> Span {
    let wait = if missing == 0 { Span::ZERO } else { meter.wait_for(missing, now) };
    if missing > 0 && now + wait == Moment::from_nanos(u64::MAX) { Span::MAX } else { wait }
}
