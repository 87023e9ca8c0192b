//! What becomes of a check when the store does not answer (F1): what its rules say.
//!
//! One `closed` rule refuses; `open` rules have no say; buckets of `local` rules are this node's share of them, all or nothing.

use std::sync::Arc;

use tollgate::ledger::{Answer, BucketState, Manner};
use tollgate::policy::OnStoreFailure;
use tollgate::{StoreMode, Verdict};
use tollgate_core::{Span, Tokens};

use super::Inner;
use super::ready::Ready;

/// When to try again if a rule would have nobody through.
const CLOSED_WAIT: Span = Span::from_secs(1);

impl Inner {
    /// The answer of this node alone; if the store's comes late, the two are reconciled.
    pub(super) fn fall_back(self: &Arc<Self>, ready: &Ready, manner: &Manner) -> Answer {
        let answer = self.decide_alone(ready, manner);
        self.follow(ready, manner, &answer);
        answer
    }

    fn decide_alone(self: &Arc<Self>, ready: &Ready, manner: &Manner) -> Answer {
        self.counters.fallbacks.add(1);
        if ready.charges.iter().any(|charge| charge.on_failure == OnStoreFailure::Closed) {
            return Answer::Unavailable { wait: CLOSED_WAIT };
        }
        let mode = StoreMode::Fallback;
        if let Some((verdict, buckets)) = self.decide_locally(ready, manner) {
            return Answer::Decided { verdict, buckets, mode };
        }
        // Nobody has a say: what a full bucket holds is as good an answer as any.
        let full = |remaining: Tokens| BucketState { remaining, wait: Span::ZERO, time_to_full: Span::ZERO };
        let buckets: Vec<BucketState> =
            ready.charges.iter().map(|charge| full(charge.alone.full())).collect();
        let remaining = buckets.iter().map(|bucket| bucket.remaining).min().unwrap_or(Tokens::ZERO);
        Answer::Decided { verdict: Verdict::Admit { remaining, delay: Span::ZERO }, buckets, mode }
    }
}
