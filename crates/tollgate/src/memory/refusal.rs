//! A denial of a check over several buckets in the making: who denied, and how long to wait.

use tollgate_core::{BucketSet, Span, Tokens};

use crate::memory::logs::{LogAnswer, LogRefusal};
use crate::{Cause, Verdict};

/// A denial in the making.
pub(crate) struct Refusal {
    /// What is left in the log that has least left, if none refuses.
    pub(crate) left: Tokens,
    pub(crate) wait: Span,
    pub(crate) remaining: Tokens,
    pub(crate) denied: BucketSet,
    pub(crate) never: BucketSet,
    /// Which of `denied` found no room.
    pub(crate) without_room: BucketSet,
}

impl Refusal {
    pub(crate) fn none() -> Refusal {
        let most = Tokens::from_micros(u64::MAX);
        let none = BucketSet::EMPTY;
        Refusal {
            left: most,
            wait: Span::ZERO,
            remaining: most,
            denied: none,
            never: none,
            without_room: none,
        }
    }

    /// Adds a denial of these charges.
    pub(crate) fn add(&mut self, cause: Cause, members: BucketSet, wait: Span, held: Tokens) {
        self.denied = self.denied.union(members);
        self.wait = self.wait.max(wait);
        self.remaining = self.remaining.min(held);
        self.without_room = self.without_room.union(cause.on_behalf_of(members).without_room());
    }

    /// What the check's logs say.
    pub(crate) fn add_logs(&mut self, answers: impl Iterator<Item = LogAnswer>) {
        for LogAnswer { members, answer } in answers {
            match answer {
                Ok(remaining) => self.left = self.left.min(remaining),
                Err(LogRefusal::Never) => self.never = self.never.union(members),
                Err(LogRefusal::Short { wait, held }) => self.add(Cause::Exceeded, members, wait, held),
                Err(LogRefusal::TableFull { wait }) => {
                    self.add(Cause::TableFull(members), members, wait, Tokens::ZERO);
                }
            }
        }
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        if !self.never.is_empty() {
            return Some(Verdict::Never { denied: self.never });
        }
        let Refusal { wait, remaining, denied, without_room, .. } = *self;
        let cause = Cause::of(without_room);
        (!denied.is_empty()).then_some(Verdict::Deny { wait, remaining, denied, cause })
    }
}

/// The verdict on one bucket, as the verdict on the check whose charges these are.
pub(crate) fn on_behalf_of(members: BucketSet, verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Deny { wait, remaining, cause, .. } => {
            Verdict::Deny { wait, remaining, cause: cause.on_behalf_of(members), denied: members }
        }
        Verdict::Never { .. } => Verdict::Never { denied: members },
        other => other,
    }
}
