//! Amounts of tokens, all in whole micro-tokens (one millionth of a token).
//!
//! [`Burst`] and [`Cost`] are what a person asks for, and may still be absurd; [`crate::Limit::new`] and the check
//! refuse what cannot be honoured. [`Tokens`] is an amount that is known to be sound.

use core::fmt;

/// Micro-tokens in one token.
pub(crate) const MICROS_PER_TOKEN: u64 = 1_000_000;

/// An amount of tokens, exact to one micro-token; what is left in a bucket, for instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tokens(u64);

/// How many tokens a full bucket holds. Checked by [`crate::Limit::new`]: above 0, at most 10^12 tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Burst(u128);

/// How many tokens one check asks for; 1 unless said otherwise. A cost of 0 is refused by the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u64);

impl Tokens {
    /// None.
    pub const ZERO: Tokens = Tokens(0);

    /// `micros` millionths of a token.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// The amount in millionths of a token.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Whole tokens, rounded down: 2.9 tokens are good for two checks.
    pub const fn whole(self) -> u64 {
        self.0 / MICROS_PER_TOKEN
    }
}

impl Burst {
    /// A bucket of `tokens` whole tokens.
    pub const fn tokens(tokens: u64) -> Self {
        Self(tokens as u128 * MICROS_PER_TOKEN as u128)
    }

    /// A bucket of `micros` millionths of a token.
    pub const fn micros(micros: u64) -> Self {
        Self(micros as u128)
    }

    /// The size in millionths of a token.
    pub const fn as_micros(self) -> u128 {
        self.0
    }
}

impl Cost {
    /// One token.
    pub const ONE: Cost = Cost(MICROS_PER_TOKEN);

    /// `tokens` whole tokens. Beyond 1.8·10^13 it saturates, which is above every burst, so the check answers "never".
    pub const fn tokens(tokens: u64) -> Self {
        Self(tokens.saturating_mul(MICROS_PER_TOKEN))
    }

    /// `micros` millionths of a token: `Cost::micros(500_000)` is half a token.
    pub const fn micros(micros: u64) -> Self {
        Self(micros)
    }

    /// The cost in millionths of a token.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Both costs together, saturating as [`Cost::tokens`] does.
    #[must_use]
    pub const fn plus(self, other: Cost) -> Cost {
        Cost(self.0.saturating_add(other.0))
    }
}

impl From<Cost> for Tokens {
    fn from(cost: Cost) -> Tokens {
        Tokens(cost.0)
    }
}

/// Prints `micros` as a decimal number of tokens: `2`, `0.5`, `0.000001`.
pub(crate) fn write_tokens(micros: u128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (whole, mut rest) = (micros / u128::from(MICROS_PER_TOKEN), micros % u128::from(MICROS_PER_TOKEN));
    if rest == 0 {
        return write!(f, "{whole}");
    }
    let mut digits = 6;
    while rest % 10 == 0 {
        rest /= 10;
        digits -= 1;
    }
    write!(f, "{whole}.{rest:0digits$}")
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tokens(u128::from(self.0), f)
    }
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tokens(self.0, f)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tokens(u128::from(self.0), f)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn amounts_print_as_exact_decimals() {
        assert_eq!(Tokens::from_micros(2_000_000).to_string(), "2");
        assert_eq!(Tokens::from_micros(500_000).to_string(), "0.5");
        assert_eq!(Tokens::from_micros(1).to_string(), "0.000001");
        assert_eq!(Burst::tokens(u64::MAX).to_string(), "18446744073709551615");
    }

    #[test]
    fn a_cost_too_large_to_hold_saturates_above_every_burst() {
        assert_eq!(Cost::tokens(u64::MAX), Cost::micros(u64::MAX));
        assert_eq!(Cost::tokens(u64::MAX).plus(Cost::ONE), Cost::micros(u64::MAX));
    }
}
