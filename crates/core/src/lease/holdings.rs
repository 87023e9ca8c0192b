//! What a node holds of a bucket: ready to be spent, still vesting, or lapsed.
//!
//! All of it ends at one moment of the node's clock, since every answer renews all of it. What was granted ahead of time vests as the
//! rate mints it, the last of it when the ledger said. It does not know who is asked for more.

use super::LeaseTerms;
use crate::{Limit, Moment, Span, Tokens};

/// Micro-tokens on one node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Holdings {
    ready: u64,
    vesting: u64,
    /// When the last of it is vested.
    vested_by: Moment,
    /// From here on nothing may be spent.
    end: Moment,
    /// What was not spent in time. The ledger counts it as held for a while yet, and may be told otherwise.
    lapsed: u64,
}

impl Holdings {
    /// Brings it up to `now`: what has vested is ready, and what has ended has lapsed.
    #[inline]
    pub(super) fn pass(&mut self, limit: &Limit, now: Moment) {
        if self.held() == 0 {
            return;
        }
        if now >= self.end {
            self.lapsed += self.held();
            (self.ready, self.vesting) = (0, 0);
        } else if self.vesting > 0 {
            let missing = minted_at_most(limit, self.vested_by.since(now)).min(self.vesting);
            self.ready += self.vesting - missing;
            self.vesting = missing;
        }
    }

    /// Spends what is ready, or nothing.
    #[inline]
    pub(super) fn spend(&mut self, micros: u64) -> bool {
        let is_enough = self.ready >= micros;
        if is_enough {
            self.ready -= micros;
        }
        is_enough
    }

    /// How long from `now` until `micros` are ready; `None` if so much is not held, or will have lapsed by then.
    pub(super) fn wait_for(&self, limit: &Limit, micros: u64, now: Moment) -> Option<Span> {
        let missing = micros.saturating_sub(self.ready);
        let later = self.vesting.checked_sub(missing)?;
        // While more than `later` is still to be minted, too little has vested.
        let earlier = longest_to_mint(limit, later);
        let at = (self.vested_by - earlier).max(now);
        (at < self.end).then(|| at.since(now))
    }

    /// An answer to an ask that was sent at `sent`: what is left of what was reported is renewed, at most `renewed` of it, and
    /// `granted` is added, the last of which vests after `wait`. Up to date at `now`.
    pub(super) fn renew(
        &mut self,
        terms: &LeaseTerms,
        sent: Moment,
        renewed: u64,
        granted: u64,
        wait: Span,
        now: Moment,
    ) {
        let over = self.held().saturating_sub(renewed);
        let of_vesting = over.min(self.vesting);
        self.vesting -= of_vesting;
        self.ready -= over - of_vesting;
        self.end = sent + terms.life_on_node();
        if wait == Span::ZERO {
            self.ready += granted;
        } else {
            self.vesting += granted;
            self.vested_by = self.vested_by.max(now + LeaseTerms::stretched(wait));
        }
        self.pass(terms.limit(), now);
    }

    /// Ready and vesting.
    #[inline]
    pub(super) fn held(&self) -> u64 {
        self.ready + self.vesting
    }

    pub(super) fn ready(&self) -> Tokens {
        Tokens::from_micros(self.ready)
    }

    /// Takes out what has lapsed, to be given back; nothing if the ledger has taken it back by now.
    pub(super) fn take_lapsed(&mut self, terms: &LeaseTerms, now: Moment) -> u64 {
        let lapsed = core::mem::take(&mut self.lapsed);
        if now.since(self.end) > terms.life() { 0 } else { lapsed }
    }

    /// Takes out all of it, to be given back.
    pub(super) fn take_all(&mut self, terms: &LeaseTerms, now: Moment) -> u64 {
        let held = self.held();
        (self.ready, self.vesting) = (0, 0);
        held + self.take_lapsed(terms, now)
    }
}

/// Micro-tokens minted in a span, rounded up.
fn minted_at_most(limit: &Limit, span: Span) -> u64 {
    let [micros, nanos, _] = limit.terms();
    let minted = (u128::from(span.as_nanos()) * u128::from(micros)).div_ceil(u128::from(nanos));
    u64::try_from(minted).unwrap_or(u64::MAX)
}

/// The longest span in which no more than so many micro-tokens are minted.
fn longest_to_mint(limit: &Limit, amount: u64) -> Span {
    let [micros, nanos, _] = limit.terms();
    let span = u128::from(amount) * u128::from(nanos) / u128::from(micros);
    Span::from_nanos(u64::try_from(span).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Burst, Rate};

    const START: Moment = Moment::from_nanos(5_000_000_000);

    fn terms() -> LeaseTerms {
        let limit = Limit::new(Rate::per_second(1_000), Burst::tokens(1_000)).unwrap();
        LeaseTerms::new(&limit, 4, super::super::LEASE_LIFE).unwrap()
    }

    fn after(millis: u64) -> Moment {
        START + Span::from_millis(millis)
    }

    #[test]
    fn a_slice_ends_a_life_after_the_ask_was_sent_whenever_the_answer_came() {
        let (terms, mut holdings) = (terms(), Holdings::default());
        holdings.renew(&terms, START, 0, 5, Span::ZERO, after(300));
        let last = START + terms.life_on_node() - Span::from_nanos(1);
        holdings.pass(terms.limit(), last);
        assert!(holdings.spend(1));
        holdings.pass(terms.limit(), START + terms.life_on_node());
        assert!(!holdings.spend(1));
        assert_eq!(holdings.take_lapsed(&terms, after(400)), 4);
    }

    #[test]
    fn what_is_granted_ahead_of_time_vests_as_it_is_minted_and_never_earlier() {
        let (terms, mut holdings) = (terms(), Holdings::default());
        // 10 are there, 90 take 90 ms.
        holdings.renew(&terms, START, 0, 100_000_000, Span::from_millis(90), after(1));
        assert!(holdings.ready() <= Tokens::from_micros(10_000_000));
        assert!(holdings.ready() >= Tokens::from_micros(9_900_000));
        for (millis, most) in [(2, 11), (50, 59), (91, 100)] {
            holdings.pass(terms.limit(), after(millis));
            assert!(holdings.ready() <= Tokens::from_micros(most * 1_000_000), "{millis} ms");
            assert!(holdings.ready() >= Tokens::from_micros(most * 1_000_000 - 100_000), "{millis} ms");
        }
    }

    #[test]
    fn the_wait_for_what_vests_is_exact() {
        let (terms, mut holdings) = (terms(), Holdings::default());
        holdings.renew(&terms, START, 0, 100_000_000, Span::from_millis(90), after(1));
        for micros in [10_000_001, 50_000_000, 100_000_000] {
            let wait = holdings.wait_for(terms.limit(), micros, after(1)).unwrap();
            let ready_at = |now| {
                let mut then = holdings;
                then.pass(terms.limit(), now);
                then.ready().as_micros()
            };
            assert!(ready_at(after(1) + wait) >= micros);
            assert!(ready_at(after(1) + wait - Span::from_nanos(1)) < micros);
        }
        assert_eq!(holdings.wait_for(terms.limit(), 100_000_001, after(1)), None);
    }

    #[test]
    fn no_more_is_renewed_than_the_ledger_counts_as_held() {
        let (terms, mut holdings) = (terms(), Holdings::default());
        holdings.renew(&terms, START, 0, 100, Span::ZERO, START);
        holdings.renew(&terms, after(100), 30, 5, Span::ZERO, after(101));
        assert_eq!(holdings.held(), 35);
    }
}
