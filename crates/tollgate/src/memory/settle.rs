//! What becomes of charges that were made: given back, or forgiven by a reset, but not both.
//!
//! Whatever the order, a bucket is left no fuller than if the charge had never been made. It does not know reservations or guards.

use tollgate_core::{Reading, Tokens};

use crate::memory::LimitId;
use crate::memory::adjust::Adjusted;
use crate::memory::meters::MeterSource;
use crate::memory::receipt::{LogReceipt, Receipt};
use crate::memory::store::{Ask, Store, When};

impl<M: MeterSource> Store<M> {
    /// Gives back up to `amount` of a charge that was made: no more than if it had never been made. What the bucket would have
    /// minted beyond full meanwhile, had it not been charged, is lost; so is what was charged under another tier, whose burst is
    /// another, and what a reset has forgiven. In a leaky bucket others may have queued behind it and been told when to leave, so
    /// only the last one gives back. No bucket is deeper in debt than `debt_max`, unless its clock was set back.
    pub(crate) fn give_back(
        &self,
        receipt: &Receipt,
        amount: Tokens,
        debt_max: Tokens,
        when: When<'_>,
    ) -> Adjusted {
        if receipt.overflow {
            // Nobody resets what strangers share; and all that wait there may be in debt.
            let unknown = Tokens::from_micros(u64::MAX);
            return self.give_back_unforgiven(receipt, amount, unknown, when);
        }
        let give = || self.give_back_unforgiven(receipt, amount, debt_max, when);
        self.resets.unless_reset(receipt.ask.id, receipt.resets, give).unwrap_or(Adjusted::NOT)
    }

    fn give_back_unforgiven(
        &self,
        receipt: &Receipt,
        amount: Tokens,
        debt_max: Tokens,
        when: When<'_>,
    ) -> Adjusted {
        let (Receipt { ask, paid, .. }, now) = (receipt, when.moment());
        let (cost, ruler) = (ask.demand.cost, self.meters.ruler(ask.limit));
        let (charged_under, has_lapsed) = (ruler.reading(now), ruler.has_lapsed(receipt.at, now));
        let next = |reading: &Reading, mark| match (receipt.generation, reading) {
            (Some(generation), _) => reading.leave(mark, generation, cost).unwrap_or(mark),
            (None, _) if has_lapsed => mark,
            (None, Reading::Level { .. }) if *reading != charged_under => mark,
            (None, _) if ruler.is_queue() && mark != *paid => mark,
            (None, _) => reading.give_back(mark, *paid, cost, amount.as_micros(), debt_max),
        };
        if receipt.overflow { self.rewrite_overflow(ask, when, next) } else { self.rewrite(ask, when, next) }
    }

    /// Gives back up to `amount` of a charge to a log, if it still counts and no reset has forgiven it.
    pub(crate) fn give_back_to_log(&self, receipt: &LogReceipt, amount: Tokens, when: When<'_>) -> Adjusted {
        let ask = Ask { id: receipt.id, limit: receipt.limit_id, demand: receipt.demand };
        let Some(limit) = self.meters.ruler(receipt.limit_id).log() else { return Adjusted::NOT };
        let give = || {
            self.adjust_log(&ask, &limit, when.moment(), |log| {
                log.give_back_of(receipt.at, amount.as_micros());
            })
        };
        self.resets.unless_reset(receipt.id, receipt.resets, give).unwrap_or(Adjusted::NOT)
    }

    /// Fills a bucket, whatever it has spent or owes, but for what is `booked` by those who wait: that is still to be paid. What
    /// was charged before is not given back after it. If `under` some limit, it is filled only while it stands under that one.
    pub(crate) fn reset(
        &self,
        ask: &Ask,
        booked: Tokens,
        under: Option<LimitId>,
        when: When<'_>,
    ) -> Adjusted {
        self.resets.reset(ask.id, || self.fill(ask, booked, under, when))
    }

    fn fill(&self, ask: &Ask, booked: Tokens, under: Option<LimitId>, when: When<'_>) -> Adjusted {
        if let Some(limit) = self.meters.ruler(ask.limit).log() {
            return self.adjust_log(ask, &limit, when.moment(), |log| {
                log.give_back(u64::MAX);
            });
        }
        if self.find(ask).is_none() && !self.would_be_full(ask, when) {
            // Displaced from a crowded window: without a place it would come back as it is.
            let _ = self.place(ask, when);
        }
        let booked = booked.as_micros().min(i64::MAX.unsigned_abs()).cast_signed();
        let is_other = self.is_other(under, when);
        self.rewrite(ask, when, |reading, mark| {
            if is_other(reading) { mark } else { reading.adjust(reading.reset(mark), -booked) }
        })
    }
}
