//! A place in a queue: on which terms it was taken, and what became of it.

use tollgate_core::{Moment, Span};

use super::queue::Ticket;
use crate::identity::BucketId;
use crate::memory::store::Ask;

/// How long someone is ready to wait, and behind how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) wait_max: Span,
    pub(crate) waiters_max: u32,
}

/// A place in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(super) ticket: Ticket,
    /// When it was taken.
    pub(super) since: Moment,
    pub(super) wait_max: Span,
    /// It is in the queue of the overflow bucket, which stands for the one that was asked.
    pub(super) is_overflow: bool,
}

/// What became of someone who may have to wait.
#[derive(Debug)]
pub(crate) enum Turn {
    /// It has its tokens, after so long.
    Left(Span),
    /// It waits here. If it is told how long, it must look again by then; in any case when it is woken.
    Waits(Place, Option<Span>),
}

impl Place {
    /// What was asked, of the bucket that it waits for.
    pub(super) fn ask(&self, ask: &Ask) -> Ask {
        let id = if self.is_overflow { BucketId::overflow_of(ask.limit) } else { ask.id };
        Ask { id, ..*ask }
    }

    /// How much longer it is ready to wait, unless it waits as long as it takes.
    pub(super) fn patience_left(&self, now: Moment) -> Option<Span> {
        (self.wait_max < Span::MAX).then(|| self.patience_at(now))
    }

    /// How much longer it is ready to wait.
    pub(super) fn patience_at(&self, now: Moment) -> Span {
        (self.since + self.wait_max).since(now)
    }
}
