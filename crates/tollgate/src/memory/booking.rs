//! Charges that lie ahead of the meter, for those who wait: booked at once, covered later.
//!
//! While a booking is not covered the bucket is in debt, so no check is admitted before whoever waits. Knows no queue.

use tollgate_core::{Cost, Demand, Mark, Meter, Moment, Reading, Ruler, Span, Spend, Tokens, Unbookable};

use crate::Verdict;
use crate::clock::CLOCK_ERROR_MAX;
use crate::memory::adjust::Adjusted;
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
    Crowded(Span),
    /// Nobody can wait under this algorithm.
    NoQueue(&'static str),
}

impl<M: MeterSource> Store<M> {
    /// Charges the bucket whether it holds the cost or not, if it will be covered within `wait_max`.
    pub(crate) fn book(&self, ask: &Ask, when: When<'_>, wait_max: Span) -> Result<Booked, Unbooked> {
        let (now, patience, mut places) = (when.moment(), Patience::default(), 0);
        let ruler = self.meters.ruler(ask.limit);
        let meter = meter_of(&ruler)?;
        if ruler.never_admits(ask.demand) {
            return Err(Unbooked::Never);
        }
        loop {
            let (slot, tag) = match self.find(ask) {
                Some(found) => found,
                None if places == PLACES_MAX => return Err(Unbooked::Crowded(CLOCK_ERROR_MAX)),
                None => {
                    places += 1;
                    match self.place_to_book(ask, when)? {
                        Some(overflow) => overflow,
                        None => continue,
                    }
                }
            };
            if tag.limit() != Some(ask.limit) {
                self.relabel(ask, when);
                patience.wait();
                continue;
            }
            let is_overflow = tag == Tag::overflow(ask.limit);
            match slot.mark(tag) {
                Ok(mark) => {
                    let from = if is_overflow { self.overflow_mark(mark, &ruler, now) } else { mark };
                    let booking =
                        meter.book(from, ask.demand, now).map_err(|why| unbooked(why, &meter, now))?;
                    let wait = wait_for(&meter, booking.missing, now);
                    if wait > wait_max || wait == Span::MAX {
                        return Err(Unbooked::TooLong(wait));
                    }
                    if slot.swap(mark, booking.mark) {
                        if is_overflow {
                            self.counters.count(Event::Overflowed);
                        }
                        return Ok(Booked { departure: booking.departure, wait });
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

    /// Gives back a booking of somebody who left at this departure: no more than there would be had it never come, as of any charge.
    pub(crate) fn give_back_booked(&self, ask: &Ask, departure: Mark, when: When<'_>) -> Adjusted {
        let ruler = self.meters.ruler(ask.limit);
        let returnable = ruler.meter().map_or(0, |meter| {
            let paid = meter.mark_of_booking(departure, ask.demand);
            ruler.reading(when.moment()).returnable(paid, ask.demand.cost)
        });
        self.give(ask, Tokens::from_micros(returnable), when)
    }

    /// Makes the bucket hold no more than when the ask, with this departure, was booked; if it was forgotten it gets a place for
    /// that.
    pub(crate) fn drain_to(&self, ask: &Ask, departure: Mark, when: When<'_>) {
        let ruler = self.meters.ruler(ask.limit);
        let Some(meter) = ruler.meter() else { return };
        let booked = meter.mark_of_booking(departure, ask.demand);
        let most = ruler.reading(when.moment()).balance(booked);
        let patience = Patience::default();
        for _ in 0..PLACES_MAX {
            if self.find(ask).is_some() || !matches!(self.place_to_book(ask, when), Ok(None)) {
                break;
            }
            patience.wait();
        }
        self.rewrite(ask, when, |reading: &Reading, mark| reading.emptier(mark, reading.mark_of(most)));
    }

    /// Gives an absent bucket a place without charging it; the overflow bucket, if that stands for it.
    fn place_to_book(&self, ask: &Ask, when: When<'_>) -> Result<Option<(&Slot, Tag)>, Unbooked> {
        // A place is taken for no cost at all: what the bucket holds does not matter to whoever will wait.
        let free = Ask { demand: Demand::of(Cost::micros(0)), ..*ask };
        match self.move_in(&free, when, Purpose::Place) {
            MoveIn::UseOverflow => Ok(Some((self.meters.overflow(ask.limit), Tag::overflow(ask.limit)))),
            // No room, or only for one that starts in debt, which is not booked blindly: it may be somebody else's.
            MoveIn::Decided(Verdict::Deny { wait, .. }) => Err(Unbooked::Crowded(wait)),
            MoveIn::Decided(_) | MoveIn::LookAgain => Ok(None),
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
