//! Charges that lie ahead of the meter, for those who wait: booked at once, covered later, given back if they give up.
//!
//! While a booking is not covered the bucket is in debt, so no check is admitted before whoever waits. Knows no queue.

use tollgate_core::{Cost, Level, Mark, Meter, Moment, Span, Spend, Tokens};

use crate::Verdict;
use crate::clock::CLOCK_ERROR_MAX;
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
    /// Where the meter of the ask's limit must be before the charge is covered.
    pub(crate) mark: Mark,
    /// How long that takes; zero if the bucket could pay at once.
    pub(crate) wait: Span,
}

/// Why nothing was booked. Nothing was charged either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unbooked {
    /// The cost is above the burst.
    Never,
    /// It would be covered only after this wait, which is longer than allowed.
    TooLong(Span),
    /// The bucket would be in debt by more than [`tollgate_core::DEBT_MAX`].
    TooDeep,
    /// The table has no room for the bucket, and may have some after this wait.
    Crowded(Span),
}

impl<M: MeterSource> Store<M> {
    /// Charges the bucket whether it holds the cost or not, if it will be covered within `wait_max`.
    pub(crate) fn book(&self, ask: &Ask, when: When<'_>, wait_max: Span) -> Result<Booked, Unbooked> {
        let (now, patience, mut places) = (when.moment(), Patience::default(), 0);
        let meter = self.meters.meter(ask.limit);
        if meter.limit().never_admits(ask.cost) {
            return Err(Unbooked::Never);
        }
        loop {
            let (slot, tag) = match self.find(ask) {
                Some(found) => found,
                None if places == PLACES_MAX => return Err(Unbooked::Crowded(CLOCK_ERROR_MAX)),
                None => {
                    places += 1;
                    match self.place(ask, when)? {
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
            match slot.mark(tag) {
                Ok(mark) => {
                    let booked = self.booked(tag, mark, ask.cost, &meter, now)?;
                    if booked.wait > wait_max {
                        return Err(Unbooked::TooLong(booked.wait));
                    }
                    if slot.swap(mark, booked.mark) {
                        if tag == Tag::overflow(ask.limit) {
                            self.counters.count(Event::Overflowed);
                        }
                        return Ok(booked);
                    }
                }
                Err(Unread::Locked) => patience.wait(),
                Err(Unread::Gone) => {}
            }
        }
    }

    /// Whether the bucket is in the table and holds too little, so that there is nothing to do but to book. A quick look: what
    /// it does not see, a check in full will.
    pub(crate) fn is_short(&self, ask: &Ask, now: Moment) -> bool {
        let meter = self.meters.meter(ask.limit);
        let mark = self.find(ask).and_then(|(slot, tag)| {
            slot.mark(tag)
                .ok()
                .filter(|_| tag.limit() == Some(ask.limit) && !meter.limit().never_admits(ask.cost))
        });
        mark.is_some_and(|mark| matches!(meter.level(now).spend(mark, ask.cost), Spend::Short { .. }))
    }

    /// Gives an absent bucket a place without charging it; the overflow bucket, if that stands for it.
    fn place(&self, ask: &Ask, when: When<'_>) -> Result<Option<(&Slot, Tag)>, Unbooked> {
        // A place is taken for no cost at all: what the bucket holds does not matter to whoever will wait.
        let free = Ask { cost: Cost::micros(0), ..*ask };
        match self.move_in(&free, when, Purpose::Place) {
            MoveIn::UseOverflow => Ok(Some((self.meters.overflow(ask.limit), Tag::overflow(ask.limit)))),
            // No room, or only for one that starts in debt, which is not booked blindly: it may be somebody else's.
            MoveIn::Decided(Verdict::Deny { wait, .. }) => Err(Unbooked::Crowded(wait)),
            MoveIn::Decided(_) | MoveIn::LookAgain => Ok(None),
        }
    }

    fn booked(
        &self,
        tag: Tag,
        mark: Mark,
        cost: Cost,
        meter: &Meter,
        now: Moment,
    ) -> Result<Booked, Unbooked> {
        let level = meter.level(now);
        let is_overflow = tag.limit().is_some_and(|limit| tag == Tag::overflow(limit));
        let mark = if is_overflow { level.emptier(mark, self.floor(meter, now)) } else { mark };
        let booking = level.book(mark, cost).ok_or(Unbooked::TooDeep)?;
        let wait = if booking.missing == 0 { Span::ZERO } else { meter.wait_for(booking.missing, now) };
        Ok(Booked { mark: booking.mark, wait })
    }

    /// Gives the ask's cost back to its bucket, under whatever limit it is now, and makes it no fuller than full: what was
    /// really given. A bucket that is not in the table is full, and gets nothing.
    pub(crate) fn give_back(&self, ask: &Ask, when: When<'_>) -> Tokens {
        let mut given = Tokens::ZERO;
        self.move_mark(ask, when, |level, mark| {
            let (back, amount) = level.give_back(mark, Tokens::from(ask.cost));
            given = amount;
            back
        });
        given
    }

    /// Makes the bucket hold no more than one whose mark under the ask's limit is `ceiling`. If it was forgotten, it gets a
    /// place for that, unless there is none.
    pub(crate) fn drain_to(&self, ask: &Ask, ceiling: Mark, when: When<'_>) {
        let most = self.meters.meter(ask.limit).level(when.moment()).lead(ceiling);
        for _ in 0..PLACES_MAX {
            let moved = self.move_mark(ask, when, |level, mark| level.emptier(mark, level.mark_of(most)));
            if moved || !matches!(self.place(ask, when), Ok(None)) {
                return;
            }
        }
    }

    /// Moves the mark of a bucket, under whatever limit it is. Whether it is in the table.
    fn move_mark(&self, ask: &Ask, when: When<'_>, mut to: impl FnMut(Level, Mark) -> Mark) -> bool {
        let patience = Patience::default();
        while let Some((slot, tag)) = self.find(ask) {
            match (slot.mark(tag), tag.limit()) {
                (Ok(mark), Some(limit)) => {
                    let level = self.meters.meter(limit).level(when.moment());
                    if slot.swap(mark, to(level, mark)) {
                        return true;
                    }
                }
                (Err(Unread::Locked), _) => patience.wait(),
                (Ok(_), None) | (Err(Unread::Gone), _) => {}
            }
        }
        false
    }
}
