//! Where a scenario is played: a store, a clock, and a failure that says where it went wrong.

mod operations;

use std::fmt;

use tollgate_core::{Algorithm, BucketSet, Burst, Cost, Limit, Moment, Rate, Span, Tokens};

use super::action::{Action, Answer};
use super::answer::Outcome;
use super::precision::Precision;
use super::subject::{Breadth, Charge, Key, RuleId, Subject};

/// Where scenarios begin: 7 years after the origin, and a multiple of every number of seconds up to 20. A store that counts
/// from the origin of time and one that counts from the rule's birth then round alike.
pub const START: Moment = Moment::from_nanos(232_792_560 * 1_000_000_000);

/// A store and the time.
pub(super) struct Stage<'a> {
    subject: &'a mut dyn Subject,
    /// What time it is; scenarios move it as they like.
    pub(super) now: Moment,
    step: usize,
    precision: Precision,
}

/// A step that went otherwise than promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Which call of the scenario, from 1.
    pub step: usize,
    /// What was done.
    pub action: String,
    /// What the promise says.
    pub expected: String,
    /// What the store said.
    pub found: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, action, expected, found } = self;
        write!(f, "step {step}, {action}:\n  expected {expected}\n  found    {found}")
    }
}

/// How a step, and a scenario, ends.
pub(super) type Played = Result<(), Mismatch>;

impl<'a> Stage<'a> {
    /// A new stage at [`START`].
    pub(super) fn new(subject: &'a mut dyn Subject) -> Stage<'a> {
        let precision = subject.precision();
        Stage { subject, now: START, step: 0, precision }
    }

    /// Lets time pass, as far as the store can tell.
    pub(super) fn pass(&mut self, span: Span) {
        self.now = self.now + self.precision.told(span);
    }

    /// Lets all of it pass but the least that the store can tell.
    pub(super) fn pass_almost(&mut self, span: Span) {
        self.now = self.now + self.precision.told(span) - self.grain();
    }

    /// The least time that the store can tell passes.
    pub(super) fn tick(&mut self) {
        self.now = self.now + self.grain();
    }

    /// The same, where a store tells less than the suite itself.
    pub(super) fn tick_if_coarse(&mut self) {
        if self.is_coarse() {
            self.tick();
        }
    }

    /// Whether the store tells less than the suite itself.
    pub(super) fn is_coarse(&self) -> bool {
        self.precision != Precision::default()
    }

    /// The least time that the store can tell.
    pub(super) fn grain(&self) -> Span {
        self.precision.grain
    }

    /// A rule with one bucket per client.
    pub(super) fn rule(&mut self, name: &str, limit: impl Into<Algorithm>) -> RuleId {
        self.shared_rule(name, Breadth::Client, limit)
    }

    /// A rule whose buckets are shared.
    pub(super) fn shared_rule(
        &mut self,
        name: &str,
        breadth: Breadth,
        limit: impl Into<Algorithm>,
    ) -> RuleId {
        self.subject.rule(name, breadth, limit.into(), self.now)
    }

    /// A tier of a rule, unless its buckets mean nothing there.
    pub(super) fn try_tier(&mut self, of: RuleId, name: &str, limit: impl Into<Algorithm>) -> Option<RuleId> {
        self.subject.tier(of, name, limit.into(), self.now)
    }

    /// A tier of a rule.
    pub(super) fn tier(
        &mut self,
        of: RuleId,
        name: &str,
        limit: impl Into<Algorithm>,
    ) -> Result<RuleId, Mismatch> {
        let tier = self.try_tier(of, name, limit);
        self.compare("declare a tier", &true, &tier.is_some())?;
        Ok(tier.unwrap_or(of))
    }

    /// Changes a limit; whether that was possible.
    pub(super) fn set_limit(&mut self, rule: RuleId, limit: impl Into<Algorithm>) -> bool {
        self.subject.set_limit(rule, limit.into(), self.now)
    }

    /// Does anything, with its whole answer.
    pub(super) fn expect_answer(&mut self, action: &Action, expected: &Answer) -> Played {
        self.step += 1;
        let found = action.perform(self.subject, self.now);
        let expected = self.precision.answer(expected);
        if found.is_as_good_as(&expected) {
            return Ok(());
        }
        self.compare(&format!("{action:?}"), &expected, &found)
    }

    /// One check, whatever comes of it.
    pub(super) fn check(&mut self, charge: &Charge) -> Outcome {
        self.step += 1;
        self.subject.check(charge, self.now)
    }

    /// One check with its whole outcome.
    pub(super) fn expect(&mut self, charge: &Charge, expected: Outcome) -> Played {
        let found = self.check(charge);
        self.compare(&format!("check {charge:?}"), &self.precision.outcome(expected), &found)
    }

    /// One check of several buckets with its whole outcome.
    pub(super) fn expect_all(&mut self, charges: &[Charge], expected: Outcome) -> Played {
        self.step += 1;
        let found = self.subject.check_all(charges, self.now);
        self.compare(&format!("check all of {charges:?}"), &self.precision.outcome(expected), &found)
    }

    /// Several checks in one call, each with its whole outcome.
    pub(super) fn expect_each(&mut self, charges: &[Charge], expected: &[Outcome]) -> Played {
        self.step += 1;
        let found = self.subject.check_each(charges, self.now);
        let expected: Vec<Outcome> =
            expected.iter().map(|outcome| self.precision.outcome(*outcome)).collect();
        self.compare(&format!("check each of {charges:?}"), &expected, &found)
    }

    /// A peek with its whole outcome.
    pub(super) fn expect_peek(&mut self, charge: &Charge, expected: Outcome) -> Played {
        self.step += 1;
        let found = self.subject.peek(charge, self.now);
        self.compare(&format!("peek {charge:?}"), &self.precision.outcome(expected), &found)
    }

    /// One check that is admitted.
    pub(super) fn expect_admitted(&mut self, charge: &Charge) -> Played {
        self.expect_count(1, charge, 1)
    }

    /// One check that is not.
    pub(super) fn expect_denied(&mut self, charge: &Charge) -> Played {
        self.expect_count(1, charge, 0)
    }

    /// `checks` equal checks at this moment, of which so many are admitted.
    pub(super) fn expect_count(&mut self, checks: usize, charge: &Charge, expected: usize) -> Played {
        let admitted = (0..checks).filter(|_| self.check(charge).is_admitted()).count();
        self.compare(&format!("{checks} times check {charge:?}, admitted"), &expected, &admitted)
    }

    /// Compares anything that a scenario has counted itself.
    pub(super) fn compare<T: PartialEq + fmt::Debug>(&self, action: &str, expected: &T, found: &T) -> Played {
        if expected == found {
            return Ok(());
        }
        let at = self.now.since(START);
        let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
        Err(Mismatch { step: self.step, action: format!("{action} at +{at}"), expected, found })
    }
}

/// A limit of whole tokens that is known to be one.
pub(super) fn limit(rate: Rate, burst_tokens: u64) -> Limit {
    sound(Limit::new(rate, Burst::tokens(burst_tokens)))
}

/// The limit, which is known to be one.
pub(super) fn sound<L, E: fmt::Display>(limit: Result<L, E>) -> L {
    match limit {
        Ok(limit) => limit,
        Err(error) => unreachable!("{error}"),
    }
}

/// A charge to the bucket of a named client.
pub(super) fn charge(rule: RuleId, key: &str, cost: Cost) -> Charge {
    Charge { rule, key: Key::from(key), cost, left_alone: 0 }
}

/// An admit that leaves so many micro-tokens.
pub(super) fn admit(remaining_micros: u64) -> Outcome {
    admit_after(Span::ZERO, remaining_micros)
}

/// An admit that must wait before it goes ahead.
pub(super) fn admit_after(delay: Span, remaining_micros: u64) -> Outcome {
    Outcome::Admit { remaining: Tokens::from_micros(remaining_micros), delay }
}

/// A denial by the charges at these positions.
pub(super) fn deny(wait: Span, remaining_micros: u64, positions: &[usize]) -> Outcome {
    Outcome::Deny { wait, remaining: Tokens::from_micros(remaining_micros), denied: set_of(positions) }
}

/// A refusal for good by the charges at these positions.
pub(super) fn never(positions: &[usize]) -> Outcome {
    Outcome::Never { denied: set_of(positions) }
}

/// A set of positions.
pub(super) fn set_of(positions: &[usize]) -> BucketSet {
    let mut set = BucketSet::EMPTY;
    for position in positions {
        set.insert(*position);
    }
    set
}
