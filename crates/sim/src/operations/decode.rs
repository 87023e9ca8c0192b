//! From bytes to operations. Every input means something; one that has run out means nothing more.
//!
//! Numbers come from a few bytes and in every magnitude, so that small changes of an input are small changes of what it
//! does. It does not know what is done with the operations.

mod limits;

use std::net::{IpAddr, Ipv4Addr};

use tollgate_core::{Algorithm, Cost, LimitError, Span};

use crate::conformance::{Action, Answer, Charge, Key, Outcome, RuleId, Settlement, Ticket};

/// Charges of one check or batch, a few more than one check may have.
const CHARGES: usize = 20;
/// Where an input of the first version, which knew token buckets and checks alone, could have any byte: from this one on,
/// bytes say what is newer.
const NEWER: u8 = 0xc0;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    /// Declare another rule, of this breadth (0–2).
    Rule(u8, Result<Algorithm, LimitError>),
    /// Declare a tier of a rule.
    Tier(RuleId, Result<Algorithm, LimitError>),
    /// Change a limit.
    SetLimit(RuleId, Result<Algorithm, LimitError>),
    /// Let time pass.
    Forward(Span),
    /// Step the clock back.
    Back(Span),
    /// Ask something of a bucket.
    Do(Action),
    /// Read a float as a rate, a burst and a cost.
    Float(u64),
}

/// What an operation can be about.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// How many rules and tiers there are, at least one.
    pub(super) rules: usize,
    /// How many tickets were given.
    tickets: usize,
    /// Those that hold places.
    held: Vec<Ticket>,
}

impl Scope {
    /// With so many rules.
    pub(super) fn of(rules: usize) -> Scope {
        Scope { rules, ..Scope::default() }
    }

    /// Takes note of who holds places.
    pub(super) fn note(&mut self, action: &Action, answer: &Answer) {
        match (action, answer) {
            (Action::Enter(ticket, _), Answer::Outcome(Outcome::Admit { .. })) => self.held.push(*ticket),
            (Action::Leave(ticket), _) => self.held.retain(|held| held != ticket),
            _ => {}
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets - 1)
    }
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

    /// The next operation. `None` when the bytes are used up.
    pub(super) fn operation(&mut self, scope: &mut Scope) -> Option<Operation> {
        if self.bytes.is_empty() {
            return None;
        }
        let (code, rules) = (self.byte(), scope.rules);
        if code >= NEWER {
            return Some(Operation::Do(self.newer_action(code, scope)));
        }
        Some(match code % 16 {
            0 => Operation::Rule(self.byte() % 3, self.algorithm()),
            1 => Operation::Tier(self.rule(rules), self.algorithm()),
            2 => Operation::SetLimit(self.rule(rules), self.algorithm()),
            3..=5 => Operation::Forward(self.span()),
            6 => Operation::Back(self.span()),
            7 => Operation::Do(Action::Peek(self.charge(rules))),
            8..=10 => Operation::Do(Action::Check(self.charge(rules))),
            11..=13 => Operation::Do(Action::CheckAll(self.charges(rules, CHARGES))),
            14 => Operation::Do(Action::CheckEach(self.charges(rules, CHARGES))),
            _ => Operation::Float(self.number().rotate_right(u32::from(self.byte()))),
        })
    }

    /// What the first version did not know.
    fn newer_action(&mut self, code: u8, scope: &mut Scope) -> Action {
        let rules = scope.rules;
        match code % 16 {
            0..=1 => Action::CheckOnce(self.key(), self.span(), self.charges(rules, 3)),
            2..=3 => Action::Enter(scope.ticket(), self.charges(rules, 3)),
            4..=5 => match scope.held.len() {
                0 => Action::Enter(scope.ticket(), self.charges(rules, 2)),
                held => Action::Leave(scope.held[usize::from(self.byte()) % held]),
            },
            6..=8 => Action::Reserve(scope.ticket(), self.charges(rules, 3), self.span()),
            9..=11 => {
                let ticket = Ticket(usize::from(self.byte()) % scope.tickets.max(1));
                Action::Settle(ticket, self.settlement())
            }
            12 => Action::Refund(self.charge(rules)),
            13 => Action::Grant(self.charge(rules)),
            14 => Action::Reset(self.charge(rules)),
            _ => Action::Balance(self.charge(rules)),
        }
    }

    fn settlement(&mut self) -> Settlement {
        match self.byte() % 4 {
            0 => Settlement::Cancel,
            1 => Settlement::Commit(self.cost().0),
            count => Settlement::CommitEach((1..count).map(|_| self.cost().0).collect()),
        }
    }

    fn charges(&mut self, rules: usize, most: usize) -> Vec<Charge> {
        let count = usize::from(self.byte()) % (most + 1);
        (0..count).map(|_| self.charge(rules)).collect()
    }

    fn charge(&mut self, rules: usize) -> Charge {
        let (rule, key, (cost, left_alone)) = (self.rule(rules), self.key(), self.cost());
        Charge { rule, key, cost, left_alone }
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

    /// A cost, and the percentage that must be left alone.
    fn cost(&mut self) -> (Cost, u8) {
        let code = self.byte();
        let left_alone = if code >= NEWER { self.byte() % 100 } else { 0 };
        let cost = match code % 8 {
            0 => Cost::micros(self.number()),
            1 => Cost::micros(u64::from(self.byte())),
            2 => Cost::micros(100_000 * u64::from(self.byte())),
            3 => Cost::tokens(u64::from(self.byte())),
            4 => Cost::tokens(u64::MAX),
            _ => Cost::ONE,
        };
        (cost, left_alone)
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
            let operations = std::iter::from_fn(|| decoder.operation(&mut Scope::of(3))).count();
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
