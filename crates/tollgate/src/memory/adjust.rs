//! Giving tokens to a bucket and taking them from it outside a check: refunds, grants, overruns.
//!
//! A bucket that is not in the table is full, unless its windows are crowded: there is nothing to give it. Whatever is given, no bucket is ever fuller than
//! full, nor in a crowded window than its neighbours; whatever is taken, none goes deeper into debt than it may.

use tollgate_core::{Cost, Demand, Log, Mark, Moment, Reading, SlidingLog, Tokens};

use crate::memory::LimitId;
use crate::memory::gates::Held;
use crate::memory::meters::MeterSource;
use crate::memory::slot::{Slot, Tag, Unread, mutant};
use crate::memory::store::{Ask, MoveIn, Purpose, Store, When};
use crate::memory::survey::Survey;
use crate::sync::Patience;

/// What a bucket holds before and after, in micro-tokens; negative is debt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Adjusted {
    pub(crate) before: i64,
    pub(crate) after: i64,
}

/// Why an absent bucket was not changed: it got no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// The shared overflow bucket stands for it.
    UseOverflow,
    /// It is denied until there is room.
    Denied,
}

impl Adjusted {
    /// Nothing happened.
    pub(crate) const NOT: Adjusted = Adjusted { before: 0, after: 0 };

    /// Micro-tokens that the bucket gained, if any.
    pub(crate) fn given(self) -> Tokens {
        Tokens::from_micros(self.after.saturating_sub(self.before).max(0).unsigned_abs())
    }

    /// Micro-tokens that the bucket lost, if any.
    pub(crate) fn taken(self) -> Tokens {
        Tokens::from_micros(self.before.saturating_sub(self.after).max(0).unsigned_abs())
    }
}

impl<M: MeterSource> Store<M> {
    /// Gives up to `amount` to a bucket, until it is full; if `under` some limit, only while it stands under that one.
    pub(crate) fn give(&self, ask: &Ask, amount: Tokens, under: Option<LimitId>, when: When<'_>) -> Adjusted {
        let micros = amount.as_micros().min(i64::MAX.unsigned_abs()).cast_signed();
        if let Some(limit) = self.meters.ruler(ask.limit).log() {
            return self.adjust_log(ask, &limit, when.moment(), |log| {
                log.give_back(amount.as_micros());
            });
        }
        let is_other = self.is_other(under, when);
        let next =
            |reading: &Reading, mark| if is_other(reading) { mark } else { reading.adjust(mark, micros) };
        self.rewrite(ask, when, next)
    }

    /// Takes up to `amount` from a bucket, into debt if need be, but not beyond `debt_max`.
    pub(crate) fn take_into_debt(
        &self,
        ask: &Ask,
        amount: Tokens,
        debt_max: Tokens,
        when: When<'_>,
    ) -> Adjusted {
        let floor = -debt_max.as_micros().min(i64::MAX.unsigned_abs()).cast_signed();
        let part = |balance: i64| amount.as_micros().min(balance.saturating_sub(floor).max(0).unsigned_abs());
        if let Some(limit) = self.meters.ruler(ask.limit).log() {
            let now = when.moment();
            return self.adjust_log(ask, &limit, now, |log| {
                log.charge(part(log.balance(&limit, now)), now);
            });
        }
        let next = |reading: &Reading, mark| reading.adjust(mark, -part(reading.balance(mark)).cast_signed());
        match self.try_rewrite(ask, when, next) {
            Ok(adjusted) => adjusted,
            Err(NoRoom::UseOverflow) => self.rewrite_overflow(ask, when, next),
            Err(NoRoom::Denied) => self.unchanged(ask, when),
        }
    }

    /// Whether a reading is not that of the limit that a bucket must stand under, if it must.
    pub(super) fn is_other(&self, under: Option<LimitId>, when: When<'_>) -> impl Fn(&Reading) -> bool {
        let own = under.map(|limit| self.meters.ruler(limit).reading(when.moment()));
        move |reading| own.is_some_and(|own| own != *reading)
    }

    /// Changes a log.
    pub(crate) fn adjust_log(
        &self,
        ask: &Ask,
        limit: &SlidingLog,
        now: Moment,
        change: impl FnOnce(&mut Log),
    ) -> Adjusted {
        self.logs.with(ask.id, ask.limit, limit, self.meters.log_room(ask.limit), now, |log| {
            let before = log.balance(limit, now);
            change(log);
            Adjusted { before, after: log.balance(limit, now) }
        })
    }

    /// Moves the mark of a bucket to what `next` makes of it, under whatever limit of its rule it is. An absent bucket is full;
    /// it moves in only if that changes, and stays as it is if there is no room.
    pub(crate) fn rewrite(
        &self,
        ask: &Ask,
        when: When<'_>,
        next: impl Fn(&Reading, Mark) -> Mark,
    ) -> Adjusted {
        self.try_rewrite(ask, when, next).unwrap_or_else(|_| self.unchanged(ask, when))
    }

    fn try_rewrite(
        &self,
        ask: &Ask,
        when: When<'_>,
        next: impl Fn(&Reading, Mark) -> Mark,
    ) -> Result<Adjusted, NoRoom> {
        let (now, patience) = (when.moment(), Patience::default());
        loop {
            let Some((slot, tag)) = self.find(ask) else {
                let reading = self.meters.ruler(ask.limit).reading(now);
                let full = reading.full_mark();
                let (before, after) = (reading.balance(full), reading.balance(next(&reading, full)));
                if after >= before {
                    return Ok(self.unchanged(ask, when));
                }
                self.place(ask, when)?;
                continue;
            };
            let limit = tag.limit().unwrap_or(ask.limit);
            let ruler = self.meters.ruler(limit);
            let reading = ruler.reading(now);
            let inherits = ruler.is_inheritable() && self.meters.may_have_evicted(limit);
            let raises = |mark| reading.balance(next(&reading, mark)) > reading.balance(mark);
            let is_gift = inherits && slot.mark(tag).map_or(true, raises);
            // Held until the mark is moved: nobody is displaced meanwhile.
            let gates = is_gift.then(|| self.table.gates.hold(ask.id.windows));
            let most = match &gates {
                Some(gates) => self.gift_max(gates, ask, limit, slot, now),
                // It was full, or something is taken: nothing is given now.
                None => inherits.then_some(i64::MIN),
            };
            let next = |mark| no_fuller(&reading, mark, next(&reading, mark), most);
            if let Some(adjusted) = move_mark(slot, tag, &reading, next) {
                return Ok(adjusted);
            }
            drop(gates);
            patience.wait();
        }
    }

    /// What the bucket in this slot may be given up to, if its window is crowded: as much as the fullest of its limit there holds.
    /// Whoever was displaced from there comes back no fuller than that one, which must not be one that was given tokens since.
    fn gift_max(&self, gates: &Held<'_>, ask: &Ask, limit: LimitId, slot: &Slot, now: Moment) -> Option<i64> {
        let has_evicted = |which: &usize| self.has_evicted(gates, *which, limit);
        if !(0..2).any(|which| has_evicted(&which)) {
            return None;
        }
        let (survey, reading) =
            (Survey::of(&self.table, ask.id, &self.meters, now), self.meters.ruler(limit).reading(now));
        let windows = (0..2).filter(|which| has_evicted(which) && survey.has(*which, slot));
        windows.filter_map(|which| survey.fullest(which, limit, reading)).min()
    }

    /// Moves the mark of the bucket that stands for all clients of a limit who find no room.
    pub(crate) fn rewrite_overflow(
        &self,
        ask: &Ask,
        when: When<'_>,
        next: impl Fn(&Reading, Mark) -> Mark,
    ) -> Adjusted {
        let (slot, ruler, now) =
            (self.meters.overflow(ask.limit), self.meters.ruler(ask.limit), when.moment());
        let (reading, floor) = (ruler.reading(now), self.floor(&ruler, now));
        let next = |mark| {
            let from = reading.emptier(mark, floor);
            let to = next(&reading, from);
            if to == from { mark } else { to }
        };
        move_mark(slot, Tag::overflow(ask.limit), &reading, next).unwrap_or(Adjusted::NOT)
    }

    /// Puts an absent bucket into the table, uncharged; it may be there now.
    pub(crate) fn place(&self, ask: &Ask, when: When<'_>) -> Result<(), NoRoom> {
        // Asks for nothing, so that one that is empty finds a place, too.
        match self.move_in(&asking_nothing(ask), when, Purpose::Place) {
            MoveIn::LookAgain => Ok(()),
            MoveIn::UseOverflow => Err(NoRoom::UseOverflow),
            MoveIn::Decided(_) => Err(NoRoom::Denied),
        }
    }

    /// What a bucket holds, and nothing is done to it.
    fn unchanged(&self, ask: &Ask, when: When<'_>) -> Adjusted {
        let held = self.peek(&asking_nothing(ask), when).remaining().unwrap_or(Tokens::ZERO);
        let balance = held.as_micros().min(i64::MAX.unsigned_abs()).cast_signed();
        Adjusted { before: balance, after: balance }
    }

    /// Whether an absent bucket would be as full as one can be, were it charged now.
    pub(crate) fn would_be_full(&self, ask: &Ask, when: When<'_>) -> bool {
        let reading = self.meters.ruler(ask.limit).reading(when.moment());
        self.unchanged(ask, when).after == reading.balance(reading.full_mark()).max(0)
    }
}

/// The same bucket, of which nothing is asked.
fn asking_nothing(ask: &Ask) -> Ask {
    Ask { demand: Demand::of(Cost::micros(0)), ..*ask }
}

/// The mark that a bucket moves to, but no fuller than one that holds `most`, unless it was already.
fn no_fuller(reading: &Reading, from: Mark, to: Mark, most: Option<i64>) -> Mark {
    let (before, after) = (reading.balance(from), reading.balance(to));
    match most {
        Some(most) if after > before && after > most => {
            if most > before {
                reading.mark_of(most)
            } else {
                from
            }
        }
        _ => to,
    }
}

/// Moves the mark of a slot to what `next` makes of it; `None` if it is somebody else's by now.
pub(super) fn move_mark(
    slot: &Slot,
    tag: Tag,
    reading: &Reading,
    next: impl Fn(Mark) -> Mark,
) -> Option<Adjusted> {
    let patience = Patience::default();
    loop {
        match slot.mark(tag) {
            Ok(mark) => {
                let moved = next(mark);
                if mutant::is("blind") {
                    slot.release(moved);
                }
                if moved == mark || mutant::is("blind") || slot.swap(mark, moved) {
                    return Some(Adjusted { before: reading.balance(mark), after: reading.balance(moved) });
                }
            }
            Err(Unread::Locked) => patience.wait(),
            Err(Unread::Gone) => return None,
        }
    }
}
