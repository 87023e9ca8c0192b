//! Giving tokens to a bucket and taking them from it outside a check: refunds, grants, settlements, resets.
//!
//! A bucket that is not in the table is full, unless its windows are crowded: there is nothing to give it. Whatever is given, no bucket is ever fuller than
//! full, nor in a crowded window than its neighbours; whatever is taken, none goes deeper into debt than it may.

use tollgate_core::{Cost, Demand, Log, Mark, Moment, Reading, SlidingLog, Tokens};

use crate::memory::gates::Held;
use crate::memory::meters::MeterSource;
use crate::memory::receipt::{LogReceipt, Receipt};
use crate::memory::slot::{Slot, Tag, Unread, mutant};
use crate::memory::store::{Ask, MoveIn, Purpose, Store, When};
use crate::memory::survey::Survey;
use crate::memory::{Crowding, LimitId};
use crate::sync::Patience;

/// What a bucket holds before and after, in micro-tokens; negative is debt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Adjusted {
    pub(crate) before: i64,
    pub(crate) after: i64,
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
        self.rewrite(ask, when, |reading, mark| {
            reading.adjust(mark, -part(reading.balance(mark)).cast_signed())
        })
    }

    /// Gives back up to `amount` of a charge that was made: no more than if it had never been made. What the bucket would have
    /// minted beyond full meanwhile, had it not been charged, is lost; so is what was charged under another tier, whose burst is
    /// another. In a leaky bucket others may have queued behind it and been told when to leave, so only the last one gives back.
    pub(crate) fn give_back(&self, receipt: &Receipt, amount: Tokens, when: When<'_>) -> Adjusted {
        let (Receipt { ask, paid, .. }, now) = (receipt, when.moment());
        let ruler = self.meters.ruler(ask.limit);
        let charged_under = ruler.reading(now);
        let micros = charged_under.returnable(*paid, ask.demand.cost).min(amount.as_micros()).cast_signed();
        let next = |reading: &Reading, mark| match (receipt.generation, reading) {
            (Some(generation), _) => reading.leave(mark, generation, ask.demand.cost).unwrap_or(mark),
            (None, Reading::Level { .. }) if *reading != charged_under => mark,
            (None, _) if ruler.is_queue() && mark != *paid => mark,
            (None, _) => reading.adjust(mark, micros),
        };
        if receipt.overflow {
            let slot = self.meters.overflow(ask.limit);
            let mark_of = |mark| next(&charged_under, mark);
            return move_mark(slot, Tag::overflow(ask.limit), &charged_under, mark_of)
                .unwrap_or(Adjusted::NOT);
        }
        self.rewrite(ask, when, next)
    }

    /// Gives back up to `amount` of a charge to a log, if it still counts.
    pub(crate) fn give_back_to_log(&self, receipt: &LogReceipt, amount: Tokens, when: When<'_>) -> Adjusted {
        let ask = Ask { id: receipt.id, limit: receipt.limit_id, demand: receipt.demand };
        match self.meters.ruler(receipt.limit_id).log() {
            Some(limit) => self.adjust_log(&ask, &limit, when.moment(), |log| {
                log.give_back_of(receipt.at, amount.as_micros());
            }),
            None => Adjusted::NOT,
        }
    }

    /// Fills a bucket, whatever it has spent or owes, but for what is `booked` by those who wait: that is still to be paid. If
    /// `under` some limit, only while it stands under that one.
    pub(crate) fn reset(
        &self,
        ask: &Ask,
        booked: Tokens,
        under: Option<LimitId>,
        when: When<'_>,
    ) -> Adjusted {
        if let Some(limit) = self.meters.ruler(ask.limit).log() {
            return self.adjust_log(ask, &limit, when.moment(), |log| {
                log.give_back(u64::MAX);
            });
        }
        if self.find(ask).is_none() && !self.would_be_full(ask, when) {
            // Displaced from a crowded window: without a place it would come back as it is.
            self.place(ask, when);
        }
        let booked = booked.as_micros().min(i64::MAX.unsigned_abs()).cast_signed();
        let is_other = self.is_other(under, when);
        self.rewrite(ask, when, |reading, mark| {
            if is_other(reading) { mark } else { reading.adjust(reading.reset(mark), -booked) }
        })
    }

    /// Whether a reading is not that of the limit that a bucket must stand under, if it must.
    fn is_other(&self, under: Option<LimitId>, when: When<'_>) -> impl Fn(&Reading) -> bool {
        let own = under.map(|limit| self.meters.ruler(limit).reading(when.moment()));
        move |reading| own.is_some_and(|own| own != *reading)
    }

    fn adjust_log(
        &self,
        ask: &Ask,
        limit: &SlidingLog,
        now: Moment,
        change: impl FnOnce(&mut Log),
    ) -> Adjusted {
        self.logs.with(ask.id, ask.limit, limit, now, |log| {
            let before = log.balance(limit, now);
            change(log);
            Adjusted { before, after: log.balance(limit, now) }
        })
    }

    /// Moves the mark of a bucket to what `next` makes of it, under whatever limit of its rule it is. An absent bucket is full;
    /// it moves in only if that changes.
    pub(crate) fn rewrite(
        &self,
        ask: &Ask,
        when: When<'_>,
        next: impl Fn(&Reading, Mark) -> Mark,
    ) -> Adjusted {
        let (now, patience) = (when.moment(), Patience::default());
        loop {
            let Some((slot, tag)) = self.find(ask) else {
                let reading = self.meters.ruler(ask.limit).reading(now);
                let full = reading.full_mark();
                let (before, after) = (reading.balance(full), reading.balance(next(&reading, full)));
                // There may be no room for the debt of a client that has no place.
                if after >= before || !self.place(ask, when) {
                    return Adjusted { before, after: before };
                }
                continue;
            };
            let limit = tag.limit().unwrap_or(ask.limit);
            let ruler = self.meters.ruler(limit);
            let reading = ruler.reading(now);
            let inherits = self.crowding == Crowding::Inherit && ruler.is_inheritable();
            let raises = |mark| reading.balance(next(&reading, mark)) > reading.balance(mark);
            let is_gift = inherits && slot.mark(tag).map_or(true, raises);
            // Held until the mark is moved: nobody is displaced meanwhile.
            let gates = is_gift.then(|| self.gates.hold(ask.id.windows));
            let most = match &gates {
                Some(gates) => self.gift_max(gates, ask, limit, slot, now),
                // It was full, or something is taken: nothing is given now.
                None => inherits.then_some(i64::MIN),
            };
            let next = |mark| no_fuller(&reading, mark, next(&reading, mark), most);
            if let Some(adjusted) = move_mark(slot, tag, &reading, next) {
                return adjusted;
            }
            drop(gates);
            patience.wait();
        }
    }

    /// What the bucket in this slot may be given up to, if its window is crowded: as much as the fullest of its limit there holds.
    /// Whoever was displaced from there comes back no fuller than that one, which must not be one that was given tokens since.
    fn gift_max(&self, gates: &Held<'_>, ask: &Ask, limit: LimitId, slot: &Slot, now: Moment) -> Option<i64> {
        if !gates.is_crowded(0) && !gates.is_crowded(1) {
            return None;
        }
        let (survey, reading) =
            (Survey::of(&self.table, ask.id, &self.meters, now), self.meters.ruler(limit).reading(now));
        let windows = (0..2).filter(|which| gates.is_crowded(*which) && survey.has(*which, slot));
        windows.filter_map(|which| survey.fullest(which, limit, reading)).min()
    }

    /// Puts an absent bucket into the table, uncharged; whether it may be there now.
    fn place(&self, ask: &Ask, when: When<'_>) -> bool {
        // Asks for nothing, so that one that is empty finds a place, too.
        let placing = Ask { demand: Demand::of(Cost::micros(0)), ..*ask };
        matches!(self.move_in(&placing, when, Purpose::Place), MoveIn::LookAgain)
    }

    /// Whether an absent bucket would be as full as one can be, were it charged now.
    fn would_be_full(&self, ask: &Ask, when: When<'_>) -> bool {
        let looking = Ask { demand: Demand::of(Cost::micros(0)), ..*ask };
        let reading = self.meters.ruler(ask.limit).reading(when.moment());
        let full = Tokens::from_micros(reading.balance(reading.full_mark()).max(0).unsigned_abs());
        self.peek(&looking, when).remaining() == Some(full)
    }
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
