//! Checks while the store is unreachable (F1): each rule's `on_store_failure` decides.
//!
//! One `closed` rule refuses; `open` rules have no say; buckets of `local` rules are this node's share of them, all or nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate::ledger::{Answer, BucketState, Manner};
use tollgate::policy::OnStoreFailure;
use tollgate::{StoreMode, Verdict};
use tollgate_core::{Moment, Span, Tokens};

use super::Inner;
use super::locals::{Kept, Locally};
use super::ready::Ready;

/// When to try again if a rule would have nobody through.
pub(super) const CLOSED_WAIT: Span = Span::from_secs(1);

/// A rule whose checks are decided in fallback is logged at most once in this time.
const EVENT_PAUSE: Span = Span::from_secs(10);

/// Stands for the rule of limits that come with the call.
const EXPLICIT: &str = "(explicit)";

/// When it was last logged that the checks of a rule are decided in fallback, in nanoseconds of the node's clock; 0: never.
#[derive(Debug, Default)]
pub(super) struct FallbackLogged(AtomicU64);

impl FallbackLogged {
    /// Returns `true`, and begins a pause of [`EVENT_PAUSE`], unless one is under way.
    fn begin_pause(&self, now: Moment) -> bool {
        let (last, now) = (self.0.load(Ordering::Relaxed), now.as_nanos());
        let is_pause = last != 0 && now.saturating_sub(last) < EVENT_PAUSE.as_nanos();
        !is_pause && self.0.compare_exchange(last, now.max(1), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

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

    /// Counts a check that was decided without the store, and logs each rule it concerns, at most once in [`EVENT_PAUSE`].
    pub(super) fn note_fallback(&self, ready: &Ready, manner: &Manner, cause: &'static str) {
        self.count_fallback(ready, manner);
        let now = self.clock.now();
        for charge in &ready.charges {
            let (logged, policy, rule) = match &charge.rule {
                Some(rule) => (&rule.fallback_logged, Some(rule.identity.policy()), rule.identity.name()),
                None => (&self.explicit_fallback_logged, None, EXPLICIT),
            };
            if logged.begin_pause(now) {
                let on_store_failure = charge.on_failure.name();
                tracing::info!(policy, rule, on_store_failure, cause, "checks decided in fallback");
            }
        }
    }

    /// Counts a check that was decided without the store.
    pub(super) fn count_fallback(&self, ready: &Ready, manner: &Manner) {
        self.counters.fallbacks.add(1);
        let is_explicit = *manner != Manner::Peek && ready.charges.iter().any(|charge| charge.rule.is_none());
        self.counters.explicit_fallbacks.add(u64::from(is_explicit));
    }

    fn decide_alone(self: &Arc<Self>, ready: &Ready, manner: &Manner, kept: Kept) -> Option<Answer> {
        if ready.charges.iter().any(|charge| charge.on_failure == OnStoreFailure::Closed) {
            self.note_fallback(ready, manner, "unreachable");
            return Some(Answer::Unavailable { wait: CLOSED_WAIT });
        }
        let said = self.decide_locally(ready, manner, kept);
        if matches!(said, Locally::Gone) {
            return None;
        }
        self.note_fallback(ready, manner, "unreachable");
        let mode = StoreMode::Fallback;
        if let Locally::Said(verdict, buckets) = said {
            return Some(Answer::Decided { verdict, buckets, mode });
        }
        // Nobody has a say: what a full bucket holds is as good an answer as any.
        let full = |remaining: Tokens| BucketState { remaining, ..BucketState::UNKNOWN };
        let buckets: Vec<BucketState> =
            ready.charges.iter().map(|charge| full(charge.alone.full())).collect();
        let remaining = buckets.iter().map(|bucket| bucket.remaining).min().unwrap_or(Tokens::ZERO);
        Some(Answer::Decided { verdict: Verdict::Admit { remaining, delay: Span::ZERO }, buckets, mode })
    }
}
