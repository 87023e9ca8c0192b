//! Who may ask the store: a breaker, and one line in the log for each change.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tollgate_core::{BREAKER_FAILURES, Breaker, BreakerChange, BreakerState, Moment, Pass};

use super::declaring::Declaring;
use crate::AskError;

/// The breaker of one ledger.
#[derive(Debug)]
pub(super) struct Gate(Mutex<Breaker>);

impl Default for Gate {
    fn default() -> Gate {
        Gate(Mutex::new(Breaker::new(BREAKER_FAILURES)))
    }
}

impl Gate {
    pub(super) fn allow(&self, now: Moment) -> Option<Pass> {
        self.lock().allow(now)
    }

    /// The store answered. When it is back, it may be another one, or empty: limits are declared anew.
    pub(super) fn succeeded(&self, pass: Pass, now: Moment, declaring: &Declaring) {
        if let Some(BreakerChange::Closed { after }) = self.lock().succeeded(pass, now) {
            tracing::info!(after_ms = after.as_nanos() / 1_000_000, "the shared store answers again");
            declaring.wake_all();
        }
    }

    pub(super) fn failed(&self, pass: Pass, now: Moment, error: &AskError) {
        if let Some(BreakerChange::Opened) = self.lock().failed(pass, now) {
            tracing::warn!(%error, "the shared store does not answer; rules do what `on_store_failure` says");
        }
    }

    pub(super) fn state(&self) -> BreakerState {
        self.lock().state()
    }

    fn lock(&self) -> MutexGuard<'_, Breaker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
