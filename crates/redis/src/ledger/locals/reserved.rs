//! Reservations that this node has made by its shares, while the store did not answer: settled here, where the store knows nothing of them.
//!
//! Bounded, and each only until it times out. What is settled after its bucket went back is corrected in the store.

use std::collections::HashMap;

use tollgate::ReservationId;
use tollgate_core::{Cost, Generation, Moment, Tokens};

use crate::{KeyName, SharedLimit};

/// Most reservations that are open here.
pub(super) const RESERVED_MAX: usize = 100_000;

/// The open ones.
#[derive(Debug, Default)]
pub(super) struct Reserved(HashMap<ReservationId, Open>);

#[derive(Debug)]
pub(super) struct Open {
    pub(super) until: Moment,
    pub(super) charges: Vec<HeldCharge>,
    /// Whether the store may have a record of it as well, because its reply is late. Until that record is gone, a
    /// settled reservation stays here, so that it is refused here and not settled once more there.
    pub(super) is_in_store: bool,
    pub(super) is_settled: bool,
}

/// One charge of a reservation, in the order of the question.
#[derive(Debug)]
pub(super) struct HeldCharge {
    pub(super) key: KeyName,
    pub(super) cost: Cost,
    /// Of places, when they were taken.
    pub(super) place: Option<Generation>,
    /// Whether this node has charged it: rules that are `open` have no say.
    pub(super) is_charged: bool,
    /// By which it is corrected in the store, if the bucket is back there.
    pub(super) limit: Option<SharedLimit>,
    pub(super) debt_max: Tokens,
}

impl Reserved {
    /// Whether there is room for one more.
    pub(super) fn has_room(&mut self, now: Moment) -> bool {
        if self.0.len() >= RESERVED_MAX {
            self.0.retain(|_, open| open.until > now);
        }
        self.0.len() < RESERVED_MAX
    }

    pub(super) fn insert(&mut self, id: ReservationId, open: Open) {
        self.0.insert(id, open);
    }

    pub(super) fn get(&self, id: ReservationId, now: Moment) -> Option<&Open> {
        self.0.get(&id).filter(|open| open.until > now)
    }

    /// Marks a reservation as settled and returns its charges.
    pub(super) fn settle(&mut self, id: ReservationId) -> Option<Vec<HeldCharge>> {
        let open = self.0.get_mut(&id)?;
        open.is_settled = true;
        let charges = std::mem::take(&mut open.charges);
        if !open.is_in_store {
            self.0.remove(&id);
        }
        Some(charges)
    }

    /// The store has no record of a reservation, or none any more.
    pub(super) fn is_only_here(&mut self, id: ReservationId) {
        if let Some(open) = self.0.get_mut(&id) {
            open.is_in_store = false;
            if open.is_settled {
                self.0.remove(&id);
            }
        }
    }
}
