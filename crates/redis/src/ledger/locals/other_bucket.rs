//! A bucket of any algorithm but a token bucket, kept by this node's share with core's own arithmetic while the store does not answer.
//!
//! It counts what was spent without the store. At the return that is charged there, as far as it still counts here: of windows that are
//! over, and of queues that have drained, nothing is. Places are not charged: whoever holds one gives it back here.

use tollgate_core::{
    Algorithm, Cost, Demand, Generation, Log, Mark, Moment, Ruler, Span, Spend, Start, Tokens,
};

use super::local::Said;

/// A bucket of this node alone.
#[derive(Debug)]
pub(super) struct OtherBucket {
    ruler: Ruler,
    mark: Mark,
    /// The state of a sliding log, which is no word.
    log: Log,
    /// Micro-tokens that the store does not know of.
    spent: u64,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Away,
    /// The store is being told of so many micro-tokens.
    Telling(u64),
    /// It has been told, and answers.
    Told,
}

impl OtherBucket {
    /// One that was never charged, by a share; or an empty one.
    pub(super) fn enter(share: Algorithm, is_empty: bool, now: Moment, origin: u64) -> OtherBucket {
        let ruler = Ruler::new(share, Start { now, offset: 0, origin });
        let mut mark = ruler.reading(now).full_mark();
        let mut log = Log::default();
        if is_empty {
            let full = ruler.full().as_micros();
            mark = ruler.reading(now).adjust(mark, i64::try_from(full).unwrap_or(i64::MAX).saturating_neg());
            if ruler.log().is_some() {
                log.charge(full, now);
            }
        }
        OtherBucket { ruler, mark, log, spent: 0, phase: Phase::Away }
    }

    pub(super) fn look(&self, cost: Cost, now: Moment) -> Said {
        let demand = Demand::of(cost);
        if self.ruler.never_admits(demand) {
            return Said::BeyondShare;
        }
        if let Some(limit) = self.ruler.log() {
            return match self.log.peek(&limit, demand, now) {
                Ok(remaining) | Err(Spend::Paid { remaining, .. }) => {
                    Said::Admit { remaining, delay: Span::ZERO }
                }
                Err(Spend::Short { held, .. }) => {
                    Said::Deny { wait: self.log.wait(&limit, demand, now), remaining: held }
                }
            };
        }
        match self.ruler.reading(now).spend(self.mark, demand) {
            Spend::Paid { remaining, .. } => {
                Said::Admit { remaining, delay: self.ruler.delay(self.mark, now) }
            }
            Spend::Short { held, .. } => {
                Said::Deny { wait: self.ruler.wait(self.mark, demand, now), remaining: held }
            }
        }
    }

    /// Charges what was found good. Of places, in which generation they were taken.
    pub(super) fn charge(&mut self, cost: Cost, now: Moment) -> Option<Generation> {
        self.spent = self.spent.saturating_add(cost.as_micros());
        if let Some(limit) = self.ruler.log() {
            self.log.forget(&limit, now);
            self.log.charge(cost.as_micros(), now);
            return None;
        }
        let reading = self.ruler.reading(now);
        let generation = reading.generation(self.mark);
        if let Spend::Paid { mark, .. } = reading.spend(self.mark, Demand::of(cost)) {
            self.mark = mark;
        }
        generation
    }

    /// Gives places back.
    pub(super) fn leave(&mut self, generation: Generation, cost: Cost, now: Moment) {
        if let Some(mark) = self.ruler.reading(now).leave(self.mark, generation, cost) {
            self.mark = mark;
        }
    }

    /// A charge turned out to have cost something else. A queue takes nothing back: others have been told when to leave.
    pub(super) fn correct(&mut self, charged: Cost, truly: Cost, now: Moment) {
        let (given, taken) = (
            charged.as_micros().saturating_sub(truly.as_micros()),
            truly.as_micros().saturating_sub(charged.as_micros()),
        );
        if given > 0 && self.ruler.is_queue() {
            return;
        }
        self.spent = self.spent.saturating_sub(given).saturating_add(taken);
        if self.ruler.log().is_some() {
            self.log.give_back(given);
            self.log.charge(taken, now);
            return;
        }
        let micros = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
        self.mark = self.ruler.reading(now).adjust(self.mark, micros(given).saturating_sub(micros(taken)));
    }

    /// From `now` on the share is this one: what is taken or queued stays. `false` if the bucket means nothing under it; then it is as it was.
    pub(super) fn share_changes(&mut self, share: Algorithm, now: Moment) -> bool {
        let next = self.ruler.change(share, now);
        if let Some(next) = next {
            self.ruler = next;
        }
        next.is_some()
    }

    /// Counts the two oldest charges of its log as one: less is admitted, never more.
    pub(super) fn merge_oldest(&mut self) {
        self.log.merge_oldest();
    }

    /// Entries of its log.
    pub(super) fn entries(&self) -> usize {
        self.log.entries()
    }

    /// How long until it is full, if nobody spends.
    pub(super) fn time_to_full(&self, now: Moment) -> Span {
        let all = Demand::of(Cost::micros(self.ruler.full().as_micros()));
        match self.ruler.log() {
            Some(limit) => self.log.wait(&limit, all, now),
            None => self.ruler.wait(self.mark, all, now),
        }
    }

    /// Whether the store was not told yet, or is silent again.
    pub(super) fn is_away(&self) -> bool {
        self.phase == Phase::Away
    }

    /// The store may be asked: what to charge there, once. The bucket stays here until the store has said that it did.
    pub(super) fn store_is_back(&mut self, now: Moment) -> Option<Tokens> {
        if self.phase != Phase::Away {
            return None;
        }
        let owed = self.owed(now);
        self.phase = Phase::Telling(self.spent);
        Some(owed)
    }

    /// The store has charged it.
    pub(super) fn is_charged(&mut self) {
        if let Phase::Telling(told) = self.phase {
            self.spent = self.spent.saturating_sub(told);
            self.phase = Phase::Told;
        }
    }

    /// The store is silent again.
    pub(super) fn store_is_gone(&mut self) {
        self.phase = Phase::Away;
    }

    /// What was spent since the store was told, if it was: from then on it is asked.
    pub(super) fn settled(&self, now: Moment) -> Option<Tokens> {
        (self.phase == Phase::Told).then(|| self.owed(now))
    }

    /// The store has charged the rest late, when the node had gone on by its share.
    pub(super) fn is_corrected(&mut self, charged: Tokens) {
        self.spent = self.spent.saturating_sub(charged.as_micros());
    }

    /// What was spent without the store and still counts.
    fn owed(&self, now: Moment) -> Tokens {
        if self.ruler.is_of_places() {
            return Tokens::ZERO;
        }
        let balance = match self.ruler.log() {
            Some(limit) => self.log.balance(&limit, now),
            None => self.ruler.reading(now).balance(self.mark),
        };
        let missing = self.ruler.full().as_micros().saturating_add_signed(balance.saturating_neg());
        Tokens::from_micros(self.spent.min(missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::{
        Burst, Concurrency, FixedWindow, LeakyBucket, Rate, SlidingCounter, SlidingLog, Window,
    };

    const START: Moment = Moment::from_nanos(7_200_000_000_000);
    const MINUTE: Span = Span::from_secs(60);

    fn algorithms() -> [Algorithm; 4] {
        [
            LeakyBucket::new(Rate::per_minute(3), Burst::tokens(3)).unwrap().into(),
            FixedWindow::new(Burst::tokens(3), Window::HOUR).unwrap().into(),
            SlidingCounter::new(Burst::tokens(3), MINUTE).unwrap().into(),
            SlidingLog::new(Burst::tokens(3), MINUTE).unwrap().into(),
        ]
    }

    fn admitted(bucket: &mut OtherBucket, checks: usize, now: Moment) -> usize {
        let mut admitted = 0;
        for _ in 0..checks {
            if let Said::Admit { .. } = bucket.look(Cost::ONE, now) {
                bucket.charge(Cost::ONE, now);
                admitted += 1;
            }
        }
        admitted
    }

    #[test]
    fn every_algorithm_admits_its_share_and_what_was_spent_is_charged_once() {
        for algorithm in algorithms() {
            let mut bucket = OtherBucket::enter(algorithm, false, START, 0);
            assert_eq!(admitted(&mut bucket, 2, START), 2, "{algorithm:?}");
            assert_eq!(bucket.store_is_back(START).map(Tokens::whole), Some(2));
            assert_eq!(bucket.store_is_back(START), None, "said once");
            assert_eq!(admitted(&mut bucket, 9, START), 1);
            assert!(matches!(bucket.look(Cost::ONE, START), Said::Deny { wait, .. } if wait > Span::ZERO));
            assert_eq!(bucket.settled(START), None);
            bucket.is_charged();
            assert_eq!(bucket.settled(START).map(Tokens::whole), Some(1), "{algorithm:?}");
        }
    }

    #[test]
    fn what_no_longer_counts_is_not_charged_and_what_a_silent_store_did_not_take_is_charged_later() {
        for algorithm in algorithms() {
            let mut bucket = OtherBucket::enter(algorithm, false, START, 0);
            admitted(&mut bucket, 3, START);
            assert!(bucket.store_is_back(START).is_some());
            bucket.store_is_gone();
            assert_eq!(bucket.store_is_back(START).map(Tokens::whole), Some(3), "{algorithm:?}");
            bucket.store_is_gone();
            let later = START + Span::from_secs(7_200);
            assert_eq!(bucket.store_is_back(later), Some(Tokens::ZERO), "{algorithm:?}");
        }
    }

    #[test]
    fn an_empty_start_admits_nothing_and_charges_nothing() {
        for algorithm in algorithms() {
            let mut bucket = OtherBucket::enter(algorithm, true, START, 0);
            assert_eq!(admitted(&mut bucket, 3, START), 0, "{algorithm:?}");
            assert_eq!(bucket.store_is_back(START), Some(Tokens::ZERO));
        }
    }

    #[test]
    fn places_are_given_back_here_and_never_charged_there() {
        let places = Concurrency::new(1, MINUTE).unwrap();
        let mut bucket = OtherBucket::enter(places.into(), false, START, 0);
        let generation = bucket.charge(Cost::ONE, START).unwrap();
        assert!(matches!(bucket.look(Cost::ONE, START), Said::Deny { .. }));
        assert_eq!(bucket.store_is_back(START), Some(Tokens::ZERO));
        bucket.leave(generation, Cost::ONE, START);
        assert!(matches!(bucket.look(Cost::ONE, START), Said::Admit { .. }));
    }

    #[test]
    fn a_charge_that_cost_something_else_is_corrected() {
        for algorithm in algorithms().into_iter().skip(1) {
            let mut bucket = OtherBucket::enter(algorithm, false, START, 0);
            bucket.charge(Cost::tokens(2), START);
            bucket.correct(Cost::tokens(2), Cost::ONE, START);
            assert_eq!(admitted(&mut bucket, 9, START), 2, "{algorithm:?}");
            assert_eq!(bucket.store_is_back(START).map(Tokens::whole), Some(3));
        }
    }
}
