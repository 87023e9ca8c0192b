//! A node's share of a limit, for when the shared store does not answer.
//!
//! One part in so many instances, rounded down to the micro-token: the shares of all instances never sum to more than the
//! limit. It does not know how many instances there are in truth; a number that is too small makes the sum too large.

use crate::{Burst, Limit, LimitError, Rate, Tokens};

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

    /// The node's part of an amount, rounded down.
    pub const fn of(&self, tokens: Tokens) -> Tokens {
        Tokens::from_micros(tokens.as_micros() / self.instances as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

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
}
