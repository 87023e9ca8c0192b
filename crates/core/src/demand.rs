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

    /// The same where only whole steps of so many micro-tokens are counted: both rounded up, saturating above every burst.
    #[inline]
    pub(crate) const fn in_steps_of(self, step: u64) -> Demand {
        let cost = self.cost.as_micros().div_ceil(step).saturating_mul(step);
        let keep = self.keep.as_micros().div_ceil(step).saturating_mul(step);
        Demand { cost: Cost::micros(cost), keep: Tokens::from_micros(keep) }
    }

    /// Whether a bucket with this balance can pay.
    #[inline]
    pub(crate) const fn is_met_by(self, balance: i64) -> bool {
        balance >= 0 && balance.cast_unsigned() >= self.need()
    }

    /// The answer of a bucket whose balance is below the need.
    #[inline]
    pub(crate) const fn short(self, balance: i64) -> Spend {
        self.short_of(self.need(), balance)
    }

    /// The answer of a bucket that must hold `need`, and holds less.
    #[inline]
    pub(crate) const fn short_of(self, need: u64, balance: i64) -> Spend {
        let free = balance.saturating_sub_unsigned(self.keep.as_micros());
        let held = if free > 0 { free.cast_unsigned() } else { 0 };
        let missing = if balance < 0 {
            need.saturating_add(balance.unsigned_abs())
        } else {
            need.saturating_sub(balance.cast_unsigned())
        };
        Spend::Short { missing, held: Tokens::from_micros(held) }
    }
}
