//! One check against several buckets: all are charged, or none.

use core::fmt;

use crate::{Cost, Decision, Mark, Meter, Moment, Span, Tokens, decide};

/// Most buckets that one check may touch.
pub const CHARGES_MAX: usize = 16;

/// One bucket of a check: where it stands and what is asked of it. No two of one check may be the same bucket.
#[derive(Debug, Clone, Copy)]
pub struct Charged<'a> {
    /// The rule's meter.
    pub meter: &'a Meter,
    /// Where the bucket stands.
    pub mark: Mark,
    /// What is asked of it.
    pub cost: Cost,
}

/// What becomes of a check over several buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JointDecision {
    /// Every bucket is charged.
    Admit {
        /// What the caller must store, in the order of the charges; past their number, meaningless.
        marks: [Mark; CHARGES_MAX],
        /// What is left in the bucket that has least left.
        remaining: Tokens,
    },
    /// Nothing is charged.
    Deny {
        /// The longest of the waits.
        wait: Span,
        /// Every bucket that denied.
        denied: BucketSet,
        /// What is held by the denying bucket that holds least.
        remaining: Tokens,
    },
    /// Nothing is charged, and nothing ever will be.
    Never {
        /// Every bucket whose burst is below the cost.
        denied: BucketSet,
    },
}

/// Decides one check over `charges`, all or nothing. Of more than [`CHARGES_MAX`] charges the rest are ignored: the
/// caller has refused such a check.
pub fn decide_all(charges: &[Charged<'_>], now: Moment) -> JointDecision {
    let mut marks = [Mark::from_word(0); CHARGES_MAX];
    let (mut least_left, mut least_held) = (Tokens::from_micros(u64::MAX), Tokens::from_micros(u64::MAX));
    let (mut longest, mut denied, mut never) = (Span::ZERO, BucketSet::EMPTY, BucketSet::EMPTY);
    for (index, charge) in charges.iter().take(CHARGES_MAX).enumerate() {
        match decide(charge.meter, charge.mark, charge.cost, now) {
            Decision::Admit { mark, remaining } => {
                marks[index] = mark;
                least_left = least_left.min(remaining);
            }
            Decision::Deny { wait, remaining } => {
                denied.insert(index);
                longest = longest.max(wait);
                least_held = least_held.min(remaining);
            }
            Decision::Never => never.insert(index),
        }
    }
    if !never.is_empty() {
        JointDecision::Never { denied: never }
    } else if !denied.is_empty() {
        JointDecision::Deny { wait: longest, denied, remaining: least_held }
    } else {
        JointDecision::Admit { marks, remaining: least_left }
    }
}

/// Which buckets of a check: a set of their positions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct BucketSet(u16);

impl BucketSet {
    /// None of them.
    pub const EMPTY: BucketSet = BucketSet(0);

    /// The first alone: the only one of a check over one bucket.
    pub const FIRST: BucketSet = BucketSet(1);

    /// The one at this position alone; none beyond [`CHARGES_MAX`].
    #[inline]
    pub const fn of(index: usize) -> BucketSet {
        let mut set = BucketSet::EMPTY;
        set.insert(index);
        set
    }

    /// Those in either.
    #[must_use]
    #[inline]
    pub const fn union(self, other: BucketSet) -> BucketSet {
        BucketSet(self.0 | other.0)
    }

    /// Adds a position; beyond [`CHARGES_MAX`] there is none to add.
    #[inline]
    pub const fn insert(&mut self, index: usize) {
        if index < CHARGES_MAX {
            self.0 |= 1 << index;
        }
    }

    /// Whether the bucket at this position is in the set.
    #[inline]
    pub const fn contains(self, index: usize) -> bool {
        index < CHARGES_MAX && self.0 & (1 << index) != 0
    }

    /// Whether there is none.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The positions, ascending.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let index = left.trailing_zeros() as usize;
            left &= left.checked_sub(1)?;
            Some(index)
        })
    }
}

impl fmt::Debug for BucketSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{Burst, Limit, Rate};
    use std::vec::Vec;

    const START: Moment = Moment::from_nanos(0);

    fn meter(per_second: u64, burst: u64) -> Meter {
        Meter::new(Limit::new(Rate::per_second(per_second), Burst::tokens(burst)).unwrap(), START, 0)
    }

    fn empty(meter: &Meter) -> Mark {
        meter.level(START).mark_of(0)
    }

    #[test]
    fn the_verdict_names_every_bucket_that_denied_and_the_longest_wait() {
        let (user, endpoint, everyone) = (meter(1, 10), meter(1_000, 2_000), meter(2, 100));
        let charges = [
            Charged { meter: &user, mark: empty(&user), cost: Cost::ONE },
            Charged { meter: &endpoint, mark: endpoint.level(START).full_mark(), cost: Cost::ONE },
            Charged { meter: &everyone, mark: empty(&everyone), cost: Cost::tokens(4) },
        ];
        let JointDecision::Deny { wait, denied, remaining } = decide_all(&charges, START) else { panic!() };
        assert_eq!(denied.iter().collect::<Vec<_>>(), [0, 2]);
        assert_eq!((wait, remaining), (Span::from_secs(2), Tokens::ZERO));
    }

    #[test]
    fn one_cost_above_its_burst_makes_it_never_even_where_another_only_denies() {
        let (user, everyone) = (meter(1, 10), meter(2, 100));
        let charges = [
            Charged { meter: &user, mark: empty(&user), cost: Cost::tokens(11) },
            Charged { meter: &everyone, mark: empty(&everyone), cost: Cost::tokens(11) },
        ];
        let JointDecision::Never { denied } = decide_all(&charges, START) else { panic!() };
        assert_eq!(denied.iter().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn an_admit_reports_the_tightest_bucket() {
        let (user, everyone) = (meter(1, 10), meter(2, 100));
        let charges = [&everyone, &user].map(|meter| Charged {
            meter,
            mark: meter.level(START).full_mark(),
            cost: Cost::tokens(3),
        });
        let JointDecision::Admit { remaining, .. } = decide_all(&charges, START) else { panic!() };
        assert_eq!(remaining, Tokens::from_micros(7_000_000));
    }
}
