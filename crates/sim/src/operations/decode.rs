//! From bytes to operations. Every input means something; one that has run out means nothing more.
//!
//! Numbers come from a few bytes and in every magnitude, so that small changes of an input are small changes of what it
//! does. It does not know what is done with the operations.

use std::net::{IpAddr, Ipv4Addr};

use tollgate_core::{Burst, Cost, Limit, LimitError, Rate, Span};

use crate::conformance::{Charge, Key, RuleId};

/// Charges of one check or batch, a few more than one check may have.
const CHARGES: usize = 20;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    /// Declare another rule, of this breadth (0–2).
    Rule(u8, Result<Limit, LimitError>),
    /// Declare a tier of a rule.
    Tier(RuleId, Result<Limit, LimitError>),
    /// Change a limit.
    SetLimit(RuleId, Result<Limit, LimitError>),
    /// Let time pass.
    Forward(Span),
    /// Step the clock back.
    Back(Span),
    /// Look.
    Peek(Charge),
    /// One check.
    Check(Charge),
    /// One check of several buckets.
    CheckAll(Vec<Charge>),
    /// Several checks.
    CheckEach(Vec<Charge>),
    /// Read a float as a rate, a burst and a cost.
    Float(u64),
}

/// The bytes that are left.
pub(super) struct Decoder<'a> {
    bytes: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Decoder<'a> {
        Decoder { bytes }
    }

    /// The next byte; 0 when there are no more.
    pub(super) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// The next operation, on a limiter that has `rules` rules and tiers, at least one. `None` when the bytes are used up.
    pub(super) fn operation(&mut self, rules: usize) -> Option<Operation> {
        if self.bytes.is_empty() {
            return None;
        }
        Some(match self.byte() % 16 {
            0 => Operation::Rule(self.byte() % 3, self.limit()),
            1 => Operation::Tier(self.rule(rules), self.limit()),
            2 => Operation::SetLimit(self.rule(rules), self.limit()),
            3..=5 => Operation::Forward(self.span()),
            6 => Operation::Back(self.span()),
            7 => Operation::Peek(self.charge(rules)),
            8..=10 => Operation::Check(self.charge(rules)),
            11..=13 => Operation::CheckAll(self.charges(rules)),
            14 => Operation::CheckEach(self.charges(rules)),
            _ => Operation::Float(self.number().rotate_right(u32::from(self.byte()))),
        })
    }

    /// A limit: usually a sound one, sometimes any three numbers.
    pub(super) fn limit(&mut self) -> Result<Limit, LimitError> {
        match self.byte() % 8 {
            0 => {
                let (tokens, period) = (self.number(), Span::from_nanos(self.number()));
                Limit::new(Rate::new(tokens, period), Burst::micros(self.number()))
            }
            1 => Limit::new(Rate::per_second(1_000_000_000), Burst::tokens(u64::from(self.byte()))),
            2 => {
                Limit::new(Rate::per_year(1 + u64::from(self.byte())), Burst::tokens(u64::from(self.byte())))
            }
            3 => Limit::new(Rate::per_second(10), Burst::tokens(u64::MAX >> (self.byte() % 64))),
            4 => Limit::new(Rate::per_second(1), Burst::tokens(1)),
            _ => {
                let rate =
                    Rate::new(1 + u64::from(self.byte()), Span::from_millis(1 + u64::from(self.byte())));
                Limit::new(rate, Burst::micros(1 + 100_000 * u64::from(self.byte())))
            }
        }
    }

    fn charges(&mut self, rules: usize) -> Vec<Charge> {
        let count = usize::from(self.byte()) % (CHARGES + 1);
        (0..count).map(|_| self.charge(rules)).collect()
    }

    fn charge(&mut self, rules: usize) -> Charge {
        Charge { rule: self.rule(rules), key: self.key(), cost: self.cost() }
    }

    fn rule(&mut self, rules: usize) -> RuleId {
        RuleId(usize::from(self.byte()) % rules.max(1))
    }

    fn key(&mut self) -> Key {
        match self.byte() {
            0 => Key::Bytes(Vec::new()),
            1 => Key::Bytes(vec![b'k'; 256 + 2 * usize::from(self.byte())]),
            octet @ 2..8 => Key::Address(IpAddr::V4(Ipv4Addr::new(10, 0, 0, octet))),
            byte @ 8..16 => Key::Bytes(vec![byte]),
            number => Key::Number(u64::from(number)),
        }
    }

    fn cost(&mut self) -> Cost {
        match self.byte() % 8 {
            0 => Cost::micros(self.number()),
            1 => Cost::micros(u64::from(self.byte())),
            2 => Cost::micros(100_000 * u64::from(self.byte())),
            3 => Cost::tokens(u64::from(self.byte())),
            4 => Cost::tokens(u64::MAX),
            _ => Cost::ONE,
        }
    }

    /// Usually at most a few seconds, else inputs reach the end of time at once.
    fn span(&mut self) -> Span {
        match self.byte() % 16 {
            0 => Span::from_nanos(self.number()),
            1..4 => Span::from_nanos(u64::from(self.byte())),
            4..10 => Span::from_micros(u64::from(self.byte()) * u64::from(self.byte())),
            _ => Span::from_millis(u64::from(self.byte()) * 10),
        }
    }

    /// A number of any magnitude: one byte says how many bits, and up to eight follow.
    fn number(&mut self) -> u64 {
        let bits = u32::from(self.byte()) % 65;
        let mut number = 0_u64;
        for _ in 0..bits.div_ceil(8) {
            number = (number << 8) | u64::from(self.byte());
        }
        if bits == 0 { 0 } else { number & (u64::MAX >> (64 - bits)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_means_something_and_then_ends() {
        for length in 0..200_u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(37)).collect();
            let mut decoder = Decoder::new(&bytes);
            let operations = std::iter::from_fn(|| decoder.operation(3)).count();
            assert!(operations <= usize::from(length));
        }
    }

    #[test]
    fn numbers_have_every_magnitude() {
        assert_eq!(Decoder::new(&[0]).number(), 0);
        assert_eq!(Decoder::new(&[3, 0xff]).number(), 7);
        assert_eq!(Decoder::new(&[64, 1, 2, 3, 4, 5, 6, 7, 8]).number(), 0x0102_0304_0506_0708);
    }
}
