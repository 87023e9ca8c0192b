//! Any bytes, read as what a careless caller might pass: rates, bursts, costs, floats, names, keys, capacities, moments.
//!
//! Nothing may panic. What is refused is refused with words; what is accepted must keep its promise on a few checks. The
//! body of the fuzz target `bad_input` and of the replay of its corpus.

use std::fmt::Display;

use tollgate::{Breadth, CHARGES_MAX, Clock, KEYS_MAX, Limiter, Rule, TableFull, Verdict};
use tollgate_core::{Burst, Cost, Limit, Moment, Rate, Span, Tokens};

use crate::checker::worst_in_order;

/// Checks that one input may ask for; the rest of it is ignored.
pub const CHECKS_MAX: usize = 64;
/// Largest table that is really made.
const KEYS_MADE_MAX: usize = 10_000;
/// A clock may step back by as long as it takes to mint 10^12 tokens; a mark further ahead is taken for a very old one.
const STEP_BACK_MICROS_MAX: u64 = 1_000_000_000_000_000_000;

/// Reads `bytes` as arguments and tries them.
///
/// # Panics
/// If an argument makes the limiter panic or break a promise; that is what it is for.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (Some(rate), Some(burst)) = (input.rate(), input.burst()) else { return };
    let Some(limit) = said(Limit::new(rate, burst)) else { return };
    assert_eq!(u128::from(limit.burst().as_micros()), burst.as_micros(), "the burst that was asked for");
    assert_eq!(Limit::from_terms(limit.terms()), Some(limit));

    let start = Moment::from_nanos(input.number());
    let Some(limiter) = input.limiter(limit, start) else { return };
    let Some(rule) = input.rule(&limiter, limit) else { return };
    let key = input.bytes();
    let reach =
        limit.time_to_mint(Tokens::from_micros(STEP_BACK_MICROS_MAX)).min(Span::from_nanos(u64::MAX - 1));
    let mut spent = Vec::new();
    for check in 0..CHECKS_MAX {
        if input.0.is_empty() {
            break;
        }
        let now = start + Span::from_nanos(input.number() % (reach.as_nanos() + 1));
        let Some(cost) = input.cost() else { continue };
        let (verdict, charged) = input.check(&limiter, &rule, key, cost, now);
        assert!(!verdict.to_string().is_empty());
        if check == 0 && !matches!(verdict, Verdict::Invalid(_)) {
            assert_eq!(verdict.is_admitted(), !limit.never_admits(charged.unwrap_or(cost)), "it was full");
        }
        if let (true, Some(charged)) = (verdict.is_admitted(), charged) {
            spent.push((now, charged));
        }
    }
    if let Some(worst) = worst_in_order(limit, spent) {
        assert!(worst <= 0, "over by {worst} micro-tokens under {limit:?}");
    }
}

/// The bytes that are left; without more, all is 0.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number of any magnitude: a byte says how many follow.
    fn number(&mut self) -> u64 {
        let length = self.byte() % 9;
        (0..length).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    fn float(&mut self) -> f64 {
        let mut bits = [0; 8];
        bits.fill_with(|| self.byte());
        f64::from_be_bytes(bits)
    }

    /// Some of what is left.
    fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()) * if self.byte().is_multiple_of(8) { 4 } else { 1 };
        let (bytes, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    fn rate(&mut self) -> Option<Rate> {
        Some(match self.byte() % 8 {
            0 => return said(Rate::try_from(self.float())),
            1 => Rate::per_second(self.number()),
            2 => Rate::per_minute(self.number()),
            3 => Rate::per_hour(self.number()),
            4 => Rate::per_day(self.number()),
            5 => Rate::per_year(self.number()),
            _ => Rate::new(self.number(), Span::from_nanos(self.number())),
        })
    }

    fn burst(&mut self) -> Option<Burst> {
        Some(match self.byte() % 4 {
            0 => return said(Burst::try_from(self.float())),
            1 => Burst::micros(self.number()),
            _ => Burst::tokens(self.number()),
        })
    }

    fn cost(&mut self) -> Option<Cost> {
        Some(match self.byte() % 4 {
            0 => return said(Cost::try_from(self.float())),
            1 => Cost::micros(self.number()),
            _ => Cost::tokens(self.number()),
        })
    }

    fn limiter(&mut self, limit: Limit, start: Moment) -> Option<Limiter> {
        let modes = [TableFull::Inherit, TableFull::DenyNew, TableFull::SharedOverflow];
        let table_full = modes[usize::from(self.byte() % 3)];
        let keys = usize::try_from(self.number()).unwrap_or(usize::MAX);
        // What can be counted but not made here is made smaller.
        let keys = if keys > KEYS_MAX { keys } else { keys.min(KEYS_MADE_MAX) };
        let settings = Limiter::builder().keys_max(keys).table_full(table_full).clock(Clock::manual(start));
        said(settings.build(limit))
    }

    /// A rule or tier of any name, under `limit`.
    fn rule(&mut self, limiter: &Limiter, limit: Limit) -> Option<Rule> {
        let breadth = [Breadth::Client, Breadth::Group, Breadth::Everyone][usize::from(self.byte() % 3)];
        let declare_tier = self.byte().is_multiple_of(2);
        let name = String::from_utf8_lossy(self.bytes());
        if declare_tier {
            said(limiter.default_rule().tier(&name, limit))
        } else {
            said(limiter.shared_rule(&name, limit, breadth))
        }
    }

    /// One check in one of the ways to ask; and what it charges if it is admitted, unless it only looks.
    fn check(
        &mut self,
        limiter: &Limiter,
        rule: &Rule,
        key: &[u8],
        cost: Cost,
        now: Moment,
    ) -> (Verdict, Option<Cost>) {
        match self.byte() % 4 {
            0 => {
                let charges = vec![rule.charge_n(key, cost); usize::from(self.byte()) % (CHARGES_MAX + 3)];
                let total = charges.iter().fold(Cost::micros(0), |sum, _| sum.plus(cost));
                (limiter.check_all_at(&charges, now), Some(total))
            }
            1 => {
                let mut verdicts = Vec::new();
                limiter.check_each_at(&[rule.charge_n(key, cost)], now, &mut verdicts);
                (verdicts[0], Some(cost))
            }
            2 => (rule.peek_at(key, cost, now), None),
            _ => (rule.check_at(key, cost, now), Some(cost)),
        }
    }
}

/// What was accepted; what was refused must have said why.
fn said<T, E: Display>(result: Result<T, E>) -> Option<T> {
    match result {
        Ok(accepted) => Some(accepted),
        Err(error) => {
            let words = error.to_string();
            // Each names the field and proposes a cure.
            assert!(words.contains('`') && words.contains("; "), "{words}");
            None
        }
    }
}
