//! Charging ahead of the meter, and giving back: what those who wait do to a bucket.
//!
//! ```text
//!                minted      mark of the 1st     mark of the 2nd waiter
//!    ──────────────┼────────────────┼────────────────────┼────►  micro-tokens, modulo 2^64
//!                  └─── wait of 1 ──┘                    │
//!                  └────────────── wait of 2 ────────────┘       each leaves when the meter gets there
//! ```

use crate::limit::BURST_MICROS_MAX;
use crate::{Cost, Level, Mark, Tokens};

/// How deep in debt a booking may leave a bucket: 5·10^11 tokens. Half of how far ahead a mark may lie before it reads as
/// one that the meter has lapped; the other half is left for clocks that step back.
pub const DEBT_MAX: Tokens = Tokens::from_micros(BURST_MICROS_MAX / 2);

/// A charge that may lie ahead of the meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booking {
    /// Where the bucket now stands, and where the meter must be before this charge is covered.
    pub mark: Mark,
    /// Micro-tokens that must be minted until then; 0 if the bucket could pay at once.
    pub missing: u64,
}

impl Level {
    /// Charges `cost`, which is at most the burst, whether the bucket at `mark` holds it or not. `None`, and nothing to
    /// store, if the debt would be above [`DEBT_MAX`].
    pub const fn book(self, mark: Mark, cost: Cost) -> Option<Booking> {
        // The cost is at most 10^18 and the balance at least −10^18, so the difference fits.
        let left = self.balance(mark) - cost.as_micros().cast_signed();
        if left < -DEBT_MAX.as_micros().cast_signed() {
            return None;
        }
        let mark = Mark::from_word(self.minted.wrapping_sub(left.cast_unsigned()));
        // Read back, since the one word that is no mark became the next one.
        let balance = self.balance(mark);
        Some(Booking { mark, missing: if balance < 0 { balance.unsigned_abs() } else { 0 } })
    }

    /// Gives `amount` back to the bucket at `mark`, but makes it no fuller than full: where it now stands, and what was
    /// really given.
    #[must_use]
    pub const fn give_back(self, mark: Mark, amount: Tokens) -> (Mark, Tokens) {
        let balance = self.balance(mark);
        // Both are within ±10^18.
        let room = (self.capacity.cast_signed() - balance).cast_unsigned();
        let given = if amount.as_micros() < room { amount.as_micros() } else { room };
        (self.mark_of(balance + given.cast_signed()), Tokens::from_micros(given))
    }

    /// How many micro-tokens the meter is past `mark`; negative if it has not reached it. Unlike a balance, without the
    /// clamp at full.
    #[inline]
    pub const fn lead(self, mark: Mark) -> i64 {
        self.minted.wrapping_sub(mark.word()).cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spend;

    const LEVEL: Level = Level { minted: 10, capacity: 50 };

    fn booked(mark: Mark, cost: u64) -> Booking {
        LEVEL.book(mark, Cost::micros(cost)).unwrap()
    }

    #[test]
    fn a_booking_goes_into_debt_by_what_is_missing() {
        let first = booked(LEVEL.mark_of(30), 20);
        assert_eq!((LEVEL.balance(first.mark), first.missing), (10, 0));
        let second = booked(first.mark, 20);
        assert_eq!((LEVEL.balance(second.mark), second.missing), (-10, 10));
        let third = booked(second.mark, 50);
        assert_eq!((LEVEL.balance(third.mark), third.missing), (-60, 60));
    }

    #[test]
    fn nobody_is_admitted_past_a_booking() {
        let mark = booked(LEVEL.mark_of(0), 5).mark;
        assert!(matches!(LEVEL.spend(mark, Cost::micros(1)), Spend::Short { missing: 6, .. }));
        let later = Level { minted: 15, ..LEVEL };
        assert_eq!((LEVEL.lead(mark), later.lead(mark)), (-5, 0));
        assert!(matches!(later.spend(mark, Cost::micros(1)), Spend::Short { missing: 1, .. }));
    }

    #[test]
    fn a_debt_that_would_read_as_full_is_refused() {
        let (debt_max, wide) = (DEBT_MAX.as_micros(), Level { minted: 10, capacity: BURST_MICROS_MAX });
        let deepest = wide.book(wide.mark_of(0), Cost::micros(debt_max)).unwrap();
        assert_eq!(deepest.missing, debt_max);
        assert_eq!(wide.book(wide.mark_of(0), Cost::micros(debt_max + 1)), None);
        assert_eq!(wide.book(deepest.mark, Cost::micros(1)), None);
        // Read by a clock that is behind by as much as it takes to mint the other half, it is still debt.
        let behind = Level { minted: wide.minted.wrapping_sub(debt_max), ..wide };
        assert!(behind.balance(deepest.mark) < 0);
    }

    #[test]
    fn what_is_given_back_never_overfills() {
        let mark = booked(LEVEL.mark_of(50), 20).mark;
        let (back, given) = LEVEL.give_back(mark, Tokens::from_micros(15));
        assert_eq!((LEVEL.balance(back), given.as_micros()), (45, 15));
        let (back, given) = LEVEL.give_back(back, Tokens::from_micros(15));
        assert_eq!((LEVEL.balance(back), given.as_micros()), (50, 5));
        assert_eq!(LEVEL.give_back(back, Tokens::from_micros(u64::MAX)), (back, Tokens::ZERO));
    }

    #[test]
    fn a_booking_given_back_leaves_no_trace() {
        for balance in [-40, -1, 0, 1, 30, 50] {
            let before = LEVEL.mark_of(balance);
            let after = booked(before, 17).mark;
            assert_eq!(LEVEL.give_back(after, Tokens::from_micros(17)), (before, Tokens::from_micros(17)));
        }
    }
}
