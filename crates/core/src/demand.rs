//! What a check asks of one bucket.

use crate::{Cost, Spend, Tokens};

/// So much, and so much must stay: the share of the bucket that is kept for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// What is taken.
    pub cost: Cost,
    /// What must be left afterwards, for checks of higher priority.
    pub keep: Tokens,
}

impl Demand {
    /// Asks for `cost`, down to the last token.
    #[inline]
    pub const fn of(cost: Cost) -> Demand {
        Demand { cost, keep: Tokens::ZERO }
    }

    /// What the bucket must hold, in micro-tokens, saturating above every burst.
    #[inline]
    pub const fn need(self) -> u64 {
        self.cost.as_micros().saturating_add(self.keep.as_micros())
    }

    /// The answer of a bucket whose balance is below the need. The need is at most a burst.
    #[inline]
    pub(crate) const fn short(self, balance: i64) -> Spend {
        let free = balance.saturating_sub(self.keep.as_micros().cast_signed());
        let held = if free > 0 { free.cast_unsigned() } else { 0 };
        let missing = self.need().saturating_add_signed(-balance);
        Spend::Short { missing, held: Tokens::from_micros(held) }
    }
}
