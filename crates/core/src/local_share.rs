//! A node's share of a limit, for when the shared store does not answer.
//!
//! One part in so many instances, rounded down to the micro-token: the shares of all instances never sum to more than the
//! limit. It does not know how many instances there are in truth; a number that is too small makes the sum too large.

use crate::{
    Algorithm, Burst, Concurrency, FixedWindow, LeakyBucket, Limit, LimitError, Rate, SlidingCounter,
    SlidingLog, Tokens,
};

/// One of `instances` equal parts of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalShare {
    instances: u32,
    limit: Limit,
}

impl LocalShare {
    /// The part of `limit` that one of `instances` (0 counts as 1) keeps on its own; an error if the part is too small to be a limit.
    pub const fn new(limit: &Limit, instances: u32) -> Result<LocalShare, LimitError> {
        let instances = if instances == 0 { 1 } else { instances };
        let [micros, nanos, burst] = limit.terms();
        let rate = Rate::of_terms(micros, nanos).among(instances);
        match Limit::new(rate, Burst::micros(burst / instances as u64)) {
            Ok(limit) => Ok(LocalShare { instances, limit }),
            Err(error) => Err(error),
        }
    }

    /// What the node keeps on its own.
    pub const fn limit(&self) -> &Limit {
        &self.limit
    }

    /// The burst of all parts together.
    pub(crate) const fn bursts(&self) -> Tokens {
        Tokens::from_micros(self.limit.burst().as_micros().saturating_mul(self.instances as u64))
    }

    /// The node's part of an amount, rounded down.
    pub const fn of(&self, tokens: Tokens) -> Tokens {
        Tokens::from_micros(tokens.as_micros() / self.instances as u64)
    }
}

impl Algorithm {
    /// The part of any limit that one of `instances` (0 counts as 1) keeps on its own, rounded down: of a quota, of a queue and the rate
    /// at which it drains (the longest wait stays), of places whole ones. An error if the part is too small to be a limit.
    pub fn share(&self, instances: u32) -> Result<Algorithm, LimitError> {
        let instances = instances.max(1);
        let part = |amount: Tokens| Burst::micros(amount.as_micros() / u64::from(instances));
        Ok(match self {
            Algorithm::TokenBucket(limit) => (*LocalShare::new(limit, instances)?.limit()).into(),
            Algorithm::LeakyBucket(leaky) => {
                let limit = *LocalShare::new(&leaky.limit, instances)?.limit();
                let least = leaky.least / u64::from(instances);
                LeakyBucket { limit, least }.into()
            }
            Algorithm::FixedWindow(window) => FixedWindow::new(part(window.quota()), window.window())?.into(),
            Algorithm::SlidingCounter(counter) => {
                SlidingCounter::new(part(counter.quota()), counter.window())?.into()
            }
            Algorithm::SlidingLog(log) => SlidingLog::new(part(log.quota()), log.window())?.into(),
            Algorithm::Concurrency(places) => {
                Concurrency::new(places.places() / instances, places.timeout())?.into()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Span, Window};

    #[test]
    fn shares_never_sum_to_more_than_the_limit() {
        for (tokens, secs, burst) in [(10, 1, 100), (7, 3, 1_000), (1, 86_400, 5), (1_000_000, 1, 9)] {
            let limit = Limit::new(Rate::new(tokens, Span::from_secs(secs)), Burst::tokens(burst)).unwrap();
            for instances in [1, 2, 3, 7, 64, 333] {
                let share = LocalShare::new(&limit, instances).unwrap();
                let all = u64::from(instances);
                assert!(share.limit().burst().as_micros() * all <= limit.burst().as_micros());
                assert!(share.limit().burst().as_micros() * all + all > limit.burst().as_micros());
                let day = Span::from_secs(86_400);
                assert!(share.limit().minted_in(day).as_micros() * all <= limit.minted_in(day).as_micros());
                assert_eq!(share.of(limit.burst()), share.limit().burst());
            }
        }
    }

    #[test]
    fn a_part_too_small_to_be_kept_is_refused() {
        let limit = Limit::new(Rate::per_year(1), Burst::tokens(1)).unwrap();
        assert!(matches!(LocalShare::new(&limit, 2), Err(LimitError::RateTooSlow(_))));
        let tiny = Limit::new(Rate::per_second(1), Burst::micros(1)).unwrap();
        assert_eq!(LocalShare::new(&tiny, 2), Err(LimitError::ZeroBurst));
        assert_eq!(LocalShare::new(&tiny, 0).unwrap().limit(), &tiny);
    }

    #[test]
    fn shares_of_every_algorithm_never_sum_to_more_than_the_limit() {
        let minute = Span::from_secs(60);
        let algorithms: [Algorithm; 6] = [
            Limit::new(Rate::per_second(7), Burst::tokens(50)).unwrap().into(),
            LeakyBucket::new(Rate::per_second(7), Burst::tokens(50)).unwrap().into(),
            FixedWindow::new(Burst::tokens(50), Window::HOUR).unwrap().into(),
            SlidingCounter::new(Burst::tokens(50), minute).unwrap().into(),
            SlidingLog::new(Burst::tokens(50), minute).unwrap().into(),
            Concurrency::new(50, minute).unwrap().into(),
        ];
        for algorithm in algorithms {
            for instances in [0, 1, 3, 7, 49] {
                let share = algorithm.share(instances).unwrap();
                let all = u64::from(instances.max(1));
                assert!(share.full().as_micros() * all <= algorithm.full().as_micros(), "{share:?}");
                assert_eq!(core::mem::discriminant(&share), core::mem::discriminant(&algorithm));
            }
            assert_eq!(algorithm.share(1), Ok(algorithm));
        }
        assert_eq!(algorithms[5].share(51), Err(LimitError::ZeroPlaces), "no place is divided");
    }

    #[test]
    fn nobody_waits_longer_in_a_share_of_a_queue_than_in_the_whole() {
        let wait = Span::from_secs(2);
        let leaky = LeakyBucket::new(Rate::per_second(12), Burst::tokens(48)).unwrap().max_wait(wait);
        let Algorithm::LeakyBucket(share) = Algorithm::from(leaky).share(4).unwrap() else {
            panic!("a queue")
        };
        let waits = |leaky: LeakyBucket| {
            let queued = Tokens::from_micros(leaky.queue().as_micros() - leaky.least().as_micros());
            leaky.limit().time_to_mint(queued)
        };
        assert_eq!((waits(leaky), waits(share)), (wait, wait));
    }
}
