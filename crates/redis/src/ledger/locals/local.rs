//! One bucket that this node keeps by its share, whatever its algorithm: what it says, and the steps of its way back into the store.

use std::sync::Arc;

use tollgate_core::{
    Algorithm, Correction, Cost, Generation, LocalBucket, LocalDecision, LocalShare, LocalStart, Moment,
    Span, Tokens,
};

use super::other_bucket::OtherBucket;
use crate::SharedLimit;
use crate::ledger::ready::ReadyCharge;
use crate::ledger::rules::RuleEntry;

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
    rule: Option<Arc<RuleEntry>>,
    /// Whether the store was asked for a step, and may have done it or do it yet.
    is_asked: bool,
}

#[derive(Debug)]
enum State {
    Tokens { bucket: LocalBucket, share: LocalShare },
    Other(OtherBucket),
}

/// What a bucket says to a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
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

impl Local {
    /// The bucket of a charge; `None` if this node's share is too small to be a limit.
    pub(super) fn enter(charge: &ReadyCharge, seen: Option<Tokens>, terms: Terms) -> Option<Local> {
        let Terms { instances, start, origin, now } = terms;
        let state = match &charge.algorithm {
            Algorithm::TokenBucket(limit) => {
                let share = LocalShare::new(limit, instances).ok()?;
                State::Tokens { bucket: LocalBucket::enter(&share, seen, start, now), share }
            }
            other => {
                let is_empty = start == LocalStart::Empty && !matches!(other, Algorithm::Concurrency(_));
                State::Other(OtherBucket::enter(other.share(instances).ok()?, is_empty, now, origin))
            }
        };
        Some(Local { state, algorithm: charge.algorithm, rule: charge.rule.clone(), is_asked: false })
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

    /// Entries of its log, if it has one.
    pub(super) fn entries(&self) -> usize {
        match &self.state {
            State::Tokens { .. } => 0,
            State::Other(bucket) => bucket.entries(),
        }
    }

    /// The limit as the store knows it; `None` until that is agreed upon with the others.
    fn shared_limit(&self) -> Option<SharedLimit> {
        match (&self.rule, &self.algorithm) {
            (Some(rule), _) => rule.agreed.load().as_ref().map(|agreed| agreed.limit.clone()),
            (None, Algorithm::TokenBucket(limit)) => SharedLimit::explicit(limit).ok(),
            (None, _) => None,
        }
    }

    /// How deep into debt the store may go for it.
    pub(super) fn debt_max(&self) -> Tokens {
        self.algorithm.full()
    }

    /// The store may be asked: what to do there. `None` if nothing is to be done yet.
    pub(super) fn step(&mut self, now: Moment) -> Option<(Step, SharedLimit)> {
        let limit = self.shared_limit().filter(|_| !self.is_asked)?;
        let step = self.next_step(now)?;
        self.is_asked = true;
        Some((step, limit))
    }

    /// Whether there is something to do in the store, if it may be asked.
    pub(super) fn is_due(&self, now: Moment) -> bool {
        let is_due = match &self.state {
            State::Tokens { bucket, .. } => bucket.is_away() || bucket.settled(now).is_some(),
            // It does not wait for others to settle.
            State::Other(_) => true,
        };
        is_due && !self.is_asked && self.shared_limit().is_some()
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
