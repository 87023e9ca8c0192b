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
    /// How fast the rest is: the fastest rate by which any of it was granted, so that none vests early when the rate is lowered.
    pace: Pace,
    /// From here on nothing may be spent.
    end: Moment,
    /// What was not spent in time. The ledger counts it as held for a while yet, and may be told otherwise.
    lapsed: u64,
    /// All that was not spent in time since somebody last wanted to know.
    stranded: u64,
}

/// Micro-tokens every so many nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    micros: u64,
    nanos: u64,
}

/// What an answer says, and when and by which rate it was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Renewal {
    pub(super) sent: Moment,
    pub(super) pace: Pace,
    /// What was reported as unspent.
    pub(super) reported: u64,
    /// How much of that the ledger counts as held.
    pub(super) renewed: u64,
    pub(super) granted: u64,
    /// Until the last of it is minted.
    pub(super) wait: Span,
}

impl Holdings {
    /// Brings it up to `now`: what has vested is ready, and what has ended has lapsed.
    #[inline]
    pub(super) fn pass(&mut self, now: Moment) {
        if self.held() == 0 {
            return;
        }
        if now >= self.end {
            self.lapsed = self.lapsed.saturating_add(self.held());
            self.stranded = self.stranded.saturating_add(self.held());
            (self.ready, self.vesting) = (0, 0);
        } else if self.vesting > 0 {
            let missing = self.pace.minted_at_most(self.vested_by.since(now)).min(self.vesting);
            self.ready = self.ready.saturating_add(self.vesting - missing);
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

    /// Takes back what was spent and came to nothing. The ledger counts it as held.
    pub(super) fn put_back(&mut self, micros: u64, now: Moment) {
        self.ready = self.ready.saturating_add(micros);
        self.pass(now);
    }

    /// Whether there is nothing to spend and nothing to give back.
    pub(super) fn is_empty(&self) -> bool {
        self.held() == 0 && self.lapsed == 0
    }

    pub(super) fn take_stranded(&mut self) -> u64 {
        core::mem::take(&mut self.stranded)
    }

    /// How long from `now` until `micros` are ready; `None` if so much is not held, or will have lapsed by then.
    pub(super) fn wait_for(&self, micros: u64, now: Moment) -> Option<Span> {
        let missing = micros.saturating_sub(self.ready);
        let later = self.vesting.checked_sub(missing)?;
        // While more than `later` is still to be minted, too little has vested.
        let earlier = self.pace.longest_to_mint(later);
        let at = (self.vested_by - earlier).max(now);
        (at < self.end).then(|| at.since(now))
    }

    /// An answer, received at `now`: what is left of what was reported is renewed, and what is granted is added. Up to date at `now`.
    pub(super) fn renew(&mut self, terms: &LeaseTerms, renewal: Renewal, now: Moment) {
        let Renewal { sent, pace, reported, renewed, granted, wait } = renewal;
        let over = self.held().saturating_sub(renewed);
        let of_vesting = over.min(self.vesting);
        self.vesting -= of_vesting;
        self.ready -= over - of_vesting;
        if renewed < reported {
            // The ledger had taken it back, so what lapsed meanwhile is not there to be given back.
            self.lapsed = 0;
        }
        self.end = sent + terms.life_on_node();
        if wait == Span::ZERO {
            self.ready = self.ready.saturating_add(granted);
        } else {
            self.pace = if self.vesting > 0 { pace.max(self.pace) } else { pace };
            self.vesting = self.vesting.saturating_add(granted);
            self.vested_by = self.vested_by.max(now + LeaseTerms::stretched(wait));
        }
        self.pass(now);
    }

    /// Ready and vesting. Whatever a store that is out of its mind says, nothing wraps.
    #[inline]
    pub(super) fn held(&self) -> u64 {
        self.ready.saturating_add(self.vesting)
    }

    #[inline]
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
        held.saturating_add(self.take_lapsed(terms, now))
    }
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { micros: 1, nanos: 1 }
    }
}

impl Pace {
    pub(super) fn of(limit: &Limit) -> Pace {
        let [micros, nanos, _] = limit.terms();
        Pace { micros, nanos }
    }

    /// The faster of the two.
    fn max(self, other: Pace) -> Pace {
        let is_slower = u128::from(self.micros) * u128::from(other.nanos)
            < u128::from(other.micros) * u128::from(self.nanos);
        if is_slower { other } else { self }
    }

    /// Micro-tokens minted in a span, rounded up.
    fn minted_at_most(self, span: Span) -> u64 {
        let minted = (u128::from(span.as_nanos()) * u128::from(self.micros)).div_ceil(u128::from(self.nanos));
        u64::try_from(minted).unwrap_or(u64::MAX)
    }

    /// The longest span in which no more than so many micro-tokens are minted.
    fn longest_to_mint(self, amount: u64) -> Span {
        let span = u128::from(amount) * u128::from(self.nanos) / u128::from(self.micros);
        Span::from_nanos(u64::try_from(span).unwrap_or(u64::MAX))
    }
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

    fn renew(
        holdings: &mut Holdings,
        terms: &LeaseTerms,
        sent: Moment,
        [renewed, granted]: [u64; 2],
        wait: Span,
        now: Moment,
    ) {
        let (pace, reported) = (Pace::of(terms.limit()), holdings.held());
        holdings.renew(terms, Renewal { sent, pace, reported, renewed, granted, wait }, now);
    }

    #[test]
    fn a_slice_ends_a_life_after_the_ask_was_sent_whenever_the_answer_came() {
        let (terms, mut holdings) = (terms(), Holdings::default());
        renew(&mut holdings, &terms, START, [0, 5], Span::ZERO, after(300));
        let last = START + terms.life_on_node() - Span::from_nanos(1);
        holdings.pass(last);
        assert!(holdings.spend(1));
        holdings.pass(START + terms.life_on_node());
        assert!(!holdings.spend(1));
        assert_eq!(holdings.take_lapsed(&terms, after(400)), 4);
    }

    #[test]
    fn what_is_granted_ahead_of_time_vests_as_it_is_minted_and_never_earlier() {
        let (terms, mut holdings) = (terms(), Holdings::default());
        // 10 are there, 90 take 90 ms.
        renew(&mut holdings, &terms, START, [0, 100_000_000], Span::from_millis(90), after(1));
        assert!(holdings.ready() <= Tokens::from_micros(10_000_000));
        assert!(holdings.ready() >= Tokens::from_micros(9_900_000));
        for (millis, most) in [(2, 11), (50, 59), (91, 100)] {
            holdings.pass(after(millis));
            assert!(holdings.ready() <= Tokens::from_micros(most * 1_000_000), "{millis} ms");
            assert!(holdings.ready() >= Tokens::from_micros(most * 1_000_000 - 100_000), "{millis} ms");
        }
    }

    #[test]
    fn the_wait_for_what_vests_is_exact() {
        let (terms, mut holdings) = (terms(), Holdings::default());
        renew(&mut holdings, &terms, START, [0, 100_000_000], Span::from_millis(90), after(1));
        for micros in [10_000_001, 50_000_000, 100_000_000] {
            let wait = holdings.wait_for(micros, after(1)).unwrap();
            let ready_at = |now| {
                let mut then = holdings;
                then.pass(now);
                then.ready().as_micros()
            };
            assert!(ready_at(after(1) + wait) >= micros);
            assert!(ready_at(after(1) + wait - Span::from_nanos(1)) < micros);
        }
        assert_eq!(holdings.wait_for(100_000_001, after(1)), None);
    }

    #[test]
    fn what_was_granted_ahead_of_time_does_not_vest_early_when_the_rate_is_lowered() {
        let (terms, mut holdings) = (terms(), Holdings::default());
        renew(&mut holdings, &terms, START, [0, 100_000_000], Span::from_millis(90), after(1));
        let slow = Limit::new(Rate::per_second(1), Burst::tokens(1_000)).unwrap();
        let slow = LeaseTerms::new(&slow, 4, super::super::LEASE_LIFE).unwrap();
        renew(&mut holdings, &slow, after(1), [u64::MAX, 1], Span::from_micros(1), after(2));
        assert!(holdings.ready() <= Tokens::from_micros(11_000_000), "{}", holdings.ready());
    }

    #[test]
    fn no_more_is_renewed_than_the_ledger_counts_as_held() {
        let (terms, mut holdings) = (terms(), Holdings::default());
        renew(&mut holdings, &terms, START, [0, 100], Span::ZERO, START);
        renew(&mut holdings, &terms, after(100), [30, 5], Span::ZERO, after(101));
        assert_eq!(holdings.held(), 35);
    }
}
