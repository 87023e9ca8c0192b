//! Charges in a shared ledger that are held until the response has come: corrected to what they have truly cost, and places given
//! back, when the decision is dropped.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tollgate_core::Cost;

use crate::ReservationId;
use crate::ledger::{Ledger, TrueCosts};

/// A reservation that is settled when this is dropped.
pub(super) struct HeldAfar {
    ledger: Arc<dyn Ledger>,
    id: ReservationId,
    /// Of each charge what it was reserved at, and whether it took a place.
    estimates: Vec<(Cost, bool)>,
    /// What each has truly cost, once that is known.
    actual: OnceLock<Vec<Cost>>,
}

impl HeldAfar {
    pub(super) fn new(ledger: Arc<dyn Ledger>, id: ReservationId, estimates: Vec<(Cost, bool)>) -> HeldAfar {
        HeldAfar { ledger, id, estimates, actual: OnceLock::new() }
    }

    /// Notes what each charge has truly cost. A second time it does nothing.
    pub(super) fn correct(&self, actual: impl Iterator<Item = Cost>) {
        let _ = self.actual.set(actual.collect());
    }
}

impl Drop for HeldAfar {
    fn drop(&mut self) {
        let actual = self.actual.get();
        let due = self.estimates.iter().enumerate().map(|(at, (estimate, is_place))| match actual {
            _ if *is_place => Cost::micros(0),
            Some(actual) => actual.get(at).copied().unwrap_or(*estimate),
            None => *estimate,
        });
        let due: Vec<Cost> = due.collect();
        if due.iter().zip(&self.estimates).any(|(due, (estimate, _))| due != estimate) {
            self.ledger.settle_later(self.id, TrueCosts::Each(due));
        }
    }
}

impl fmt::Debug for HeldAfar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldAfar").field("id", &self.id).finish_non_exhaustive()
    }
}
