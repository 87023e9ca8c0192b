//! What becomes of one check of explicit buckets, before it is worded.

use tollgate_core::{BucketSet, Cost, Limit, Span, StampedLevel, Tokens};

use crate::identity::BucketId;
use crate::{Cause, ExplicitVerdict, Verdict};

/// One explicit bucket and what is asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExplicitAsk {
    pub(crate) id: BucketId,
    pub(crate) limit: Limit,
    pub(crate) cost: Cost,
}

impl ExplicitAsk {
    /// Whether a bucket at this level can pay.
    #[inline]
    pub(crate) fn is_paid_by(&self, level: &StampedLevel) -> bool {
        level.micros() >= 0 && level.held() >= Tokens::from(self.cost)
    }

    /// What a check is told that finds its bucket at `level`: admitted if it can pay.
    pub(crate) fn told_at(&self, level: &StampedLevel) -> ExplicitVerdict {
        if self.is_paid_by(level) {
            admitted(&level.charged(self.cost.as_micros()))
        } else {
            self.refused_at(level)
        }
    }

    /// What a check is told that is not admitted.
    pub(crate) fn refused_at(&self, level: &StampedLevel) -> ExplicitVerdict {
        let denied = BucketSet::FIRST;
        let verdict = if self.limit.never_admits(self.cost) {
            Verdict::Never { denied }
        } else {
            let wait = level.wait_for(Tokens::from(self.cost));
            Verdict::Deny { wait, remaining: level.held(), denied, cause: Cause::Exceeded }
        };
        ExplicitVerdict { verdict, remaining: level.held(), time_to_full: level.time_to_full(), tightest: 0 }
    }
}

/// What a check is told whose charge leaves the bucket at `level`.
#[inline]
pub(crate) fn admitted(level: &StampedLevel) -> ExplicitVerdict {
    let remaining = level.held();
    ExplicitVerdict {
        verdict: Verdict::Admit { remaining, delay: Span::ZERO },
        remaining,
        time_to_full: level.time_to_full(),
        tightest: 0,
    }
}
