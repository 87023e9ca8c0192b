//! What becomes of a check when the store does not answer (F1): what its rules say.
//!
//! One `closed` rule refuses; `open` rules have no say; buckets of `local` rules are this node's share of them, all or nothing.

use std::sync::Arc;

use tollgate::ledger::{Answer, BucketState, Manner};
use tollgate::policy::OnStoreFailure;
use tollgate::{StoreMode, Verdict};
use tollgate_core::{Span, Tokens};

use super::Inner;
use super::locals::{Kept, Locally};
use super::ready::Ready;

/// When to try again if a rule would have nobody through.
const CLOSED_WAIT: Span = Span::from_secs(1);

impl Inner {
    /// The answer of this node alone; if the store's comes late, the two are reconciled.
    pub(super) fn fall_back(self: &Arc<Self>, ready: &Ready, manner: &Manner) -> Answer {
        let answer = self.decide_alone(ready, manner, Kept::OrBegun);
        // Where buckets may begin, none has gone.
        let answer = answer.unwrap_or(Answer::Unavailable { wait: CLOSED_WAIT });
        self.follow(ready, manner, &answer);
        answer
    }

    /// The same while the store answers, by buckets that are not back there yet; `None` if all of them went back meanwhile: then the store
    /// has them, and whoever began anew would have a share beside what it was given.
    pub(super) fn decide_by_kept(self: &Arc<Self>, ready: &Ready, manner: &Manner) -> Option<Answer> {
        let answer = self.decide_alone(ready, manner, Kept::Already)?;
        self.follow(ready, manner, &answer);
        Some(answer)
    }

    fn decide_alone(self: &Arc<Self>, ready: &Ready, manner: &Manner, kept: Kept) -> Option<Answer> {
        if ready.charges.iter().any(|charge| charge.on_failure == OnStoreFailure::Closed) {
            self.counters.fallbacks.add(1);
            return Some(Answer::Unavailable { wait: CLOSED_WAIT });
        }
        let said = self.decide_locally(ready, manner, kept);
        if matches!(said, Locally::Gone) {
            return None;
        }
        self.counters.fallbacks.add(1);
        let mode = StoreMode::Fallback;
        if let Locally::Said(verdict, buckets) = said {
            return Some(Answer::Decided { verdict, buckets, mode });
        }
        // Nobody has a say: what a full bucket holds is as good an answer as any.
        let full = |remaining: Tokens| BucketState { remaining, wait: Span::ZERO, time_to_full: Span::ZERO };
        let buckets: Vec<BucketState> =
            ready.charges.iter().map(|charge| full(charge.alone.full())).collect();
        let remaining = buckets.iter().map(|bucket| bucket.remaining).min().unwrap_or(Tokens::ZERO);
        Some(Answer::Decided { verdict: Verdict::Admit { remaining, delay: Span::ZERO }, buckets, mode })
    }
}
