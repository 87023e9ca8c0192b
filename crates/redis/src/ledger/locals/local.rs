//! One bucket that this node keeps by its share, whatever its algorithm: what it says, and the steps of its way back into the store.

use tollgate::ledger::RuleNumber;
use tollgate_core::{
    Algorithm, Correction, Cost, Generation, LocalBucket, LocalDecision, LocalShare, LocalStart, Moment,
    Span, Tokens,
};

use super::other_bucket::OtherBucket;
use crate::SharedLimit;
use crate::ledger::ready::ReadyCharge;
use crate::ledger::rules::Rules;

/// How buckets of this node start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// Of how many parts this node keeps one.
    pub(super) instances: u32,
    pub(super) start: LocalStart,
    /// Nanoseconds from 1970 to the clock's origin.
    pub(super) origin: u64,
    pub(super) now: Moment,
}

/// One bucket.
#[derive(Debug)]
pub(super) struct Local {
    state: State,
    /// The whole limit, of which this is a part.
    algorithm: Algorithm,
    /// The rule of the bucket; `None` if the limit came with the call.
    rule: Option<RuleNumber>,
    /// Whether the store was asked for a step, and may have done it or do it yet.
    is_asked: bool,
    /// Where it stands in line.
    pub(super) turn: Turn,
}

/// Where a bucket stands in line for its way back: at most once in each ([`super::turns::Turns`]).
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Turn {
    /// Whether somebody has asked for it since the store answers.
    pub(super) was_asking: bool,
    pub(super) is_asking: bool,
    pub(super) is_waiting: bool,
}

#[derive(Debug)]
enum State {
    Tokens { bucket: LocalBucket, share: LocalShare },
    Other(OtherBucket),
}

/// What a bucket says to a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ledger) enum Said {
    Admit {
        remaining: Tokens,
        delay: Span,
    },
    Deny {
        wait: Span,
        remaining: Tokens,
    },
    /// Not ever by this node: the cost is above its share.
    BeyondShare,
}

/// What is to be done in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Take this out, and say so; the bucket stays here.
    First(Tokens),
    /// Do this; the bucket is the store's from then on.
    Last(Correction),
}

impl State {
    fn enter(algorithm: &Algorithm, seen: Option<Tokens>, terms: Terms) -> Option<State> {
        let Terms { instances, start, origin, now } = terms;
        Some(match algorithm {
            Algorithm::TokenBucket(limit) => {
                let share = LocalShare::new(limit, instances).ok()?;
                State::Tokens { bucket: LocalBucket::enter(&share, seen, start, now), share }
            }
            other => {
                let is_empty = start == LocalStart::Empty && !matches!(other, Algorithm::Concurrency(_));
                State::Other(OtherBucket::enter(other.share(instances).ok()?, is_empty, now, origin))
            }
        })
    }
}

impl Local {
    /// The bucket of a charge; `None` if this node's share is too small to be a limit.
    pub(super) fn enter(charge: &ReadyCharge, seen: Option<Tokens>, terms: Terms) -> Option<Local> {
        let rule = charge.rule.as_ref();
        let since = rule.map(|rule| rule.since);
        // What nobody has heard of was full under the limit before, which is not what is full now.
        let was_full = charge.algorithm != charge.alone && seen.is_none() && terms.start == LocalStart::Full;
        let before = Terms { now: since.filter(|_| was_full).unwrap_or(terms.now), ..terms };
        let (state, algorithm) = match State::enter(&charge.algorithm, seen, before) {
            Some(state) => (state, charge.algorithm),
            None => (State::enter(&charge.alone, seen, terms)?, charge.alone),
        };
        let (rule, turn) = (rule.map(|rule| rule.number), Turn::default());
        let mut local = Local { state, algorithm, rule, is_asked: false, turn };
        local.follow(&charge.alone, since, terms).then_some(local)
    }

    /// The limit is this one, since then or from now on (A9): what the bucket holds stays, and a smaller burst clamps. One that means
    /// nothing under it starts anew, as it would in the store. `false` if this node's share of it is too small to be a limit: the
    /// bucket stays as it was.
    pub(super) fn follow(&mut self, algorithm: &Algorithm, since: Option<Moment>, terms: Terms) -> bool {
        if self.algorithm == *algorithm {
            return true;
        }
        let is_followed = match (&mut self.state, algorithm) {
            (State::Tokens { bucket, share }, Algorithm::TokenBucket(limit)) => {
                let Ok(next) = LocalShare::new(limit, terms.instances) else { return false };
                bucket.share_changes(share, since.unwrap_or(terms.now).min(terms.now));
                *share = next;
                true
            }
            (State::Other(bucket), other) => {
                let Ok(next) = other.share(terms.instances) else { return false };
                bucket.share_changes(next, terms.now)
            }
            _ => false,
        };
        if !is_followed {
            let Some(anew) = State::enter(algorithm, None, terms) else { return false };
            self.state = anew;
        }
        self.algorithm = *algorithm;
        true
    }

    pub(super) fn look(&self, cost: Cost, now: Moment) -> Said {
        match &self.state {
            State::Tokens { bucket, share } => match bucket.look(share, cost, now) {
                LocalDecision::Admit { remaining } => Said::Admit { remaining, delay: Span::ZERO },
                LocalDecision::Deny { wait, remaining } => Said::Deny { wait, remaining },
                LocalDecision::BeyondShare => Said::BeyondShare,
            },
            State::Other(bucket) => bucket.look(cost, now),
        }
    }

    /// Charges what was found good. Of places, in which generation they were taken.
    pub(super) fn charge(&mut self, cost: Cost, now: Moment) -> Option<Generation> {
        match &mut self.state {
            State::Tokens { bucket, share } => {
                let _ = bucket.check(share, cost, now);
                None
            }
            State::Other(bucket) => bucket.charge(cost, now),
        }
    }

    /// A check was admitted before the bucket was kept here, and the store has not charged it: it is charged at the
    /// return.
    pub(super) fn owes(&mut self, cost: Cost, now: Moment) {
        match &mut self.state {
            State::Tokens { bucket, .. } => bucket.owes(cost),
            // It began without a look at what was there.
            State::Other(bucket) => bucket.correct(Cost::micros(0), cost, now),
        }
    }

    /// A charge turned out to have cost something else; places are given back.
    pub(super) fn correct(&mut self, charged: Cost, truly: Cost, place: Option<Generation>, now: Moment) {
        match (&mut self.state, place) {
            (State::Tokens { bucket, share }, _) => bucket.correct(share, charged, truly, now),
            (State::Other(bucket), Some(generation)) if truly < charged => {
                bucket.leave(generation, charged, now);
            }
            (State::Other(_), Some(_)) => {}
            (State::Other(bucket), None) => bucket.correct(charged, truly, now),
        }
    }

    /// The store said late what the bucket had held, and what it has charged; whether that is settled thereby.
    pub(super) fn store_answered(&mut self, before: Tokens, charged: Option<Cost>, now: Moment) -> bool {
        let State::Tokens { bucket, share } = &mut self.state else { return false };
        bucket.store_told(share, before, now);
        if let Some(cost) = charged {
            bucket.store_charged(share, cost, now);
        }
        true
    }

    /// How long until it is full, if nobody spends.
    pub(super) fn time_to_full(&self, now: Moment) -> Span {
        match &self.state {
            State::Tokens { bucket, share } => {
                let (full, held) = (share.limit().burst(), bucket.held(share, now));
                let missing = full.as_micros().saturating_sub(held.as_micros());
                share.limit().time_to_mint(Tokens::from_micros(missing))
            }
            State::Other(bucket) => bucket.time_to_full(now),
        }
    }

    /// Whether it says nothing that a bucket nobody has heard of would not, so that whoever forgets it loses nothing (S1).
    pub(super) fn is_full(&self, now: Moment) -> bool {
        !self.is_asked
            && match &self.state {
                State::Tokens { bucket, share } => bucket.is_full(share, now),
                State::Other(bucket) => bucket.is_away() && bucket.time_to_full(now) == Span::ZERO,
            }
    }

    /// Whether its way back has not begun.
    pub(super) fn is_away(&self) -> bool {
        !self.is_asked
            && match &self.state {
                State::Tokens { bucket, .. } => bucket.is_away(),
                State::Other(bucket) => bucket.is_away(),
            }
    }

    /// Whether the store was asked for a step, and has not said what became of it.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// How long it settles, once its share is taken out.
    pub(super) fn settling(&self) -> Span {
        match &self.state {
            State::Tokens { .. } => LocalBucket::SETTLING,
            // It does not wait for others to settle.
            State::Other(_) => Span::ZERO,
        }
    }

    /// The rule of the bucket; `None` if the limit came with the call.
    pub(super) fn rule(&self) -> Option<RuleNumber> {
        self.rule
    }

    /// Counts the two oldest charges of its log as one, if it has one.
    pub(super) fn merge_oldest(&mut self) {
        if let State::Other(bucket) = &mut self.state {
            bucket.merge_oldest();
        }
    }

    /// Entries of its log, if it has one.
    pub(super) fn entries(&self) -> usize {
        match &self.state {
            State::Tokens { .. } => 0,
            State::Other(bucket) => bucket.entries(),
        }
    }

    /// The limit as the store knows it, and as it is in force; `None` until what this node wants is agreed upon with the others.
    fn shared_limit(&self, rules: &Rules) -> Option<(SharedLimit, Algorithm)> {
        match (self.rule, &self.algorithm) {
            (Some(rule), _) => rules.agreed(rule).map(|agreed| (agreed.limit.clone(), agreed.algorithm)),
            (None, Algorithm::TokenBucket(limit)) => {
                Some((SharedLimit::explicit(limit).ok()?, self.algorithm))
            }
            (None, _) => None,
        }
    }

    /// How deep into debt the store may go for it.
    pub(super) fn debt_max(&self) -> Tokens {
        self.algorithm.full()
    }

    /// The store may be asked: what to do there. `None` if nothing is to be done yet.
    pub(super) fn step(&mut self, rules: &Rules, terms: Terms) -> Option<(Step, SharedLimit)> {
        let (limit, algorithm) = self.shared_limit(rules).filter(|_| !self.is_asked)?;
        // A share too small to be a limit is handed over as it was.
        self.follow(&algorithm, None, terms);
        let step = self.next_step(terms.now)?;
        self.is_asked = true;
        Some((step, limit))
    }

    /// Whether there is something to do in the store, if it may be asked.
    pub(super) fn is_due(&self, rules: &Rules, now: Moment) -> bool {
        let is_due = match &self.state {
            State::Tokens { bucket, .. } => bucket.is_away() || bucket.settled(now).is_some(),
            State::Other(_) => true,
        };
        is_due && !self.is_asked && self.shared_limit(rules).is_some()
    }

    fn next_step(&mut self, now: Moment) -> Option<Step> {
        match &mut self.state {
            State::Tokens { bucket, share } => match bucket.settled(now) {
                Some(correction) => Some(Step::Last(correction)),
                None => bucket.store_is_back(share, now).map(Step::First),
            },
            State::Other(bucket) => match bucket.settled(now) {
                Some(owed) => Some(Step::Last(Correction::Charge(owed))),
                None => bucket.store_is_back(now).map(Step::First),
            },
        }
    }

    /// The store has done a step, of which the last one late: there is another then.
    pub(super) fn is_done(&mut self, step: Step, now: Moment) {
        self.is_asked = false;
        match (&mut self.state, step) {
            (State::Tokens { bucket, share }, Step::First(_)) => bucket.is_charged(share, now),
            (State::Tokens { bucket, share }, Step::Last(correction)) => {
                bucket.is_corrected(share, correction, now);
            }
            (State::Other(bucket), Step::First(_)) => bucket.is_charged(),
            (
                State::Other(bucket),
                Step::Last(Correction::Charge(charged) | Correction::GiveBack(charged)),
            ) => {
                bucket.is_corrected(charged);
            }
        }
    }

    /// The store is silent again, or did not do it.
    pub(super) fn store_is_gone(&mut self) {
        self.is_asked = false;
        match &mut self.state {
            State::Tokens { bucket, .. } => bucket.store_is_gone(),
            State::Other(bucket) => bucket.store_is_gone(),
        }
    }

    /// What it would admit at once.
    pub(super) fn held(&self, now: Moment) -> Tokens {
        match self.look(Cost::micros(1), now) {
            Said::Admit { remaining, .. } | Said::Deny { remaining, .. } => remaining,
            Said::BeyondShare => Tokens::ZERO,
        }
    }
}
