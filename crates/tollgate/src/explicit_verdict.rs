//! What a check of explicit buckets is told: the verdict, and what whoever answers a client needs besides.

use std::fmt;

use tollgate_core::{BucketSet, Span, Tokens};

use crate::{Cause, CheckError, Verdict};

/// The answer to a check whose limits came with the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a verdict that nobody looks at limits nothing"]
pub struct ExplicitVerdict {
    /// Whether to go ahead, and if not, how long to wait.
    pub verdict: Verdict,
    /// What the tightest bucket holds after the check, even where the cost is above the burst; none if it is in debt.
    pub remaining: Tokens,
    /// How long until the tightest bucket is full, if nobody spends: exact to the nanosecond.
    pub time_to_full: Span,
    /// Which of the charges is the tightest, by its position: the one that holds least, of those that denied if any did; of
    /// several that hold as much, the one that takes longest to fill, and of several alike the first. Its limit is what a client
    /// wants to be told.
    pub tightest: usize,
}

impl ExplicitVerdict {
    /// Whether to go ahead.
    pub const fn is_admitted(&self) -> bool {
        self.verdict.is_admitted()
    }

    /// A check that is itself at fault.
    pub(crate) const fn invalid(error: CheckError) -> ExplicitVerdict {
        let verdict = Verdict::Invalid(error);
        ExplicitVerdict { verdict, remaining: Tokens::ZERO, time_to_full: Span::ZERO, tightest: 0 }
    }

    /// The verdict on one bucket, as the verdict on the check whose charges these are.
    pub(crate) fn on_behalf_of(self, members: BucketSet) -> ExplicitVerdict {
        let verdict = match self.verdict {
            Verdict::Deny { wait, remaining, cause, .. } => {
                Verdict::Deny { wait, remaining, cause: cause.on_behalf_of(members), denied: members }
            }
            Verdict::Never { .. } => Verdict::Never { denied: members },
            other => other,
        };
        ExplicitVerdict { verdict, tightest: members.iter().next().unwrap_or(0), ..self }
    }

    /// The verdict on a check over this and the `other` buckets: that of the stricter, and of both if they are as strict.
    pub(crate) fn and(self, other: ExplicitVerdict) -> ExplicitVerdict {
        match rank(&self.verdict).cmp(&rank(&other.verdict)) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Equal => {
                let tightness = |told: &ExplicitVerdict| {
                    (told.remaining, std::cmp::Reverse(told.time_to_full), told.tightest)
                };
                let tighter = if tightness(&other) < tightness(&self) { other } else { self };
                ExplicitVerdict { verdict: both(self.verdict, other.verdict), ..tighter }
            }
        }
    }
}

/// How strict a verdict is.
const fn rank(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Admit { .. } => 0,
        Verdict::Deny { .. } => 1,
        Verdict::Never { .. } => 2,
        Verdict::Invalid(_) => 3,
    }
}

/// Two verdicts of one kind.
fn both(one: Verdict, other: Verdict) -> Verdict {
    match (one, other) {
        (
            Verdict::Deny { wait, remaining, denied, cause },
            Verdict::Deny { wait: longer, remaining: less, denied: more, cause: another },
        ) => Verdict::Deny {
            wait: wait.max(longer),
            remaining: remaining.min(less),
            denied: denied.union(more),
            cause: Cause::of(cause.without_room().union(another.without_room())),
        },
        (Verdict::Never { denied }, Verdict::Never { denied: more }) => {
            Verdict::Never { denied: denied.union(more) }
        }
        (Verdict::Admit { remaining, delay }, Verdict::Admit { remaining: less, .. }) => {
            Verdict::Admit { remaining: remaining.min(less), delay }
        }
        (one, _) => one,
    }
}

impl fmt::Display for ExplicitVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.verdict.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(verdict: Verdict, tokens: u64, seconds: u64, tightest: usize) -> ExplicitVerdict {
        let remaining = Tokens::from_micros(tokens * 1_000_000);
        ExplicitVerdict { verdict, remaining, time_to_full: Span::from_secs(seconds), tightest }
    }

    fn deny(seconds: u64, tokens: u64, charge: usize) -> ExplicitVerdict {
        let (wait, remaining) = (Span::from_secs(seconds), Tokens::from_micros(tokens * 1_000_000));
        let (denied, cause) = (BucketSet::of(charge), Cause::Exceeded);
        told(Verdict::Deny { wait, remaining, denied, cause }, tokens, seconds + 1, charge)
    }

    fn admit(tokens: u64, seconds: u64, charge: usize) -> ExplicitVerdict {
        let remaining = Tokens::from_micros(tokens * 1_000_000);
        told(Verdict::Admit { remaining, delay: Span::ZERO }, tokens, seconds, charge)
    }

    #[test]
    fn the_stricter_verdict_stands_whatever_the_order() {
        let never = told(Verdict::Never { denied: BucketSet::of(2) }, 7, 1, 2);
        for (one, other, stands) in [
            (admit(1, 9, 0), deny(5, 3, 1), deny(5, 3, 1)),
            (deny(5, 3, 1), never, never),
            (admit(4, 2, 0), admit(3, 1, 1), admit(3, 1, 1)),
            (admit(3, 1, 0), admit(3, 2, 1), admit(3, 2, 1)),
            // Alike: the first, whichever the table came upon first.
            (admit(3, 1, 0), admit(3, 1, 1), admit(3, 1, 0)),
        ] {
            assert_eq!((one.and(other), other.and(one)), (stands, stands));
        }
    }

    #[test]
    fn all_who_deny_are_named_with_the_longest_wait() {
        let both = deny(5, 3, 1).and(deny(8, 4, 6));
        let Verdict::Deny { wait, remaining, denied, .. } = both.verdict else { panic!() };
        assert_eq!((wait, remaining.whole(), both.tightest), (Span::from_secs(8), 3, 1));
        assert!(denied.contains(1) && denied.contains(6) && !denied.contains(0));
    }
}
