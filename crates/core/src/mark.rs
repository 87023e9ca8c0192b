//! A bucket in one word, and the ruler it is read against.
//!
//! ```text
//!             mark          full mark           minted
//!    ───────────┼───────────────┼──────────────────┼────►  micro-tokens the rule has minted, modulo 2^64
//!                               └──── capacity ────┘
//!    balance = minted − max(mark, full mark)
//! ```

use crate::limit::BURST_MICROS_MAX;
use crate::{Cost, Demand, Tokens};

/// How far ahead of the meter a mark may lie: debt, or a clock that stepped back. Beyond it the mark can only be a very
/// old one that the meter has lapped, and the bucket is full. 10^12 tokens, 1,000 s at the highest rate.
const AHEAD_MICROS_MAX: i64 = BURST_MICROS_MAX.cast_signed();
/// Deepest debt that is written down. Half of that, so that a clock which steps back by up to 5·10^11 tokens does not take it for
/// lapped, and forgive it.
const DEBT_MICROS_MAX: i64 = AHEAD_MICROS_MAX / 2;

/// How far along its meter one client has spent: the whole state of a bucket, in micro-tokens modulo 2^64.
///
/// A mark is read against the level of *its* meter and means nothing against another. A bucket left alone while its
/// meter mints 2^64 micro-tokens (5 hours at 10^9 per second, 584 years at 1,000) may look emptier than it is, never
/// fuller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(u64);

/// What a meter shows at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Micro-tokens minted so far, modulo 2^64.
    pub(crate) minted: u64,
    /// The most a bucket can hold at this moment; the burst, but less while a raised burst is being refilled into.
    pub(crate) capacity: u64,
}

/// What a charge would make of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spend {
    /// The bucket pays and stands at `mark`.
    Paid {
        /// Where the bucket now stands.
        mark: Mark,
        /// What it still holds.
        remaining: Tokens,
    },
    /// The bucket holds too little and stays as it is.
    Short {
        /// Micro-tokens that must be minted before it can pay.
        missing: u64,
        /// What it holds; none if it is in debt.
        held: Tokens,
    },
}

impl Mark {
    /// The one word that is never a mark; a store may use it to say "locked".
    pub const RESERVED_WORD: u64 = u64::MAX;

    /// The mark held in a stored word. [`Mark::RESERVED_WORD`] becomes the next mark: one micro-token emptier.
    #[inline]
    pub const fn from_word(word: u64) -> Self {
        Self(if word == Self::RESERVED_WORD { 0 } else { word })
    }

    /// The word to store. Never [`Mark::RESERVED_WORD`].
    #[inline]
    pub const fn word(self) -> u64 {
        self.0
    }
}

impl Level {
    /// The mark of a bucket that is as full as it can be at this moment.
    #[inline]
    pub const fn full_mark(self) -> Mark {
        Mark::from_word(self.minted.wrapping_sub(self.capacity))
    }

    /// Whether not even a full bucket can pay the cost at this moment.
    #[inline]
    pub const fn is_below(self, cost: Cost) -> bool {
        self.capacity < cost.as_micros()
    }

    /// What the bucket holds, in micro-tokens; negative is debt.
    #[inline]
    pub const fn balance(self, mark: Mark) -> i64 {
        let balance = self.minted.wrapping_sub(mark.0).cast_signed();
        let capacity = self.capacity.cast_signed();
        if balance > capacity || balance < -AHEAD_MICROS_MAX { capacity } else { balance }
    }

    /// Whether the bucket is as full as it can be, so that forgetting it loses nothing.
    #[inline]
    pub const fn is_full(self, mark: Mark) -> bool {
        self.balance(mark) == self.capacity.cast_signed()
    }

    /// Charges `cost`, which is at most the burst, to the bucket at `mark`.
    #[inline]
    pub const fn spend(self, mark: Mark, cost: Cost) -> Spend {
        let balance = self.balance(mark);
        // The cost is at most 10^18 and the balance at least −10^18, so the difference fits.
        let left = balance - cost.as_micros().cast_signed();
        if left >= 0 {
            // No fuller than it was, so there is nothing to clamp.
            let mark = Mark::from_word(self.minted.wrapping_sub(left.cast_unsigned()));
            Spend::Paid { mark, remaining: Tokens::from_micros(left.cast_unsigned()) }
        } else {
            let held = if balance > 0 { balance.cast_unsigned() } else { 0 };
            Spend::Short { missing: left.unsigned_abs(), held: Tokens::from_micros(held) }
        }
    }

    /// Charges what is demanded, if the bucket then still holds what must stay, and held at least `least` before.
    #[inline]
    pub(crate) const fn spend_holding(self, mark: Mark, demand: Demand, least: u64) -> Spend {
        let (balance, keep) = (self.balance(mark), demand.keep.as_micros());
        let need = if demand.need() > least { demand.need() } else { least };
        if balance < 0 || balance.cast_unsigned() < need {
            return match demand.short_of(need, balance) {
                // What is held is of no use to anyone before there is the least.
                Spend::Short { missing, .. } if balance < least.cast_signed() => {
                    Spend::Short { missing, held: Tokens::ZERO }
                }
                short => short,
            };
        }
        let left = balance.cast_unsigned() - demand.cost.as_micros();
        let mark = Mark::from_word(self.minted.wrapping_sub(left));
        let usable = if left < least { 0 } else { left - keep };
        Spend::Paid { mark, remaining: Tokens::from_micros(usable) }
    }

    /// The mark after `micros` are given (negative: taken, into debt if need be). Never fuller than full; a debt saturates at
    /// 5·10^11 tokens, far from where it would read as lapped.
    pub(crate) const fn adjust(self, mark: Mark, micros: i64) -> Mark {
        let before = self.balance(mark);
        let after = before.saturating_add(micros);
        // Deeper already, by a clock that stepped back: then it stays where it is.
        let deepest = if before < -DEBT_MICROS_MAX { before } else { -DEBT_MICROS_MAX };
        let adjusted = self.mark_of(if after < deepest { deepest } else { after });
        // A full bucket that is given anything stays as it is, and may be forgotten as soon as before.
        if self.balance(adjusted) == before { mark } else { adjusted }
    }

    /// How much of a charge of `cost` that left the bucket at `paid` may be given back: as much as there would be room for if
    /// nobody else had spent since.
    pub(crate) const fn returnable(self, paid: Mark, cost: Cost) -> u64 {
        let untouched = self.minted.wrapping_sub(paid.0).cast_signed();
        if untouched < -AHEAD_MICROS_MAX {
            return 0; // lapped: so long ago that it was full again
        }
        let room = self.capacity.cast_signed().saturating_sub(untouched);
        let cost = cost.as_micros();
        match room {
            ..=0 => 0,
            room if room.cast_unsigned() < cost => room.cast_unsigned(),
            _ => cost,
        }
    }

    /// The mark after up to `micros` of a charge of `cost`, which left the bucket at `paid`, are given back to the bucket at
    /// `mark`. One that is further ahead of the meter than a debt of `debt_max` was written at a later time, by a clock that was
    /// set back since: as much as the charge was worth then, at least, is lost.
    pub(crate) const fn give_back(
        self,
        mark: Mark,
        paid: Mark,
        cost: Cost,
        micros: u64,
        debt_max: Tokens,
    ) -> Mark {
        let ahead = self.balance(mark).saturating_neg().saturating_sub_unsigned(debt_max.as_micros());
        let seen = if ahead > 0 { self.minted.wrapping_add(ahead.cast_unsigned()) } else { self.minted };
        let worth = Level { minted: seen, capacity: self.capacity }.returnable(paid, cost);
        self.adjust(mark, if worth < micros { worth } else { micros }.cast_signed())
    }

    /// Another mark of the same balance if the bucket is full, else of one micro-token less.
    pub(crate) const fn another_mark(self, mark: Mark) -> Mark {
        match mark.0 {
            // Further back than full is full.
            0 if self.is_full(mark) => Mark::from_word(Mark::RESERVED_WORD - 1),
            word if self.is_full(mark) => Mark::from_word(word - 1),
            word => Mark::from_word(word + 1),
        }
    }

    /// Of two marks the one that leaves less.
    #[must_use]
    pub const fn emptier(self, one: Mark, other: Mark) -> Mark {
        if self.balance(one) <= self.balance(other) { one } else { other }
    }

    /// The mark of a bucket that holds `balance`, or of a full one if that is less. A debt saturates at just under 10^12 tokens.
    #[inline]
    pub const fn mark_of(self, balance: i64) -> Mark {
        let capacity = self.capacity.cast_signed();
        let balance = if balance > capacity { capacity } else { balance };
        // One short of the deepest that can be read: in place of the reserved word stands a mark that is one emptier.
        let balance = if balance <= -AHEAD_MICROS_MAX { 1 - AHEAD_MICROS_MAX } else { balance };
        Mark::from_word(self.minted.wrapping_sub(balance.cast_unsigned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVEL: Level = Level { minted: 10, capacity: 50 };

    #[test]
    fn a_mark_reads_across_the_wrap() {
        assert_eq!(LEVEL.balance(LEVEL.mark_of(30)), 30);
        assert_eq!(LEVEL.balance(LEVEL.mark_of(-30)), -30);
        assert_eq!(LEVEL.balance(LEVEL.mark_of(70)), 50);
    }

    #[test]
    fn a_mark_that_the_meter_lapped_is_full_or_emptier_but_never_fuller() {
        for word in [1 << 63, (1 << 63) + 12, 1 << 62, u64::MAX - 1, 11, 60] {
            assert!(LEVEL.balance(Mark::from_word(word)) <= 50);
        }
        assert!(LEVEL.is_full(Mark::from_word(1 << 63)));
    }

    #[test]
    fn the_reserved_word_is_never_a_mark_and_costs_at_most_one_unit() {
        let level = Level { minted: 49, capacity: 50 };
        assert_eq!(level.full_mark().word(), 0);
        assert_eq!(level.balance(level.full_mark()), 49);
    }

    #[test]
    fn a_gift_to_a_full_bucket_moves_nothing() {
        let long_full = Mark::from_word(LEVEL.full_mark().word().wrapping_sub(7));
        assert_eq!(LEVEL.adjust(long_full, 0), long_full);
        assert_eq!(LEVEL.adjust(long_full, 5), long_full);
        assert_eq!(LEVEL.balance(LEVEL.adjust(long_full, -5)), 45);
    }

    #[test]
    fn another_mark_of_a_full_bucket_is_full() {
        for word in [0, 1, 10, u64::MAX - 39] {
            let level = Level { minted: word.wrapping_add(50), capacity: 50 };
            let full = Mark::from_word(word);
            assert!(level.is_full(full) && level.is_full(level.another_mark(full)));
            assert_ne!(level.another_mark(full), full);
        }
        assert_eq!(LEVEL.balance(LEVEL.another_mark(LEVEL.mark_of(30))), 29);
    }

    #[test]
    fn the_deepest_debt_is_a_debt_also_where_its_word_is_reserved() {
        for minted in [u64::MAX - 1_000_000_000_000_000_000, u64::MAX - 500_000_000_000_000_000] {
            for minted in minted - 2..minted + 3 {
                let level = Level { minted, capacity: 50 };
                assert!(level.balance(level.mark_of(i64::MIN)) < -999_999_999_999_999_990);
                let indebted = level.adjust(level.full_mark(), i64::MIN);
                assert!(level.balance(indebted) <= -499_999_999_999_999_999);
                let by_a_slow_clock = Level { minted: minted - 1_000, ..level };
                assert!(by_a_slow_clock.balance(indebted) < level.balance(indebted));
            }
        }
    }
}
