//! A table with room for all: the limiter must answer every operation exactly as the reference does.

use tollgate::{Limiter, TableFull};
use tollgate_core::{Algorithm, Burst, Cost, Moment, Rate, Span};

use super::{Decoder, OPERATIONS_MAX, Operation, Scope};
use crate::conformance::{Action, Breadth, Charge, Reference, START, Subject};
use crate::memory_subject::MemorySubject;

/// Room for 50 times as many keys as an input can name, so that none meets the crowding rule.
const KEYS: usize = 200_000;
/// Rules and tiers that an input may declare.
const LIMITS_MAX: usize = 12;
/// How far from the start time may go, where it is bounded: see [`Time::bound`].
const BOUND: Span = Span::from_secs(2_000);
/// How far a bounded clock may step back: less than the shortest window.
const STEP_BACK_MAX: Span = Span::from_secs(1);

pub(super) fn run(decoder: &mut Decoder<'_>) {
    let table_full =
        [TableFull::Inherit, TableFull::DenyNew, TableFull::SharedOverflow][usize::from(decoder.byte() % 3)];
    let settings = Limiter::builder().keys_max(KEYS).table_full(table_full);
    let Ok(subject) = MemorySubject::new(settings) else { return };
    let mut both =
        Both { subject, reference: Reference::new(), scope: Scope::of(0), time: Time::new(table_full) };
    let Ok(limit) = decoder.algorithm() else { return };
    both.declare(Breadth::Client, limit);
    for _ in 0..OPERATIONS_MAX {
        let Some(operation) = decoder.operation(&mut both.scope) else { return };
        both.apply(operation);
    }
}

/// A limiter and the reference, which are asked the same.
struct Both {
    subject: MemorySubject,
    reference: Reference,
    scope: Scope,
    time: Time,
}

impl Both {
    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Rule(breadth, Ok(limit)) => {
                let breadth = [Breadth::Client, Breadth::Group, Breadth::Everyone][usize::from(breadth)];
                self.declare(breadth, limit);
            }
            Operation::Tier(of, Ok(limit)) if self.scope.rules < LIMITS_MAX => {
                let (name, now) = (self.scope.rules.to_string(), self.time.now);
                let tier = self.reference.tier(of, &name, limit, now);
                agree(&limit, &self.subject.tier(of, &name, limit, now), &tier);
                self.scope.rules += usize::from(tier.is_some());
            }
            Operation::SetLimit(rule, Ok(limit)) => {
                let now = self.time.now;
                let changed = self.reference.set_limit(rule, limit, now);
                agree(&limit, &self.subject.set_limit(rule, limit, now), &changed);
            }
            // Every error must be able to say what is wrong.
            Operation::Rule(_, Err(error))
            | Operation::Tier(_, Err(error))
            | Operation::SetLimit(_, Err(error)) => assert!(!error.to_string().is_empty()),
            Operation::Tier(_, Ok(_)) => {}
            Operation::Forward(span) => self.time.forward(span),
            Operation::Back(span) => self.time.back(span),
            Operation::Do(action) => self.perform(action),
            Operation::Float(bits) => read_float(f64::from_bits(bits)),
        }
    }

    fn declare(&mut self, breadth: Breadth, limit: Algorithm) {
        let is_simple = matches!(limit, Algorithm::TokenBucket(_));
        if self.scope.rules == LIMITS_MAX || !is_simple && !self.time.bound() {
            return;
        }
        self.time.never_back |= matches!(limit, Algorithm::SlidingLog(_));
        let (name, now) = (self.scope.rules.to_string(), self.time.now);
        let rule = self.reference.rule(&name, breadth, limit, now);
        agree(&limit, &self.subject.rule(&name, breadth, limit, now), &rule);
        self.scope.rules += 1;
    }

    fn perform(&mut self, action: Action) {
        let is_check =
            matches!(action, Action::Check(_) | Action::CheckAll(_) | Action::CheckEach(_) | Action::Peek(_));
        if !is_check {
            if !self.time.bound() {
                return;
            }
            self.time.never_back = true;
        }
        let action = without_conflicts(&self.reference, action);
        let expected = action.perform(&mut self.reference, self.time.now);
        let found = action.perform(&mut self.subject, self.time.now);
        self.scope.note(&action, &expected);
        if !found.is_as_good_as(&expected) {
            agree(&action, &found, &expected);
        }
    }
}

/// What time it is, and how far it may go.
struct Time {
    now: Moment,
    latest: Moment,
    ends: [Moment; 2],
    is_bounded: bool,
    /// What is kept until a moment is forgotten by the fastest clock there was: logs, reservations, verdicts.
    never_back: bool,
}

impl Time {
    /// The shared overflow bucket of a rule is nobody's own and may lie idle until its meter has lapped it (2^64 micro-tokens: 5
    /// hours at 10^9 per second). It then looks empty, and with it every newcomer.
    fn new(table_full: TableFull) -> Time {
        let ends = match table_full {
            TableFull::SharedOverflow => [START - BOUND, START + BOUND],
            TableFull::Inherit | TableFull::DenyNew => [Moment::from_nanos(0), Moment::from_nanos(u64::MAX)],
        };
        Time { now: START, latest: START, ends, is_bounded: false, never_back: false }
    }

    /// Keeps time near the start from now on, where words that count windows do not wrap; whether it is there.
    fn bound(&mut self) -> bool {
        if !self.is_bounded {
            if self.latest > START + BOUND || self.now < START - BOUND {
                return false;
            }
            (self.ends, self.is_bounded) = ([START - BOUND, START + BOUND], true);
            self.now = self.latest;
        }
        true
    }

    fn forward(&mut self, span: Span) {
        self.now = (self.now + span).min(self.ends[1]);
        self.latest = self.latest.max(self.now);
    }

    fn back(&mut self, span: Span) {
        let earliest = if self.is_bounded { self.latest - STEP_BACK_MAX } else { self.ends[0] };
        if !self.never_back {
            self.now = (self.now - span).max(earliest).max(self.ends[0]);
        }
    }
}

/// Without charges that want one bucket under two tiers: those are refused, but may leave a bucket under either tier.
fn without_conflicts(reference: &Reference, mut action: Action) -> Action {
    if let Action::CheckAll(charges)
    | Action::CheckOnce(_, _, charges)
    | Action::Enter(_, charges)
    | Action::Reserve(_, charges, _) = &mut action
    {
        let mut kept: Vec<Charge> = Vec::new();
        for charge in charges.drain(..) {
            if !kept.iter().any(|other| reference.disagree(other, &charge)) {
                kept.push(charge);
            }
        }
        *charges = kept;
    }
    action
}

#[track_caller]
fn agree<T: PartialEq + std::fmt::Debug>(what: &impl std::fmt::Debug, found: &T, expected: &T) {
    assert_eq!(found, expected, "the store (left) and the reference (right) disagree on {what:?}");
}

/// A float is an amount or is refused; either way with words and without a panic.
fn read_float(value: f64) {
    let said = [
        Rate::try_from(value).map_or_else(|error| error.to_string(), |rate| rate.to_string()),
        Burst::try_from(value).map_or_else(|error| error.to_string(), |burst| burst.to_string()),
        Cost::try_from(value).map_or_else(|error| error.to_string(), |cost| cost.to_string()),
    ];
    assert!(said.iter().all(|text| !text.is_empty()));
}
