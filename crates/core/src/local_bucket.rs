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
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Away,
    /// The store was to be charged, from this moment on; `owed` is what it has charged too much by then.
    Returning {
        since: Moment,
        owed: i64,
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
        LocalBucket { stored, beside: stored, guessed, phase: Phase::Away }
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
        self.phase = Phase::Returning { since: now, owed: beside.micros().min(0).saturating_neg() };
        Some(beside.held())
    }

    /// The store has charged it.
    pub fn is_charged(&mut self, share: &LocalShare, now: Moment) {
        let Phase::Returning { since, owed } = self.phase else { return };
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
                let left = held.saturating_sub(signed(spent));
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
            Correction::Charge(amount) => *held = held.saturating_add(signed(amount.as_micros())),
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
mod tests {
    use super::*;
    use crate::{Burst, Limit, Rate};

    const START: Moment = Moment::from_nanos(3_000_000_000_000);

    /// A quarter of 40 per second and 100.
    fn share() -> LocalShare {
        LocalShare::new(&Limit::new(Rate::per_second(40), Burst::tokens(100)).unwrap(), 4).unwrap()
    }

    fn tokens(tokens: u64) -> Tokens {
        Tokens::from_micros(tokens * 1_000_000)
    }

    #[test]
    fn it_starts_with_its_share_of_what_was_seen_or_as_it_is_told() {
        let start = |seen, start| {
            let mut bucket = LocalBucket::enter(&share(), seen, start, START);
            bucket.check(&share(), Cost::micros(1), START)
        };
        let admitted = |micros| LocalDecision::Admit { remaining: Tokens::from_micros(micros) };
        let denied = LocalDecision::Deny { wait: Span::from_nanos(100), remaining: Tokens::ZERO };
        assert_eq!(start(Some(tokens(60)), LocalStart::Empty), admitted(14_999_999));
        assert_eq!(start(Some(Tokens::ZERO), LocalStart::Full), denied);
        assert_eq!(start(None, LocalStart::Full), admitted(24_999_999));
        assert_eq!(start(None, LocalStart::Empty), denied);
    }

    #[test]
    fn it_keeps_its_share_of_the_rate_and_waits_are_exact() {
        let mut bucket = LocalBucket::enter(&share(), None, LocalStart::Empty, START);
        let denied = LocalDecision::Deny { wait: Span::from_millis(100), remaining: Tokens::ZERO };
        assert_eq!(bucket.check(&share(), Cost::ONE, START), denied);
        let admitted = LocalDecision::Admit { remaining: Tokens::ZERO };
        assert_eq!(bucket.check(&share(), Cost::ONE, START + Span::from_millis(100)), admitted);
        assert_eq!(bucket.check(&share(), Cost::tokens(26), START), LocalDecision::BeyondShare);
    }

    /// Enters with 10 tokens, spends `spent`, and is back a second later, when the store has 20 for it and it has 20 less what was spent.
    fn returned(spent: u64) -> (LocalBucket, Moment) {
        let mut bucket = LocalBucket::enter(&share(), Some(tokens(40)), LocalStart::Full, START);
        bucket.check(&share(), Cost::tokens(spent), START);
        let back = START + Span::from_secs(1);
        assert_eq!(bucket.store_is_back(&share(), back), Some(tokens(20)));
        assert_eq!(bucket.store_is_back(&share(), back), None, "said once");
        (bucket, back)
    }

    #[test]
    fn it_takes_its_share_out_of_the_store_and_when_settled_puts_back_what_is_left() {
        let (mut bucket, back) = returned(4);
        bucket.is_charged(&share(), back);
        bucket.check(&share(), Cost::tokens(7), back + Span::from_millis(250));
        assert_eq!(bucket.settled(back + Span::from_nanos(499_999_999)), None);
        assert_eq!(
            bucket.settled(back + Span::from_secs(1)),
            Some(Correction::GiveBack(tokens(9))),
            "20 − 4 − 7"
        );
        bucket.check(&share(), Cost::tokens(11), back + Span::from_millis(450));
        assert_eq!(bucket.settled(back + Span::from_secs(1)), Some(Correction::Charge(tokens(2))));
    }

    #[test]
    fn a_store_that_comes_and_goes_is_charged_for_what_it_refilled_and_no_more() {
        let (mut bucket, back) = returned(10);
        bucket.store_is_gone();
        assert_eq!(bucket.store_is_back(&share(), back), Some(tokens(20)), "it did not take the charge");
        bucket.is_charged(&share(), back);
        bucket.store_is_gone();
        assert_eq!(bucket.settled(back + Span::from_secs(9)), None);
        let again = back + Span::from_millis(300);
        assert_eq!(
            bucket.store_is_back(&share(), again),
            Some(tokens(3)),
            "what it minted since for this node"
        );
    }

    /// What is in the store in the end, of 100 before the outage, where nothing is minted meanwhile.
    fn left_in_the_store(spent: u64, late: u64, is_late_while_settling: bool) -> u64 {
        let mut bucket = LocalBucket::enter(&share(), Some(tokens(100)), LocalStart::Full, START);
        let mut store = tokens(100).as_micros();
        let _ = bucket.check(&share(), Cost::tokens(spent), START);
        let charge = |bucket: &mut LocalBucket, store: &mut u64| {
            bucket.store_charged(&share(), Cost::tokens(late), START);
            *store -= tokens(late).as_micros();
        };
        if !is_late_while_settling {
            charge(&mut bucket, &mut store);
        }
        store -= bucket.store_is_back(&share(), START).unwrap().as_micros();
        bucket.is_charged(&share(), START);
        if is_late_while_settling {
            charge(&mut bucket, &mut store);
        }
        match bucket.settled(START + LocalBucket::SETTLING).unwrap() {
            Correction::Charge(more) => store -= more.as_micros(),
            Correction::GiveBack(rest) => store += rest.as_micros(),
        }
        Tokens::from_micros(store).whole()
    }

    #[test]
    fn what_the_store_has_charged_late_is_charged_once_and_given_back_if_the_node_denied() {
        for is_late_while_settling in [false, true] {
            let left = |spent, late| left_in_the_store(spent, late, is_late_while_settling);
            assert_eq!(left(4, 0), 96, "no answer came");
            assert_eq!(left(4, 4), 96, "the node admitted it, and so did the store");
            assert_eq!(left(0, 30), 100, "more than the share: the node denied it");
            assert_eq!(left(20, 26), 80, "one of 20 was admitted, one of 6 denied");
        }
    }

    /// The store had 1, of which it has charged 1 late; the node guessed a full share of 25 and has spent 1 of it.
    #[test]
    fn whenever_the_store_says_what_it_had_a_wrong_guess_leaves_it_with_what_was_not_spent() {
        for told_at in 0..3 {
            let mut bucket = LocalBucket::enter(&share(), None, LocalStart::Full, START);
            bucket.check(&share(), Cost::ONE, START);
            let mut store = 1_000_000_i64;
            let mut taken = 0;
            for phase in 0..3 {
                if phase == told_at {
                    bucket.store_told(&share(), tokens(1), START);
                    bucket.store_charged(&share(), Cost::ONE, START);
                    store -= 1_000_000;
                }
                match phase {
                    0 => taken = signed(bucket.store_is_back(&share(), START).unwrap().as_micros()),
                    1 => {
                        store -= taken;
                        bucket.is_charged(&share(), START);
                    }
                    _ => {}
                }
            }
            assert_eq!(bucket.held(&share(), START), Tokens::ZERO, "a quarter of 1, less 1");
            store += match bucket.settled(START + LocalBucket::SETTLING).unwrap() {
                Correction::Charge(more) => -signed(more.as_micros()),
                Correction::GiveBack(rest) => signed(rest.as_micros()),
            };
            assert_eq!(store, 0, "told in phase {told_at}");
        }
    }

    #[test]
    fn what_is_spent_while_the_store_is_late_to_put_back_the_rest_is_charged_after_it() {
        let (mut bucket, back) = returned(4);
        bucket.is_charged(&share(), back);
        let settled = back + LocalBucket::SETTLING;
        let correction = bucket.settled(settled).unwrap();
        assert_eq!(correction, Correction::GiveBack(tokens(16)));
        bucket.check(&share(), Cost::tokens(3), settled);
        bucket.is_corrected(&share(), correction, settled);
        assert_eq!(bucket.settled(settled), Some(Correction::Charge(tokens(3))));
        bucket.is_corrected(&share(), Correction::Charge(tokens(3)), settled);
        assert_eq!(bucket.settled(settled), Some(Correction::GiveBack(Tokens::ZERO)));
        assert!(bucket.held(&share(), settled) <= tokens(5), "only what was minted while it settled");
    }

    #[test]
    fn a_late_charge_is_not_forgotten_by_a_store_that_comes_and_goes() {
        let mut bucket = LocalBucket::enter(&share(), Some(tokens(100)), LocalStart::Full, START);
        bucket.store_charged(&share(), Cost::tokens(5), START);
        assert_eq!(bucket.store_is_back(&share(), START), Some(tokens(20)), "25 less 5");
        bucket.store_charged(&share(), Cost::tokens(5), START);
        bucket.store_is_gone();
        assert_eq!(bucket.store_is_back(&share(), START), Some(tokens(15)), "it did not take the charge");
        bucket.is_charged(&share(), START);
        bucket.store_is_gone();
        assert_eq!(bucket.store_is_back(&share(), START), Some(Tokens::ZERO));
    }

    #[test]
    fn a_guess_is_corrected_by_the_first_late_answer_and_what_was_spent_stays_spent() {
        let mut bucket = LocalBucket::enter(&share(), None, LocalStart::Full, START);
        bucket.check(&share(), Cost::tokens(5), START);
        bucket.store_told(&share(), tokens(40), START);
        assert_eq!(bucket.held(&share(), START), tokens(5), "a quarter of 40, less 5");
        bucket.store_told(&share(), tokens(100), START);
        assert_eq!(bucket.held(&share(), START), tokens(5), "later answers are of checks since");
        assert_eq!(bucket.store_is_back(&share(), START), Some(tokens(10)));
        let mut empty = LocalBucket::enter(&share(), None, LocalStart::Empty, START);
        empty.store_told(&share(), tokens(40), START);
        assert_eq!(empty.held(&share(), START), tokens(10));
        let mut seen = LocalBucket::enter(&share(), Some(tokens(40)), LocalStart::Full, START);
        seen.store_told(&share(), tokens(100), START);
        assert_eq!(seen.held(&share(), START), tokens(10));
    }

    /// Of 40 per second and so many tokens, a quarter.
    fn quarter_of(burst: u64) -> LocalShare {
        LocalShare::new(&Limit::new(Rate::per_second(40), Burst::tokens(burst)).unwrap(), 4).unwrap()
    }

    #[test]
    fn under_another_share_it_keeps_what_it_holds_and_a_smaller_burst_clamps_for_good() {
        let mut bucket = LocalBucket::enter(&share(), None, LocalStart::Full, START);
        bucket.check(&share(), Cost::tokens(5), START);
        let (small, large) = (quarter_of(40), quarter_of(1_000));
        bucket.share_changes(&share(), START);
        assert_eq!(bucket.held(&large, START), tokens(20), "a larger burst gives nothing away");
        assert_eq!(bucket.held(&small, START), tokens(10));
        bucket.share_changes(&small, START);
        assert_eq!(bucket.held(&large, START), tokens(10), "what was clamped is gone");
        let later = START + Span::from_secs(2);
        assert_eq!(bucket.held(&large, later), tokens(30), "minted since, at 10 per second");
        assert_eq!(bucket.store_is_back(&large, later), Some(tokens(30)));
    }

    #[test]
    fn only_one_that_is_full_here_and_there_and_that_the_store_was_not_told_of_may_be_forgotten() {
        let mut bucket = LocalBucket::enter(&share(), None, LocalStart::Full, START);
        assert!(bucket.is_full(&share(), START));
        bucket.check(&share(), Cost::ONE, START);
        assert!(!bucket.is_full(&share(), START));
        let later = START + Span::from_millis(100);
        assert!(bucket.is_full(&share(), later), "what was spent is minted again");
        bucket.store_charged(&share(), Cost::ONE, later);
        assert!(!bucket.is_full(&share(), later), "the store has charged what is to be given back");
        let later = later + Span::from_millis(100);
        assert!(bucket.is_full(&share(), later));
        assert!(bucket.store_is_back(&share(), later).is_some());
        assert!(!bucket.is_full(&share(), later), "the store has been told to take it out");
    }

    #[test]
    fn a_charge_that_cost_something_else_is_corrected_here_and_so_in_the_store() {
        for (truly, left) in [(2, 98), (9, 91)] {
            let mut bucket = LocalBucket::enter(&share(), Some(tokens(100)), LocalStart::Full, START);
            bucket.check(&share(), Cost::tokens(5), START);
            let taken = bucket.store_is_back(&share(), START).unwrap().whole();
            bucket.is_charged(&share(), START);
            bucket.correct(&share(), Cost::tokens(5), Cost::tokens(truly), START);
            let rest = match bucket.settled(START + LocalBucket::SETTLING).unwrap() {
                Correction::GiveBack(rest) => rest.whole(),
                Correction::Charge(_) => 0,
            };
            assert_eq!(100 - taken + rest, left);
        }
    }
}
