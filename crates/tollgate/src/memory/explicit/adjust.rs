//! What is done to an explicit bucket besides checking it: refunds, resets, and charges that are settled.
//!
//! Nothing here makes a bucket fuller than full, and what is given back of a charge is no more than if it had never been
//! made. It does not know reservations.

use tollgate_core::{Moment, StampedBalance, StampedLevel, Tokens};

use crate::memory::explicit::joint::ExplicitReceipt;
use crate::memory::explicit::slot::{FullAt, Seen, full_after};
use crate::memory::explicit::store::{ExplicitStore, MoveIn, Purpose, level_of};
use crate::memory::explicit::told::ExplicitAsk;
use crate::memory::store::When;
use crate::sync::Patience;

/// What a bucket held before and after, in micro-tokens; negative is debt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) before: i64,
    pub(crate) after: i64,
}

impl Change {
    const NONE: Change = Change { before: 0, after: 0 };

    /// What the bucket gained.
    pub(crate) const fn given(self) -> Tokens {
        let gain = self.after.saturating_sub(self.before);
        Tokens::from_micros(if gain > 0 { gain.cast_unsigned() } else { 0 })
    }

    /// What it lost.
    pub(crate) const fn taken(self) -> Tokens {
        Change { before: self.after, after: self.before }.given()
    }
}

impl ExplicitStore {
    /// Gives a bucket up to `amount`, until it is full under the ask's limit.
    pub(crate) fn give(&self, ask: &ExplicitAsk, amount: Tokens, when: When<'_>) -> Change {
        let changed = self.rewrite(ask, when, |level, _| {
            let given = level.given(amount.as_micros());
            (given.stored(), full_after(level.now(), given.time_to_full()))
        });
        changed.unwrap_or_else(|| {
            // Absent, and as full as a newcomer.
            let held = self.peek(ask, when).remaining.as_micros().cast_signed();
            Change { before: held, after: held }
        })
    }

    /// Gives back up to `amount` of a charge that was made: no more than if it had never been made. What the bucket would have
    /// minted beyond full meanwhile, had it not been charged, is lost; so is what a reset has forgiven.
    pub(crate) fn give_back(&self, receipt: &ExplicitReceipt, amount: Tokens, when: When<'_>) -> Change {
        let ExplicitReceipt { wanted, paid, resets } = receipt;
        let ask = &wanted.ask;
        let give = || {
            self.rewrite(ask, when, |level, seen| {
                let worth = returnable(ask, *paid, level.now()).min(amount).as_micros();
                let (burst, held) = (ask.limit.burst().as_micros().cast_signed(), seen.balance.micros);
                let given = i64::try_from(worth).unwrap_or(i64::MAX).min(burst.saturating_sub(held)).max(0);
                // The rate since the stamp is for the bucket's next check to say, and so is when it is full.
                (seen.balance.plus(given), seen.full_at())
            })
        };
        self.resets.unless_reset(ask.id, *resets, give).flatten().unwrap_or(Change::NONE)
    }

    /// Takes `amount` from a bucket, into debt if need be, but no deeper than `debt_max`.
    pub(crate) fn take_into_debt(
        &self,
        ask: &ExplicitAsk,
        amount: Tokens,
        debt_max: Tokens,
        when: When<'_>,
    ) -> Change {
        loop {
            let changed = self.rewrite(ask, when, |level, seen| {
                let most = i128::from(level.micros()) + i128::from(debt_max.as_micros());
                let most = u64::try_from(most.max(0)).unwrap_or(u64::MAX);
                let taken = amount.as_micros().min(most);
                let is_full = level.micros().unsigned_abs() == ask.limit.burst().as_micros();
                // What was minted beyond full pays for nothing. Else the rate since the stamp is for the next check to say.
                let less = i64::try_from(taken).unwrap_or(i64::MAX).saturating_neg();
                let stored = if is_full { level.charged(taken).stored() } else { seen.balance.plus(less) };
                let left = StampedLevel::new(&ask.limit, stored, level.now());
                (stored, seen.full_at().max(full_after(level.now(), left.time_to_full())))
            });
            match changed {
                Some(change) => return change,
                // It was full, and has to be there to owe.
                None => {
                    if let MoveIn::Decided(_) = self.move_in(ask, when, Purpose::Place) {
                        return Change::NONE;
                    }
                }
            }
        }
    }

    /// Fills a bucket, whatever it has spent or owes. What was charged before is not given back after it.
    pub(crate) fn reset(&self, ask: &ExplicitAsk, when: When<'_>) {
        self.resets.reset(ask.id, || {
            while self.look(ask.id).is_none() {
                // Evicted, perhaps, so that it would come back as it was; where there is no room, that stays so.
                if let MoveIn::Decided(_) = self.move_in(ask, when, Purpose::Fill) {
                    return;
                }
            }
            // Since ever, so that no clock is behind it.
            let full = StampedBalance::full(Moment::default());
            let patience = Patience::default();
            while let Some((slot, seen)) = self.look(ask.id) {
                if slot.replace(seen, full, FullAt::NOW) {
                    return;
                }
                patience.wait();
            }
        });
    }

    /// Writes what `next` makes of a bucket that is in the table, and from when on it is full. What it held before and after
    /// under the ask's limit; `None` if it is absent.
    fn rewrite(
        &self,
        ask: &ExplicitAsk,
        when: When<'_>,
        next: impl Fn(&StampedLevel, Seen) -> (StampedBalance, FullAt),
    ) -> Option<Change> {
        let patience = Patience::default();
        loop {
            let (slot, seen) = self.look(ask.id)?;
            let level = level_of(&ask.limit, seen, when);
            let (stored, full_at) = next(&level, seen);
            // What is not to change keeps its stamp, and the rate since then is for the next check to say.
            if stored.micros == level.micros() {
                return Some(Change { before: level.micros(), after: level.micros() });
            }
            if slot.replace(seen, stored, full_at) {
                let after = StampedLevel::new(&ask.limit, stored, level.now()).micros();
                return Some(Change { before: level.micros(), after });
            }
            patience.wait();
        }
    }
}

/// What a charge that left the bucket at `paid` is still worth: less what the bucket would have minted beyond full since, had
/// the charge not been made.
fn returnable(ask: &ExplicitAsk, paid: StampedBalance, now: Moment) -> Tokens {
    let unspent = i128::from(paid.micros) + i128::from(ask.cost.as_micros());
    let minted = i128::from(ask.limit.minted_in(now.since(paid.stamp)).as_micros());
    let lost = (unspent + minted - i128::from(ask.limit.burst().as_micros())).max(0);
    let worth = u64::try_from(i128::from(ask.cost.as_micros()) - lost).unwrap_or(0);
    Tokens::from_micros(worth)
}
