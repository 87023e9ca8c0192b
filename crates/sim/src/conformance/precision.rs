//! How finely a store tells time: a nanosecond in memory, a microsecond by the clock of a server.
//!
//! The suite then moves time in whole grains, and expects waits rounded up to them. It does not know why a store is so.

use tollgate_core::Span;

use super::action::Answer;
use super::answer::Outcome;

/// How finely a store tells time, how far back it knows limits, and what can have tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Precision {
    /// The least time that it can tell. Waits of those who are denied are rounded up to it, and a limit holds for so long at the least.
    pub grain: Span,
    /// The same for how long idempotency keys and reservations live; a multiple of the other.
    pub lifetime_grain: Span,
    /// How often a limit may change before buckets that slept through all changes are told less than they minted.
    pub changes_max: usize,
    /// Whether buckets of windows and places, too, may stand under several tiers. Generated histories make no such tiers otherwise.
    pub has_tiers_of_windows: bool,
}

/// As memory does.
impl Default for Precision {
    fn default() -> Precision {
        let nanosecond = Span::from_nanos(1);
        Precision {
            grain: nanosecond,
            lifetime_grain: nanosecond,
            changes_max: usize::MAX,
            has_tiers_of_windows: true,
        }
    }
}

impl Precision {
    /// A span in whole grains, rounded up.
    pub(super) fn told(&self, span: Span) -> Span {
        round_up(span, self.grain)
    }

    /// A lifetime in whole grains, rounded up.
    pub(super) fn lifetime(&self, span: Span) -> Span {
        round_up(span, self.lifetime_grain)
    }

    /// An outcome as such a store tells it.
    pub(super) fn outcome(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Deny { wait, remaining, denied } => {
                Outcome::Deny { wait: self.told(wait), remaining, denied }
            }
            other => other,
        }
    }

    /// An answer as such a store tells it.
    pub(super) fn answer(&self, answer: &Answer) -> Answer {
        match answer {
            Answer::Outcome(outcome) => Answer::Outcome(self.outcome(*outcome)),
            Answer::Each(outcomes) => {
                Answer::Each(outcomes.iter().map(|outcome| self.outcome(*outcome)).collect())
            }
            Answer::Reserved(Err(outcome)) => Answer::Reserved(Err(self.outcome(*outcome))),
            other => other.clone(),
        }
    }
}

fn round_up(span: Span, grain: Span) -> Span {
    let grain = grain.as_nanos().max(1);
    Span::from_nanos(span.as_nanos().div_ceil(grain).saturating_mul(grain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::{BucketSet, Tokens};

    #[test]
    fn waits_are_rounded_up_to_what_the_store_can_tell() {
        let deny = |nanos| Outcome::Deny {
            wait: Span::from_nanos(nanos),
            remaining: Tokens::ZERO,
            denied: BucketSet::of(0),
        };
        let coarse = Precision { grain: Span::from_micros(1), ..Precision::default() };
        assert_eq!(
            [0, 1, 1_000, 1_001].map(|nanos| coarse.outcome(deny(nanos))),
            [0, 1_000, 1_000, 2_000].map(deny)
        );
        assert_eq!(Precision::default().outcome(deny(1_001)), deny(1_001));
    }
}
