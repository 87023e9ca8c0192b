//! What the words of a limit's buckets mean at one moment, whatever its algorithm.

use crate::concurrency::{Generation, PlacesReading};
use crate::sliding_counter::CounterReading;
use crate::{Cost, Demand, Level, Mark, Spend, Tokens};

/// One moment of a [`crate::Ruler`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// A mark on a meter: token bucket, leaky bucket, fixed window.
    Level {
        /// What the meter shows.
        level: Level,
        /// Micro-tokens that a bucket must hold before anyone is charged to it.
        least: u64,
    },
    /// The counts of a sliding window.
    Counter(CounterReading),
    /// Places at work.
    Places(PlacesReading),
    /// A log, whose state is not a word: a word says nothing, and counts as full.
    Blank,
}

impl Reading {
    /// The word of a full bucket.
    pub const fn full_mark(&self) -> Mark {
        match self {
            Reading::Level { level, .. } => level.full_mark(),
            Reading::Counter(counter) => counter.full_mark(),
            Reading::Places(places) => places.full_mark(),
            Reading::Blank => Mark::from_word(0),
        }
    }

    /// What the bucket holds, in micro-tokens; negative is debt.
    pub fn balance(&self, mark: Mark) -> i64 {
        match self {
            Reading::Level { level, .. } => level.balance(mark),
            Reading::Counter(counter) => counter.balance(mark),
            Reading::Places(places) => places.balance(mark),
            Reading::Blank => 0,
        }
    }

    /// Whether forgetting the bucket loses nothing.
    pub fn is_full(&self, mark: Mark) -> bool {
        match self {
            Reading::Level { level, .. } => level.is_full(mark),
            Reading::Counter(counter) => counter.is_full(mark),
            Reading::Places(places) => places.is_full(mark),
            Reading::Blank => true,
        }
    }

    /// Charges what is demanded, which is at most what a full bucket holds.
    pub fn spend(&self, mark: Mark, demand: Demand) -> Spend {
        match self {
            Reading::Level { level, least } => level.spend_holding(mark, demand, *least),
            Reading::Counter(counter) => counter.spend(mark, demand),
            Reading::Places(places) => places.spend(mark, demand),
            Reading::Blank => demand.short(0),
        }
    }

    /// The word after `micros` are given (negative: taken, into debt if need be). Never fuller than full. Places are given back
    /// by their holders alone: their word stays.
    #[must_use]
    pub fn adjust(&self, mark: Mark, micros: i64) -> Mark {
        match self {
            Reading::Level { level, .. } => level.adjust(mark, micros),
            Reading::Counter(counter) => counter.adjust(mark, micros),
            Reading::Places(_) | Reading::Blank => mark,
        }
    }

    /// A word that says the same as `mark` but is another than `taken`: for whoever takes over a slot that stood at `taken`,
    /// so that a charge under way for the former owner does not take it for its own. Of a bucket on a meter that is not full it
    /// is one micro-token emptier if need be.
    pub fn other_than(&self, mark: Mark, taken: Mark) -> Mark {
        if mark != taken {
            return mark;
        }
        match self {
            Reading::Level { level, .. } => level.another_mark(mark),
            Reading::Blank => Mark::from_word(mark.word().wrapping_add(1)),
            Reading::Counter(_) => CounterReading::another_version(mark),
            Reading::Places(_) => PlacesReading::another_version(mark),
        }
    }

    /// Of two marks on a meter the one that leaves less; of other words, the first.
    #[must_use]
    pub fn emptier(&self, one: Mark, other: Mark) -> Mark {
        match self {
            Reading::Level { level, .. } => level.emptier(one, other),
            _ => one,
        }
    }

    /// The mark on a meter of a bucket that holds `balance`, or of a full one if that is less; of other words, that of a full one.
    pub fn mark_of(&self, balance: i64) -> Mark {
        match self {
            Reading::Level { level, .. } => level.mark_of(balance),
            _ => self.full_mark(),
        }
    }

    /// How much of a charge of `cost` that left the bucket at `paid` can be given back, in micro-tokens, so that no more is there
    /// than if it had never been made: what a bucket would have minted beyond full meanwhile is lost.
    pub fn returnable(&self, paid: Mark, cost: Cost) -> u64 {
        match self {
            Reading::Level { level, .. } => level.returnable(paid, cost),
            Reading::Counter(counter) => counter.returnable(paid, cost),
            Reading::Places(_) | Reading::Blank => 0,
        }
    }

    /// The word after up to `micros` of a charge of `cost`, which left the bucket at `paid`, are given back to the bucket at
    /// `mark`: no more than [`Reading::returnable`], and less by a clock that was set back, where the bucket stands deeper in debt
    /// than `debt_max`. Places are given back by [`Reading::leave`].
    #[must_use]
    pub fn give_back(&self, mark: Mark, paid: Mark, cost: Cost, micros: u64, debt_max: Tokens) -> Mark {
        let micros = micros.min(cost.as_micros()).min(i64::MAX.unsigned_abs());
        match self {
            Reading::Level { level, .. } => level.give_back(mark, paid, cost, micros, debt_max),
            Reading::Counter(counter) => counter.give_back(mark, paid, micros),
            Reading::Places(_) | Reading::Blank => mark,
        }
    }

    /// The word after the places that `cost` took in `generation` are given back; `None` if they have timed out.
    pub fn leave(&self, mark: Mark, generation: Generation, cost: Cost) -> Option<Mark> {
        match self {
            Reading::Places(held) => held.give_back(mark, generation, cost),
            _ => None,
        }
    }

    /// The word of a full bucket that stood at `mark`, whatever was taken from it: its places are nobody's any more.
    pub fn reset(&self, mark: Mark) -> Mark {
        match self {
            Reading::Places(places) => places.reset(mark),
            _ => self.full_mark(),
        }
    }

    /// In which generation a place would be taken in the bucket at `mark`; `None` if it has no places.
    pub fn generation(&self, mark: Mark) -> Option<Generation> {
        match self {
            Reading::Places(places) => Some(places.generation(mark)),
            _ => None,
        }
    }
}
