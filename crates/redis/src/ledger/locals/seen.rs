//! What the buckets of one question said, one after the other, and the verdict they make.

use tollgate::ledger::BucketState;
use tollgate::{Cause, Verdict};
use tollgate_core::{BucketSet, Span, Tokens};

use super::local::Said;

/// Whoever finds no room, or is beyond a share, is to try again so much later.
pub(super) const CROWDED_WAIT: Span = Span::from_secs(1);

/// What buckets said.
pub(in crate::ledger) struct Seen {
    /// Of how many parts of each limit this node keeps one.
    instances: u32,
    pub(in crate::ledger) states: Vec<BucketState>,
    denied: BucketSet,
    delay: Span,
}

impl Seen {
    pub(in crate::ledger) fn by_share_of(instances: u32) -> Seen {
        Seen { instances, states: Vec::new(), denied: BucketSet::EMPTY, delay: Span::ZERO }
    }

    /// A rule that has no say: what a full bucket holds.
    pub(in crate::ledger) fn add_silent(&mut self, full: Tokens) {
        self.states.push(BucketState { remaining: full, ..BucketState::UNKNOWN });
    }

    pub(in crate::ledger) fn add(&mut self, said: Said, time_to_full: Span) {
        let mut state = BucketState { time_to_full, instances: self.instances, ..BucketState::UNKNOWN };
        match said {
            Said::Admit { remaining, delay } => {
                state.remaining = remaining;
                self.delay = self.delay.max(delay);
            }
            Said::Deny { wait, remaining } => {
                (state.wait, state.remaining) = (wait, remaining);
                self.denied.insert(self.states.len());
            }
            // Not ever by this node; when the store is back is not known.
            Said::BeyondShare => {
                state.wait = CROWDED_WAIT;
                self.denied.insert(self.states.len());
            }
        }
        self.states.push(state);
    }

    pub(in crate::ledger) fn is_admitted(&self) -> bool {
        self.denied == BucketSet::EMPTY
    }

    pub(in crate::ledger) fn verdict(self) -> (Verdict, Vec<BucketState>) {
        let those = || self.states.iter().enumerate().filter(|(at, _)| self.denied.contains(*at));
        let verdict = if self.is_admitted() {
            let remaining = self.states.iter().map(|state| state.remaining).min().unwrap_or(Tokens::ZERO);
            Verdict::Admit { remaining, delay: self.delay }
        } else {
            Verdict::Deny {
                wait: those().map(|(_, state)| state.wait).max().unwrap_or(Span::ZERO),
                remaining: those().map(|(_, state)| state.remaining).min().unwrap_or(Tokens::ZERO),
                denied: self.denied,
                cause: Cause::Exceeded,
            }
        };
        (verdict, self.states)
    }
}

/// There is no room for the bucket of this charge.
pub(super) fn crowded(at: usize, charges: usize) -> (Verdict, Vec<BucketState>) {
    let state = BucketState { wait: CROWDED_WAIT, ..BucketState::UNKNOWN };
    let (wait, remaining, denied) = (CROWDED_WAIT, Tokens::ZERO, BucketSet::of(at));
    (Verdict::Deny { wait, remaining, denied, cause: Cause::TableFull(denied) }, vec![state; charges])
}
