//! One line in the log for an outage, whoever notices it first, the link or a breaker; and one for its end, when the store is connected
//! and every breaker is closed again. In Cluster one for each node that is lost by itself.
//!
//! It does not know what an outage is: who notices it says so.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tollgate_core::{Moment, Span};

/// For how long what a breaker said stands for what the link would say. Longer and it is another outage: numbers of nodes change, and a breaker
/// whose node is gone stays open.
const SAME_OUTAGE: Span = Span::from_secs(60);

/// What is amiss, and was told.
#[derive(Debug, Default)]
pub(super) struct Outage(Mutex<Amiss>);

#[derive(Debug, Default)]
struct Amiss {
    /// The link is down.
    is_unlinked: bool,
    /// A bit for each node that is not asked.
    silent: u64,
    /// When the last of them was given up.
    silent_at: Moment,
}

impl Outage {
    /// The link is down.
    pub(super) fn link_is_down(&self, cause: &dyn fmt::Display, now: Moment) {
        if self.lock().link_is_down(now) {
            tracing::warn!(%cause, "the shared store is not connected; attempts go on, and rules do what `on_store_failure` says");
        }
    }

    /// The link is connected, for the first time or again.
    pub(super) fn link_is_up(&self, servers: &str, now: Moment) {
        if self.lock().link_is_up(now) {
            tracing::info!(servers, "the shared store is connected");
        }
    }

    /// A node is not asked any more. `node` is below 64.
    pub(super) fn is_silent(&self, node: usize, error: &dyn fmt::Display, now: Moment) {
        if self.lock().is_silent(node, now) {
            tracing::warn!(%error, node, "the shared store does not answer; rules do what `on_store_failure` says");
        }
    }

    /// A node answers again.
    pub(super) fn answers(&self, node: usize, after_ms: u64) {
        if self.lock().answers(node) {
            tracing::info!(after_ms, node, "the shared store answers again");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Amiss> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each says whether the change is worth a line.
impl Amiss {
    fn link_is_down(&mut self, now: Moment) -> bool {
        !std::mem::replace(&mut self.is_unlinked, true) && !self.is_fresh(now)
    }

    fn link_is_up(&mut self, now: Moment) -> bool {
        self.is_unlinked = false;
        // A breaker that was opened just now tells of the end.
        let is_over = !self.is_fresh(now);
        if is_over {
            self.silent = 0;
        }
        is_over
    }

    fn is_silent(&mut self, node: usize, now: Moment) -> bool {
        self.silent |= bit(node);
        self.silent_at = now;
        !self.is_unlinked
    }

    fn answers(&mut self, node: usize) -> bool {
        let was_silent = self.silent & bit(node) != 0;
        self.silent &= !bit(node);
        was_silent && self.silent == 0 && !self.is_unlinked
    }

    /// Whether breakers have told of this outage.
    fn is_fresh(&self, now: Moment) -> bool {
        self.silent != 0 && now.since(self.silent_at) <= SAME_OUTAGE
    }
}

const fn bit(node: usize) -> u64 {
    1 << (node % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Moment {
        Moment::default() + Span::from_secs(secs)
    }

    #[test]
    fn whoever_notices_first_tells_of_it_and_whoever_is_last_of_its_end() {
        let mut amiss = Amiss::default();
        assert!(amiss.link_is_up(at(0)), "the start");
        assert!(amiss.link_is_down(at(1)));
        assert!(!amiss.is_silent(0, at(2)) && !amiss.link_is_down(at(3)));
        assert!(!amiss.link_is_up(at(4)), "the breaker is still open");
        assert!(amiss.answers(0));

        assert!(amiss.is_silent(0, at(11)));
        assert!(!amiss.link_is_down(at(12)) && !amiss.link_is_up(at(13)) && amiss.answers(0));

        assert!(amiss.link_is_down(at(21)) && amiss.link_is_up(at(22)), "nobody has asked");
    }

    #[test]
    fn the_end_is_told_of_when_every_node_is_back() {
        let mut amiss = Amiss::default();
        assert!(amiss.is_silent(1, at(1)) && amiss.is_silent(2, at(2)));
        assert!(!amiss.answers(2) && amiss.answers(1));
    }

    #[test]
    fn a_node_that_never_comes_back_hides_no_later_outage() {
        let mut amiss = Amiss::default();
        assert!(amiss.is_silent(3, at(1)));
        assert!(amiss.link_is_down(at(100)) && amiss.link_is_up(at(101)));
        assert!(!amiss.answers(3), "its end was told");
    }
}
