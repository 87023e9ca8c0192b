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

    pub(super) fn costs(&self, id: ReservationId, now: Moment) -> Option<Vec<Cost>> {
        let open = self.0.get(&id).filter(|open| open.until > now)?;
        Some(open.charges.iter().map(|charge| charge.cost).collect())
    }

    pub(super) fn remove(&mut self, id: ReservationId) -> Option<Open> {
        self.0.remove(&id)
    }
}
