//! One line in the log for an outage, whoever notices it first, the link or a breaker; and one for its end, when the store is connected
//! and every breaker is closed again. In Cluster one for each node that is lost by itself.
//!
//! It does not know what an outage is: who notices it says so.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is amiss, and was told.
#[derive(Debug, Default)]
pub(super) struct Outage(Mutex<Amiss>);

#[derive(Debug, Default)]
struct Amiss {
    /// The link is down.
    is_unlinked: bool,
    /// A bit for each node that is not asked.
    silent: u64,
}

impl Outage {
    /// The link is down.
    pub(super) fn link_is_down(&self, cause: &dyn fmt::Display) {
        let mut amiss = self.lock();
        let is_told = amiss.is_any();
        amiss.is_unlinked = true;
        drop(amiss);
        if !is_told {
            tracing::warn!(%cause, "the shared store is not connected; attempts go on, and rules do what `on_store_failure` says");
        }
    }

    /// The link is connected, for the first time or again.
    pub(super) fn link_is_up(&self, servers: &str) {
        let mut amiss = self.lock();
        amiss.is_unlinked = false;
        let is_over = !amiss.is_any();
        drop(amiss);
        // A breaker that is open yet tells of the end.
        if is_over {
            tracing::info!(servers, "the shared store is connected");
        }
    }

    /// A node is not asked any more. `node` is below 64.
    pub(super) fn is_silent(&self, node: usize, error: &dyn fmt::Display) {
        let mut amiss = self.lock();
        let is_told = amiss.is_unlinked;
        amiss.silent |= bit(node);
        drop(amiss);
        if !is_told {
            tracing::warn!(%error, node, "the shared store does not answer; rules do what `on_store_failure` says");
        }
    }

    /// A node answers again.
    pub(super) fn answers(&self, node: usize, after_ms: u64) {
        let mut amiss = self.lock();
        amiss.silent &= !bit(node);
        let is_over = !amiss.is_any();
        drop(amiss);
        if is_over {
            tracing::info!(after_ms, node, "the shared store answers again");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Amiss> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Amiss {
    const fn is_any(&self) -> bool {
        self.is_unlinked || self.silent != 0
    }
}

const fn bit(node: usize) -> u64 {
    1 << (node % 64)
}
