//! One bucket while the shared store does not answer, and the way back.
//!
//! ```text
//!   store   answers ─┐ silent                   ┌ answers again
//!   node    asks it  └ local: by its share only ┼ takes its share out ── local for ½ s more ── puts back what is left ┬ asks it
//!                                               └──────────────────────── settling ─────────────────────────────────┘
//! ```
//!
//! What the store refills meanwhile for this node's share is counted beside the share itself (`beside`). It is taken out of the store
//! at the return: what the node holds then is all there is of its share, and nobody else can spend it. Half a second later all nodes
//! have done so, and may ask the store again.
//!
//! Bound per outage, over all nodes: at most a burst above the limit going in (what was left in the store is spent once more, by
//! shares), and `rate · 1 s` coming out (while they settle, the store refills beside what nodes hold, and nodes mint, too), if every
//! node notices within half a second that the store is back, as its [`crate::Breaker`] does. A store that comes back empty costs one burst
//! more. It does not talk to the store itself, and knows one bucket of one node.
//!
//! An answer may come late, when the node has decided by its share already: what the store has charged then is taken out of it once
//! less at the return ([`LocalBucket::store_charged`]), and what it held is a better start than a guess ([`LocalBucket::store_told`]).

use crate::stamped_level::{StampedBalance, StampedLevel};
use crate::{Cost, LocalShare, Moment, Span, Tokens};

/// How a bucket starts of which this node has not heard from the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocalStart {
    /// With all of its share, as it would in the store.
    #[default]
    Full,
    /// With nothing, so that an outage gives nothing away.
    Empty,
}

/// A bucket that a node keeps by its share.
#[derive(Debug)]
pub struct LocalBucket {
    /// What the node may spend.
    stored: StampedBalance,
    /// What the store has of the node's share, as far as it knows of no spending: never less than the above before the return.
    beside: StampedBalance,
    /// With how many micro-tokens it started; `None` once the store has said what there was.
    guessed: Option<u64>,
    /// Micro-tokens that the node has admitted before it decided by its share, and that the store has not charged.
    /// `stored` and `beside` do not hold them.
    unpaid: u64,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Away,
    /// The store was to be charged, from this moment on; `owed` is what it has charged too much by then, `paying` the
    /// part of `unpaid` that it was to be charged.
    Returning {
        since: Moment,
        owed: i64,
        paying: u64,
    },
    /// `held` is what was there at the return, and what the store owes.
    Settling {
        until: Moment,
        held: i64,
        spent: u64,
    },
}

/// What to do in the store when a node has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// The node has spent more than it held at the return: charge it, into debt if need be.
    Charge(Tokens),
    /// It has spent less: give it back, but never overfill.
    GiveBack(Tokens),
}

/// What becomes of a check against a [`LocalBucket`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalDecision {
    /// Go ahead.
    Admit {
        /// What is left of this node's share.
        remaining: Tokens,
    },
    /// Not now.
    Deny {
        /// How long until the share holds enough.
        wait: Span,
        /// What it holds, too little for the cost.
        remaining: Tokens,
    },
    /// Not here: the cost is above this node's share of the burst. Nothing is said about when the store is back.
    BeyondShare,
}

impl LocalBucket {
    /// How long a node stays local after the store is back, so that all nodes have told it what they lack before anybody asks it.
    pub const SETTLING: Span = Span::from_millis(500);

    /// The store does not answer: starts with the node's share of the last balance that it saw.
    pub fn enter(share: &LocalShare, seen: Option<Tokens>, start: LocalStart, now: Moment) -> LocalBucket {
        let held = match (seen, start) {
            (Some(balance), _) => share.of(balance).min(share.limit().burst()),
            (None, LocalStart::Full) => share.limit().burst(),
            (None, LocalStart::Empty) => Tokens::ZERO,
        };
        let stored = StampedBalance { micros: held.as_micros().cast_signed(), stamp: now };
        let guessed = if seen.is_some() { None } else { Some(held.as_micros()) };
        LocalBucket { stored, beside: stored, guessed, unpaid: 0, phase: Phase::Away }
    }

    /// What a check would be told by this node's share. Spends nothing.
    pub fn look(&self, share: &LocalShare, cost: Cost, now: Moment) -> LocalDecision {
        if share.limit().never_admits(cost) {
            return LocalDecision::BeyondShare;
        }
        let level = self.level(share, now);
        if level.held() < Tokens::from(cost) {
            return LocalDecision::Deny { wait: level.wait_for(Tokens::from(cost)), remaining: level.held() };
        }
        LocalDecision::Admit { remaining: level.charged(cost.as_micros()).held() }
    }

    /// Decides a check by this node's share.
    pub fn check(&mut self, share: &LocalShare, cost: Cost, now: Moment) -> LocalDecision {
        let decision = self.look(share, cost, now);
        if !matches!(decision, LocalDecision::Admit { .. }) {
            return decision;
        }
        self.stored = self.level(share, now).charged(cost.as_micros()).stored();
        if let Phase::Settling { spent, .. } = &mut self.phase {
            *spent = spent.saturating_add(cost.as_micros());
        }
        decision
    }

    /// Whether the store was not told yet, or is silent again.
    pub fn is_away(&self) -> bool {
        self.phase == Phase::Away
    }

    /// The store answers again: what to charge there at once, into debt if need be. `None` if that was said before.
    pub fn store_is_back(&mut self, share: &LocalShare, now: Moment) -> Option<Tokens> {
        if self.phase != Phase::Away {
            return None;
        }
        let beside = StampedLevel::new(share.limit(), self.beside, now);
        let (owed, paying) = (beside.micros().min(0).saturating_neg(), self.unpaid);
        self.phase = Phase::Returning { since: now, owed, paying };
        // The store holds no more than the whole burst: the refill has paid for the rest.
        let taken = beside.held().as_micros().saturating_add(paying);
        Some(Tokens::from_micros(taken).min(share.bursts().max(beside.held())))
    }

    /// The store has charged it.
    pub fn is_charged(&mut self, share: &LocalShare, now: Moment) {
        let Phase::Returning { since, owed, paying } = self.phase else { return };
        self.unpaid = self.unpaid.saturating_sub(paying);
        self.beside = StampedBalance { micros: 0, stamp: since }.plus(owed.saturating_neg());
        let held = self.level(share, now).micros().saturating_add(owed);
        self.phase = Phase::Settling { until: now + LocalBucket::SETTLING, held, spent: 0 };
    }

    /// The store is silent again, or did not take what was charged. The node goes on by its share, and nothing is charged twice.
    pub fn store_is_gone(&mut self) {
        self.phase = Phase::Away;
    }

    /// The store has charged `cost` for a check that this node has decided by its share, since the answer came late. Whether the node
    /// admitted it or not, it counts in the store as the node has decided in the end.
    pub fn store_charged(&mut self, share: &LocalShare, cost: Cost, now: Moment) {
        let cost = cost.as_micros();
        self.beside = StampedLevel::new(share.limit(), self.beside, now).charged(cost).stored();
        match &mut self.phase {
            Phase::Away => {}
            Phase::Returning { owed, .. } => *owed = owed.saturating_add(signed(cost)),
            Phase::Settling { held, .. } => *held = held.saturating_add(signed(cost)),
        }
    }

    /// The node has admitted `cost` before it decided by its share, and the store has not charged it: it is charged at
    /// the return. The balance that the bucket entered with must be without it.
    pub fn owes(&mut self, cost: Cost) {
        self.unpaid = self.unpaid.saturating_add(cost.as_micros());
    }

    /// The store said late what the bucket had held when the node began to decide by its share: as if it had been seen before. Says
    /// nothing to a node that had seen it, or has been told.
    pub fn store_told(&mut self, share: &LocalShare, balance: Tokens, now: Moment) {
        let Some(guessed) = self.guessed.take() else { return };
        let truly = signed(share.of(balance).min(share.limit().burst()).as_micros());
        let more = truly - signed(guessed);
        for stored in [&mut self.stored, &mut self.beside] {
            *stored = StampedLevel::new(share.limit(), *stored, now).stored_plus(more);
        }
        // Then the guess was taken out of the store. Once that has been settled, all but what was spent is put back anyway.
        if let Phase::Returning { owed, .. } = &mut self.phase {
            *owed = owed.saturating_sub(more);
        }
    }

    /// A charge of this node turned out to have cost something else: the rest is given back, no fuller than full, or what is over is
    /// charged, into debt if need be.
    pub fn correct(&mut self, share: &LocalShare, charged: Cost, truly: Cost, now: Moment) {
        let (charged, truly) = (charged.as_micros(), truly.as_micros());
        let level = self.level(share, now);
        let after = level.given(charged.saturating_sub(truly)).charged(truly.saturating_sub(charged));
        self.stored = after.stored();
        if let Phase::Settling { held, .. } = &mut self.phase {
            let given = after.micros().saturating_sub(level.micros());
            *held = held.saturating_add(given);
        }
    }

    /// From `at` on, which may be a while ago, the share is another than this one: what was there then stays, and is at most the
    /// other's burst. What was charged since counts from its own time on.
    pub fn share_changes(&mut self, share: &LocalShare, at: Moment) {
        for stored in [&mut self.stored, &mut self.beside] {
            let at = at.max(stored.stamp);
            *stored = StampedLevel::new(share.limit(), *stored, at).charged(0).stored();
        }
    }

    /// Whether it says nothing that a bucket nobody has heard of would not: the store was not told of it, or is silent again, and it is
    /// full, here and there. Whoever forgets it loses nothing.
    pub fn is_full(&self, share: &LocalShare, now: Moment) -> bool {
        let is_full = |stored| StampedLevel::new(share.limit(), stored, now).held() >= share.limit().burst();
        self.is_away() && is_full(self.stored) && is_full(self.beside)
    }

    /// What the node may spend at `now`.
    pub fn held(&self, share: &LocalShare, now: Moment) -> Tokens {
        self.level(share, now).held()
    }

    /// Whether the node has settled by `now`: then what to do in the store, and from then on the store is asked.
    pub fn settled(&self, now: Moment) -> Option<Correction> {
        match self.phase {
            Phase::Settling { until, held, spent } if now >= until => {
                let left = held.saturating_sub(signed(spent)).saturating_sub(signed(self.unpaid));
                let amount = Tokens::from_micros(left.unsigned_abs());
                Some(if left < 0 { Correction::Charge(amount) } else { Correction::GiveBack(amount) })
            }
            Phase::Settling { .. } | Phase::Returning { .. } | Phase::Away => None,
        }
    }

    /// The store has done this late, when the node had gone on by its share: what was given back is not the node's any more.
    pub fn is_corrected(&mut self, share: &LocalShare, correction: Correction, now: Moment) {
        let Phase::Settling { held, .. } = &mut self.phase else { return };
        match correction {
            Correction::Charge(amount) => {
                let paid = amount.as_micros().min(self.unpaid);
                self.unpaid -= paid;
                *held = held.saturating_add(signed(amount.as_micros() - paid));
            }
            Correction::GiveBack(amount) => {
                *held = held.saturating_sub(signed(amount.as_micros()));
                self.stored = self.level(share, now).charged(amount.as_micros()).stored();
            }
        }
    }

    fn level(&self, share: &LocalShare, now: Moment) -> StampedLevel {
        StampedLevel::new(share.limit(), self.stored, now)
    }
}

fn signed(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
