//! What waits for one slot: batches that are full, and the one that gathers. Knows no connection.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use crate::{Batch, BatchError, LinkError, Told};

/// Adds an operation to another batch.
pub(super) type Again = Box<dyn Fn(&mut Batch) -> Result<(), BatchError> + Send>;

/// Whoever wants to know.
pub(super) struct Waiter {
    pub(super) answer: oneshot::Sender<Result<Told, LinkError>>,
    /// In Cluster: how the operation is sent by itself.
    pub(super) again: Option<Again>,
}

/// A batch, and who waits for it, in the order of its operations.
#[derive(Default)]
pub(super) struct Load {
    pub(super) batch: Batch,
    pub(super) waiters: Vec<Waiter>,
    /// Each operation is to be sent by itself.
    pub(super) is_apart: bool,
}

/// What waits for one slot, and how many calls are under way.
#[derive(Default)]
pub(super) struct Lane {
    full: VecDeque<Load>,
    gathering: Load,
    flights: usize,
    /// The slot is moving from one node to another. Until the lane is idle, operations are sent by themselves.
    pub(super) is_apart: bool,
}

impl Lane {
    /// Adds an operation to the batch that gathers, or to a new one if that is full. [`Lane::wait`] must follow.
    pub(super) fn add(
        &mut self,
        add: &impl Fn(&mut Batch) -> Result<(), BatchError>,
        batch_max: usize,
    ) -> Result<(), BatchError> {
        let is_full = self.gathering.batch.len() >= batch_max;
        if !is_full {
            match add(&mut self.gathering.batch) {
                Err(BatchError::Full) if !self.gathering.batch.is_empty() => {}
                added => return added,
            }
        }
        let mut fresh = Batch::new();
        add(&mut fresh)?;
        let fresh = Load { batch: fresh, ..Load::default() };
        self.full.push_back(std::mem::replace(&mut self.gathering, fresh));
        Ok(())
    }

    /// Who waits for what was just added.
    pub(super) fn wait(&mut self, waiter: Waiter) {
        self.gathering.waiters.push(waiter);
    }

    /// Whether one more call may be under way; it counts from now on.
    pub(super) fn depart(&mut self, flights_max: usize) -> bool {
        let may = self.flights < flights_max;
        self.flights += usize::from(may);
        may
    }

    /// What a call carries next; if nothing waits, the call is over.
    pub(super) fn land(&mut self) -> Option<Load> {
        let load = self
            .full
            .pop_front()
            .or_else(|| (!self.gathering.waiters.is_empty()).then(|| std::mem::take(&mut self.gathering)));
        if load.is_none() {
            self.flights = self.flights.saturating_sub(1);
        }
        load.map(|load| Load { is_apart: self.is_apart && load.waiters.len() > 1, ..load })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.flights == 0 && self.full.is_empty() && self.gathering.waiters.is_empty()
    }
}

impl Load {
    /// Whether nobody waits for any of it any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.waiters.iter().all(|waiter| waiter.answer.is_closed())
    }
}
