//! A place in a queue: on which terms it was taken, and what became of it.

use tollgate_core::{Moment, Span};

use super::queue::Ticket;

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
    /// How much longer it is ready to wait.
    pub(super) fn patience_at(&self, now: Moment) -> Span {
        (self.since + self.wait_max).since(now)
    }
}
