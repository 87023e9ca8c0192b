//! A bucket in a shared ledger: what it holds, and what nodes hold of it.
//!
//! Invariants, from call to call: `balance + held_new + held_old ≤ burst`, and the two together are at least what all nodes hold
//! unspent. It does not know who holds how much, and takes only states that it has made. All of it is micro-tokens and microseconds of the store's clock, and is
//! transcribed by the store's script line by line: no intermediate reaches 2^53.

use super::{LeaseTerms, LedgerLimit};

/// A clock this far behind the stamp (µs) was set back for good: the stamp follows it, and nothing is credited.
const CLOCK_BEHIND_MAX: u64 = 1_000_000;

/// One shared bucket. An absent one is full: [`LedgerBucket::full`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerBucket {
    /// Micro-tokens that nobody holds, as of the stamp. Negative while slices are out that are still being minted.
    pub balance: i64,
    /// When that was, µs.
    pub stamp: u64,
    /// The number of the epoch. Starts at the time of birth, so that no record of an earlier life of the key fits.
    pub epoch: u64,
    /// When the epoch ends, µs. It is as long as a slice lives.
    pub epoch_end: u64,
    /// Micro-tokens of slices that were taken or renewed in this epoch.
    pub held_new: u64,
    /// Those of the epoch before, not renewed since. When the epoch ends they count as spent.
    pub held_old: u64,
}

/// What becomes of a check that is decided at the ledger, without a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerSpend {
    /// Admitted; to be stored.
    Spent(LedgerBucket),
    /// Denied: so many microseconds until the balance is there, if nobody asks meanwhile and no node gives anything back.
    Denied {
        /// µs.
        wait: u64,
        /// Micro-tokens that nobody holds; negative is debt.
        balance: i64,
    },
    /// Not ever: the cost is above the burst.
    Never,
}

impl LedgerBucket {
    /// A bucket that nobody has touched: full under the oldest limit that is known, and carried through those since.
    pub fn full(terms: &LeaseTerms, now: u64) -> LedgerBucket {
        let oldest = terms.past().next_back().unwrap_or(terms.ledger());
        let bucket = LedgerBucket {
            balance: oldest.burst().cast_signed(),
            stamp: if terms.past().next().is_none() { now } else { oldest.from().min(now) },
            epoch: now,
            epoch_end: now + terms.life_micros(),
            held_new: 0,
            held_old: 0,
        };
        bucket.refilled(terms, now)
    }

    /// A bucket of which no node holds anything, with `balance` as of `stamp`: what checks without leases have left, and a first ask finds.
    pub fn unleased(terms: &LeaseTerms, balance: i64, stamp: u64, now: u64) -> LedgerBucket {
        let epoch_end = stamp.max(now) + terms.life_micros();
        LedgerBucket { balance, stamp, epoch: now, epoch_end, held_new: 0, held_old: 0 }
    }

    /// What the bucket has become at `now`: refilled up to `burst − held`, piece by piece over the ends of epochs.
    #[must_use]
    pub fn at(mut self, terms: &LeaseTerms, now: u64) -> LedgerBucket {
        if self.stamp > now {
            if self.stamp - now <= CLOCK_BEHIND_MAX {
                return self.refilled(terms, self.stamp);
            }
            // Nothing is credited, and no slice is taken back early.
            self.stamp = now;
            self.epoch_end = now + terms.life_micros();
        }
        if now < self.epoch_end {
            return self.refilled(terms, now);
        }
        self = self.refilled(terms, self.epoch_end);
        (self.held_old, self.held_new) = (self.held_new, 0);
        self.epoch += 1;
        self.epoch_end += terms.life_micros();
        if now < self.epoch_end {
            return self.refilled(terms, now);
        }
        self = self.refilled(terms, self.epoch_end);
        self.held_old = 0;
        self.epoch += 1;
        self.epoch_end = now + terms.life_micros();
        self.refilled(terms, now)
    }

    /// Decides a check of `cost` micro-tokens at `now`, by what nobody holds.
    pub fn spend(bucket: Option<LedgerBucket>, terms: &LeaseTerms, cost: u64, now: u64) -> LedgerSpend {
        if cost > terms.ledger().burst() {
            return LedgerSpend::Never;
        }
        let mut bucket = bucket.unwrap_or(LedgerBucket::full(terms, now)).at(terms, now);
        if bucket.balance < cost.cast_signed() {
            return LedgerSpend::Denied { wait: bucket.wait_for(terms, cost, now), balance: bucket.balance };
        }
        bucket.balance -= cost.cast_signed();
        LedgerSpend::Spent(bucket)
    }

    /// Gives so many micro-tokens, as refunds and grants do, but no more than there is room for.
    #[must_use]
    pub fn given(self, terms: &LeaseTerms, amount: u64, now: u64) -> LedgerBucket {
        let mut bucket = self.at(terms, now);
        let room = (bucket.full_beside(terms, 0, now) - bucket.balance).max(0).cast_unsigned();
        bucket.balance += (if amount < room { amount } else { room }).cast_signed();
        bucket
    }

    /// Takes so many micro-tokens, as overruns do, but no deeper into debt than `debt_max`.
    #[must_use]
    pub fn taken(self, terms: &LeaseTerms, amount: u64, debt_max: u64, now: u64) -> LedgerBucket {
        let mut bucket = self.at(terms, now);
        let most = (bucket.balance + debt_max.cast_signed()).max(0).cast_unsigned();
        bucket.balance -= amount.min(most).cast_signed();
        bucket
    }

    /// Fills it beside what is held, as a reset does: slices that are out stay with their nodes.
    #[must_use]
    pub fn filled(self, terms: &LeaseTerms, now: u64) -> LedgerBucket {
        let mut bucket = self.at(terms, now);
        bucket.balance = bucket.full_beside(terms, 0, now);
        bucket
    }

    /// What a full bucket holds at `now` beside all that is held, and `more`: while a raised burst is being refilled into, less than the burst
    /// leaves.
    pub(super) fn full_beside(&self, terms: &LeaseTerms, more: u64, now: u64) -> i64 {
        let full = LedgerBucket::full(terms, now).balance;
        (full - (self.held_new + self.held_old + more).cast_signed()).max(0)
    }

    /// Microseconds from `now` until the balance is `amount`, if nobody asks meanwhile and nothing is given back: slices that
    /// are not renewed make room at the ends of epochs. `self` is as of `now`.
    pub(super) fn wait_for(&self, terms: &LeaseTerms, amount: u64, now: u64) -> u64 {
        let mut then = *self;
        let ends = [then.epoch_end, then.epoch_end + terms.life_micros()];
        for end in ends {
            if let Some(at) = then.reaches(terms, amount)
                && at <= end
            {
                return at - now;
            }
            then = then.refilled(terms, end);
            (then.held_old, then.held_new) = (then.held_new, 0);
        }
        then.reaches(terms, amount).map_or(terms.life_micros(), |at| at - now)
    }

    /// When the balance would be `amount` if the epoch went on for ever; `None` if slices take the room for it.
    fn reaches(&self, terms: &LeaseTerms, amount: u64) -> Option<u64> {
        if self.balance >= amount.cast_signed() {
            return Some(self.stamp);
        }
        let missing = (amount.cast_signed() - self.balance).cast_unsigned();
        (missing <= self.room(terms)).then(|| minted_at(terms, self.stamp, missing))
    }

    /// Refills until `until`, which is not before the stamp and not after the end of the epoch, through the limits of that time.
    fn refilled(mut self, terms: &LeaseTerms, until: u64) -> LedgerBucket {
        let begun = self.stamp;
        let mut limits = terms.past().rev().chain([terms.ledger()]).peekable();
        while let Some(limit) = limits.next() {
            match limits.peek() {
                Some(next) if begun < next.from().min(until) && limit.from() <= until => {
                    self = self.refilled_by(limit, next.from().min(until));
                }
                Some(_) => {}
                None => self = self.refilled_by(limit, until),
            }
        }
        self
    }

    /// Refills by one limit.
    fn refilled_by(mut self, limit: &LedgerLimit, until: u64) -> LedgerBucket {
        // Only a limit that was changed can make the balance larger, or the debt deeper, than these.
        let most = self.most(limit);
        self.balance = self.balance.min(most).max(-limit.debt_kept_max().cast_signed());
        let room = (most - self.balance).cast_unsigned();
        self.balance += limit.minted(self.stamp, until, room).cast_signed();
        self.stamp = until;
        self
    }

    /// What the balance may become while so much is held.
    fn most(&self, limit: &LedgerLimit) -> i64 {
        limit.burst().saturating_sub(self.held_new + self.held_old).cast_signed()
    }

    /// How much the balance may grow.
    fn room(&self, terms: &LeaseTerms) -> u64 {
        (self.most(terms.ledger()) - self.balance).max(0).cast_unsigned()
    }

    /// How long the store must keep the bucket, µs from its stamp: until it is full and every slice is taken back.
    pub fn kept_for(&self, terms: &LeaseTerms) -> u64 {
        let missing = (terms.ledger().burst().cast_signed() - self.balance).max(0).cast_unsigned();
        let full = terms.ledger().time_to_mint(self.stamp, missing.min(super::LEDGER_BURST_MICROS_MAX));
        full.max(2 * terms.life_micros())
    }
}

/// When so many micro-tokens have been minted since `start` (µs): until a limit that begins later is in force, by those before it.
fn minted_at(terms: &LeaseTerms, start: u64, missing: u64) -> u64 {
    let (mut at, mut missing) = (start, missing);
    let later = terms.past().rev().skip(1).chain([terms.ledger()]);
    for (limit, next) in terms.past().rev().zip(later) {
        if at >= next.from() {
            continue;
        }
        let minted = limit.minted(at, next.from(), missing);
        if minted == missing {
            return at + limit.time_to_mint(at, missing);
        }
        (at, missing) = (next.from(), missing - minted);
    }
    at + terms.ledger().time_to_mint(at, missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Burst, Limit, Rate, Span};

    const NOW: u64 = 1_760_000_000_000_000;
    const LIFE: u64 = 400_000;

    fn terms(per_second: u64, burst: u64) -> LeaseTerms {
        let limit = Limit::new(Rate::per_second(per_second), Burst::tokens(burst)).unwrap();
        LeaseTerms::new(&limit, 4, Span::from_micros(LIFE)).unwrap()
    }

    fn changed(terms: &LeaseTerms, per_second: u64, burst: u64, from: u64) -> LeaseTerms {
        let limit = Limit::new(Rate::per_second(per_second), Burst::tokens(burst)).unwrap();
        terms.changed(&limit, from).unwrap()
    }

    #[test]
    fn what_is_held_leaves_no_room_to_refill() {
        let terms = terms(1_000, 100);
        let held = LedgerBucket { balance: 0, held_new: 60_000_000, ..LedgerBucket::full(&terms, NOW) };
        assert_eq!(held.at(&terms, NOW + 100_000).balance, 40_000_000);
        assert_eq!(held.at(&terms, NOW + LIFE).balance, 40_000_000);
        let after = held.at(&terms, NOW + 2 * LIFE);
        assert_eq!(
            (after.balance, after.held_new, after.held_old),
            (40_000_000, 0, 0),
            "taken back just now"
        );
        assert_eq!(held.at(&terms, NOW + 2 * LIFE + 10_000).balance, 50_000_000);
    }

    #[test]
    fn in_one_go_as_in_pieces() {
        let terms = terms(100, 100);
        let start = LedgerBucket {
            balance: -3,
            held_new: 60_000_000,
            held_old: 7,
            ..LedgerBucket::full(&terms, NOW)
        };
        let mut pieces = start;
        for step in 0..1_500 {
            pieces = pieces.at(&terms, NOW + step * 1_000);
            let whole = start.at(&terms, NOW + step * 1_000);
            assert_eq!(
                (pieces.balance, pieces.held_new, pieces.held_old),
                (whole.balance, whole.held_new, whole.held_old)
            );
        }
    }

    #[test]
    fn a_clock_set_back_credits_nothing_and_takes_nothing_back_early() {
        let terms = terms(100, 100);
        let held = LedgerBucket { balance: 5, held_new: 60, held_old: 7, ..LedgerBucket::full(&terms, NOW) };
        assert_eq!(held.at(&terms, NOW - 1_000_000), held, "a little: the stamp stays");
        let earlier = NOW - 3_600_000_000;
        let back = held.at(&terms, earlier);
        assert_eq!(back, LedgerBucket { stamp: earlier, epoch_end: earlier + LIFE, ..held });
    }

    #[test]
    fn the_wait_of_a_denial_is_exact_if_nobody_asks_even_where_slices_must_be_taken_back_first() {
        let terms = terms(100, 100);
        for (balance, held_new, held_old) in
            [(0, 0, 0), (0, 90_000_000, 0), (0, 0, 90_000_000), (-9_000_000, 50_000_000, 49_000_000)]
        {
            let bucket = LedgerBucket { balance, held_new, held_old, ..LedgerBucket::full(&terms, NOW) };
            for cost in [1, 1_000_000, 20_000_000, 60_000_000, 100_000_000] {
                let LedgerSpend::Denied { wait, .. } = LedgerBucket::spend(Some(bucket), &terms, cost, NOW)
                else {
                    panic!()
                };
                let spends = |now| {
                    matches!(LedgerBucket::spend(Some(bucket), &terms, cost, now), LedgerSpend::Spent(_))
                };
                assert!(spends(NOW + wait), "{cost} of {bucket:?} after {wait}");
                assert!(!spends(NOW + wait - 1), "{cost} of {bucket:?} before {wait}");
            }
        }
    }

    #[test]
    fn a_cost_above_the_burst_is_never_admitted() {
        let terms = terms(100, 100);
        for cost in [100_000_001, u64::MAX] {
            assert_eq!(LedgerBucket::spend(None, &terms, cost, NOW), LedgerSpend::Never);
        }
    }

    #[test]
    fn what_is_given_never_overfills() {
        let terms = terms(100, 100);
        let held = LedgerBucket { balance: 5, held_new: 60_000_000, ..LedgerBucket::full(&terms, NOW) };
        assert_eq!(held.given(&terms, 10, NOW).balance, 15);
        assert_eq!(held.given(&terms, u64::MAX, NOW).balance, 40_000_000);
    }

    #[test]
    fn what_is_taken_ends_at_the_deepest_debt_and_a_reset_leaves_slices_out() {
        let terms = terms(100, 100);
        let held = LedgerBucket { balance: 5, held_new: 60_000_000, ..LedgerBucket::full(&terms, NOW) };
        assert_eq!(held.taken(&terms, 7, 10, NOW).balance, -2);
        assert_eq!(held.taken(&terms, 70, 10, NOW).balance, -10);
        assert_eq!(LedgerBucket { balance: -11, ..held }.taken(&terms, 70, 10, NOW).balance, -11);
        assert_eq!(held.filled(&terms, NOW).balance, 40_000_000);
    }

    /// As of a bucket of which nobody holds a slice: a raised burst is room, and not tokens.
    #[test]
    fn after_a_raise_nothing_given_makes_a_bucket_hold_more_than_one_that_was_never_charged() {
        let raised = changed(&terms(100, 10), 100, 100, NOW);
        let held = LedgerBucket { balance: 0, held_new: 4_000_000, ..LedgerBucket::full(&raised, NOW) };
        assert_eq!(held.given(&raised, u64::MAX, NOW).balance, 6_000_000);
        let later = NOW + 100_000;
        assert_eq!(held.given(&raised, u64::MAX, later).balance, 16_000_000);
        assert_eq!(held.filled(&raised, later).balance, 16_000_000);
    }

    #[test]
    fn a_debt_that_is_deeper_than_a_lowered_burst_is_owed_still() {
        let lowered = changed(&terms(100, 100), 100, 10, NOW);
        let owing = LedgerBucket { balance: -50_000_000, ..LedgerBucket::full(&lowered, NOW) };
        assert_eq!(owing.at(&lowered, NOW + 100_000).balance, -40_000_000);
    }

    /// Changes of one moment begin a microsecond after one another, so the last of them in the future.
    #[test]
    fn until_a_limit_begins_those_before_it_mint_and_none_that_has_not_begun_clamps() {
        let between = changed(&terms(10, 50), 10, 5, NOW + 1);
        let last = changed(&between, 10, 50, NOW + 2);
        let bucket = LedgerBucket::unleased(&last, 0, NOW, NOW);
        assert_eq!(bucket.wait_for(&last, 1_000_000, NOW), 100_000);
        let bucket = LedgerBucket::unleased(&last, 40_000_000, NOW - 1, NOW);
        assert_eq!(bucket.at(&last, NOW).balance, 40_000_010);
        assert_eq!(bucket.at(&last, NOW + 2).balance, 5_000_000);
    }

    /// A stamp that is ahead of the clock may be further ahead than a slice lives.
    #[test]
    fn a_bucket_that_begins_to_lease_with_a_stamp_ahead_of_the_clock_is_not_credited_twice() {
        let terms = terms(100, 100);
        let ahead = LedgerBucket::unleased(&terms, 0, NOW + 900_000, NOW);
        let later = NOW + 4 * LIFE;
        assert_eq!(ahead.at(&terms, later).balance, ahead.at(&terms, NOW).at(&terms, later).balance);
        assert_eq!(ahead.at(&terms, later).balance, 70_000_000);
    }

    #[test]
    fn a_bucket_is_kept_until_it_is_full_and_nothing_is_held() {
        let terms = terms(100, 100);
        let full = LedgerBucket::full(&terms, NOW);
        assert_eq!(full.kept_for(&terms), 2 * LIFE);
        assert_eq!(LedgerBucket { balance: -1_000_000, ..full }.kept_for(&terms), 1_010_000);
    }
}
