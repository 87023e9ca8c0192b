//! A table that is far too small: whoever is displaced, denied or made to share, nobody gets more than promised.
//!
//! There is no telling who finds room, so nothing is compared; all that was admitted goes to the history checker.

mod promises;

use std::collections::BTreeMap;

use tollgate::{Algorithm, Clock, Limiter, TableFull};
use tollgate_core::{Moment, Span, Tokens};

use self::promises::{Places, promise_of, tame, time_to_full};
use super::{Decoder, OPERATIONS_MAX, Operation, Scope};
use crate::checker::{Promise, judge_each};
use crate::conformance::{Action, Answer, Breadth, Charge, Key, Outcome, START, Subject, Ticket};
use crate::history::Event;
use crate::memory_subject::MemorySubject;

/// Rules that an input may declare.
const RULES_MAX: usize = 4;

/// A small limiter, and all that it admitted.
struct Small {
    subject: MemorySubject,
    /// Each rule's limit, and what it promises.
    rules: Vec<(Algorithm, Promise)>,
    /// Buckets by number, for the history.
    buckets: BTreeMap<(usize, Key), u64>,
    events: Vec<Event>,
    /// The one charge of each reservation, and when it was made.
    reserved: BTreeMap<Ticket, (Charge, Moment)>,
    places: Places,
    now: Moment,
}

pub(super) fn run(decoder: &mut Decoder<'_>) {
    let table_full =
        [TableFull::Inherit, TableFull::DenyNew, TableFull::SharedOverflow][usize::from(decoder.byte() % 3)];
    let keys = 1 + usize::from(decoder.byte() % 24);
    let Ok(limit) = decoder.algorithm() else { return };
    let settings = Limiter::builder().keys_max(keys).table_full(table_full).clock(Clock::manual(START));
    let Ok(subject) = MemorySubject::new(settings) else { return };
    let mut small = Small {
        subject,
        rules: Vec::new(),
        buckets: BTreeMap::new(),
        events: Vec::new(),
        reserved: BTreeMap::new(),
        places: Places::default(),
        now: START,
    };
    small.declare(limit);
    let mut scope = Scope::of(1);
    for _ in 0..OPERATIONS_MAX {
        let Some(operation) = decoder.operation(&mut scope) else { break };
        small.apply(operation, &mut scope);
        scope.rules = small.rules.len();
    }
    small.judge();
}

impl Small {
    fn declare(&mut self, limit: Algorithm) {
        self.subject.rule(&self.rules.len().to_string(), Breadth::Client, limit, self.now);
        self.rules.push((limit, promise_of(limit)));
    }

    /// Time only goes forward and there are no tiers: what a bucket was promised must be plain.
    fn apply(&mut self, operation: Operation, scope: &mut Scope) {
        match operation {
            Operation::Rule(_, Ok(limit)) if self.rules.len() < RULES_MAX => self.declare(limit),
            Operation::SetLimit(rule, Ok(limit)) => self.change(rule.0, limit),
            Operation::Forward(span) => {
                let longest = time_to_full(self.rules[0].0).as_nanos() / 4;
                self.now = self.now + Span::from_nanos(span.as_nanos().min(longest));
            }
            Operation::Do(action) => {
                let action = tame(action, |rule| self.rules[rule.0].0);
                let answer = action.perform(&mut self.subject, self.now);
                scope.note(&action, &answer);
                self.record(&action, &answer);
            }
            Operation::Rule(..)
            | Operation::Tier(..)
            | Operation::SetLimit(..)
            | Operation::Back(_)
            | Operation::Float(_) => {}
        }
    }

    /// Only of token buckets: what others promise across a change is less plain.
    fn change(&mut self, rule: usize, limit: Algorithm) {
        if let ((Algorithm::TokenBucket(_), promise), Algorithm::TokenBucket(changed)) =
            (&mut self.rules[rule], limit)
        {
            self.subject.set_limit(crate::conformance::RuleId(rule), limit, self.now);
            *promise = promise.clone().then(self.now, changed);
            self.rules[rule].0 = limit;
        }
    }

    fn record(&mut self, action: &Action, answer: &Answer) {
        match (action, answer) {
            (Action::CheckEach(charges), Answer::Each(outcomes)) => {
                for (charge, outcome) in charges.iter().zip(outcomes) {
                    self.spent(charge, outcome.is_admitted());
                }
            }
            (Action::Enter(ticket, charges), Answer::Outcome(Outcome::Admit { .. })) => {
                self.places.enter(*ticket, charges, |rule| self.rules[rule.0].0, self.now);
                for charge in charges {
                    self.spent(charge, true);
                }
            }
            (Action::Leave(ticket), _) => self.places.leave(*ticket),
            (Action::Reserve(ticket, charges, _), Answer::Reserved(Ok(()))) => {
                for charge in charges {
                    self.spent(charge, true);
                }
                self.reserved.insert(*ticket, (charges[0].clone(), self.now));
            }
            (Action::Settle(ticket, _), Answer::Settled(Ok(settled))) => {
                if let Some((charge, _)) = self.reserved.remove(ticket) {
                    self.given(&charge, settled.returned);
                }
            }
            (Action::Refund(charge) | Action::Grant(charge) | Action::Reset(charge), answer) => {
                if let Answer::Given(Ok(given)) = answer {
                    self.given(charge, given.given);
                    self.places.reset(charge, action);
                }
            }
            (Action::Check(_) | Action::CheckAll(_), Answer::Outcome(outcome)) => {
                action.charges().iter().for_each(|charge| self.spent(charge, outcome.is_admitted()));
            }
            _ => {}
        }
    }

    fn spent(&mut self, charge: &Charge, admitted: bool) {
        let cost = i64::try_from(charge.cost.as_micros()).unwrap_or(i64::MAX);
        self.push(charge, cost, admitted);
    }

    fn given(&mut self, charge: &Charge, given: Tokens) {
        let cost = i64::try_from(given.as_micros()).unwrap_or(i64::MAX);
        self.push(charge, -cost, true);
    }

    fn push(&mut self, charge: &Charge, cost: i64, admitted: bool) {
        // Places are not spent: they are counted as they are taken.
        if matches!(self.rules[charge.rule.0].0, Algorithm::Concurrency(_)) {
            return;
        }
        let next = self.buckets.len() as u64;
        let key = *self.buckets.entry((charge.rule.0, charge.key.clone())).or_insert(next);
        self.events.push(Event { key, called: self.now, answered: self.now, cost, admitted });
    }

    fn judge(self) {
        let rule_of: BTreeMap<u64, usize> =
            self.buckets.iter().map(|((rule, _), number)| (*number, *rule)).collect();
        judge_each(self.events, |key| self.rules[rule_of[&key]].1.clone()).assert_kept();
    }
}
