//! What waits for one slot: batches that are full, and the one that gathers. Knows no connection.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use super::CoalescerOptions;
use super::pending::Awaited;
use crate::{Batch, BatchError, LinkError};

/// Calls after which the crowd is counted anew.
const ROUND: u32 = 16;
/// A batch of so few is not divided among the calls that may be under way.
const SHARE_MIN: usize = 8;

/// Adds an operation to another batch.
pub(super) type Again = Box<dyn Fn(&mut Batch) -> Result<(), BatchError> + Send>;

/// Whoever wants to know.
pub(super) struct Waiter {
    pub(super) awaited: Awaited,
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

/// The most that were outstanding lately: within the last one or two rounds of [`ROUND`] calls.
#[derive(Default)]
struct Crowd {
    before: usize,
    now: usize,
    calls: u32,
}

/// What waits for one slot, and how many calls are under way.
#[derive(Default)]
pub(super) struct Lane {
    full: VecDeque<Load>,
    gathering: Load,
    flights: usize,
    /// Operations that were added and have no answer yet.
    outstanding: usize,
    crowd: Crowd,
    /// The slot is moving from one node to another. Until the lane is idle, operations are sent by themselves.
    pub(super) is_apart: bool,
}

impl Lane {
    /// Adds an operation to the batch that gathers, or to a new one if that is full. [`Lane::wait`] must follow.
    ///
    /// A batch is full when it has its share of the crowd, one for each call that may be under way. Callers that all wait for the
    /// same answer would all come back at once, and the server would have nothing to do meanwhile.
    pub(super) fn add(
        &mut self,
        add: &impl Fn(&mut Batch) -> Result<(), BatchError>,
        options: &CoalescerOptions,
    ) -> Result<(), BatchError> {
        if self.gathering.batch.len() < self.share(options) {
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
        self.outstanding += 1;
        self.crowd.now = self.crowd.now.max(self.outstanding);
    }

    /// Whether one more call leaves now; it counts from now on. The first leaves at once, another when it has its share: a call costs the
    /// server as much as several checks.
    pub(super) fn depart(&mut self, options: &CoalescerOptions) -> bool {
        let has_share = !self.full.is_empty() || self.gathering.batch.len() >= self.share(options);
        let may = self.flights == 0 || (self.flights < options.flights_max && has_share);
        self.flights += usize::from(may);
        may
    }

    fn share(&self, options: &CoalescerOptions) -> usize {
        self.crowd.size().div_ceil(options.flights_max).max(SHARE_MIN).min(options.batch_max)
    }

    /// What a call carries next, now that so many have their answers; if that is nothing, the call is over. What is less than a share is
    /// left to gather while another call is under way.
    pub(super) fn land(&mut self, answered: usize, options: &CoalescerOptions) -> Option<Load> {
        self.outstanding = self.outstanding.saturating_sub(answered);
        self.crowd.land(self.outstanding);
        let gathered = self.gathering.waiters.len();
        let leaves = gathered > 0 && (self.flights <= 1 || gathered >= self.share(options));
        let load = self.full.pop_front().or_else(|| leaves.then(|| std::mem::take(&mut self.gathering)));
        if load.is_none() {
            self.flights = self.flights.saturating_sub(1);
        }
        load.map(|load| Load { is_apart: self.is_apart && load.waiters.len() > 1, ..load })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.flights == 0 && self.full.is_empty() && self.gathering.waiters.is_empty()
    }
}

impl Crowd {
    fn size(&self) -> usize {
        self.before.max(self.now)
    }

    fn land(&mut self, outstanding: usize) {
        self.calls += 1;
        if self.calls >= ROUND {
            *self = Crowd { before: self.now, now: outstanding, calls: 0 };
        }
    }
}

impl Load {
    /// Whether nobody waits for any of it any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.waiters.iter().all(|waiter| waiter.awaited.answer.is_closed())
    }

    /// Takes out the operations that were withdrawn, and says so.
    pub(super) fn drop_withdrawn(&mut self) -> usize {
        let is_withdrawn = |waiter: &Waiter| waiter.awaited.is_withdrawn.load(Ordering::Relaxed);
        let withdrawn: Vec<bool> = self.waiters.iter().map(is_withdrawn).collect();
        if !withdrawn.contains(&true) {
            return 0;
        }
        self.batch.keep_only(|index| !withdrawn.get(index).copied().unwrap_or(false));
        let (gone, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiters)
            .into_iter()
            .zip(withdrawn)
            .partition(|(_, is_withdrawn)| *is_withdrawn);
        self.waiters = kept.into_iter().map(|(waiter, _)| waiter).collect();
        let count = gone.len();
        for (waiter, _) in gone {
            let _ = waiter.awaited.answer.send(Err(LinkError::Withdrawn));
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Charge, KeySpace, SharedLimit};
    use tollgate_core::{Burst, Cost, Limit, Rate};

    const OPTIONS: CoalescerOptions = CoalescerOptions { flights_max: 2, batch_max: 20, waiting_max: 1_000 };

    /// Adds operations; says which of them made a call leave.
    fn come(lane: &mut Lane, count: usize) -> Vec<usize> {
        let limit =
            SharedLimit::explicit(&Limit::new(Rate::per_second(1), Burst::tokens(9)).unwrap()).unwrap();
        let charge = Charge::new(KeySpace::default().explicit("ann").unwrap(), &limit, Cost::ONE);
        let mut departures = Vec::new();
        for index in 0..count {
            lane.add(&|batch| batch.check(std::slice::from_ref(&charge)), &OPTIONS).unwrap();
            departures.extend(lane.depart(&OPTIONS).then_some(index));
            let (awaited, _) = crate::Pending::new();
            lane.wait(Waiter { awaited, again: None });
        }
        departures
    }

    fn land(lane: &mut Lane, answered: usize) -> Option<usize> {
        let load = lane.land(answered, &OPTIONS)?;
        assert_eq!(load.batch.len(), load.waiters.len(), "one waiter for each operation");
        Some(load.waiters.len())
    }

    #[test]
    fn the_first_leaves_at_once_and_the_next_gather_until_it_has_landed() {
        let mut lane = Lane::default();
        assert_eq!(come(&mut lane, 1), [0]);
        assert_eq!(land(&mut lane, 0), Some(1));
        assert_eq!(come(&mut lane, 5), [0_usize; 0], "too few for a call of their own");
        assert_eq!(land(&mut lane, 1), Some(5));
        assert_eq!(land(&mut lane, 5), None);
        assert!(lane.is_idle());
    }

    #[test]
    fn a_crowd_is_divided_among_the_calls_that_may_be_under_way() {
        let mut lane = Lane::default();
        come(&mut lane, 30);
        let mut left = 30;
        while lane.flights > 0 {
            left -= land(&mut lane, 0).unwrap_or(0);
        }
        assert_eq!(left, 0, "whatever calls land last carry the rest");
        // The crowd is known now: the first leaves at once, another with half of them.
        lane = Lane { crowd: Crowd { before: 30, now: 0, calls: 0 }, ..Lane::default() };
        assert_eq!(come(&mut lane, 30), [0, 14]);
        assert_eq!((land(&mut lane, 0), land(&mut lane, 0)), (Some(15), Some(15)));
        assert_eq!(land(&mut lane, 15), None, "that call is over");
        assert_eq!(
            come(&mut lane, 3),
            [0_usize; 0],
            "less than a share gathers while the other is under way"
        );
        assert_eq!(land(&mut lane, 15), Some(3));
    }

    #[test]
    fn no_batch_is_larger_than_may_be_and_none_is_lost() {
        let mut lane = Lane { crowd: Crowd { before: 500, now: 0, calls: 0 }, ..Lane::default() };
        come(&mut lane, 70);
        let batches: Vec<_> = std::iter::from_fn(|| land(&mut lane, 0)).collect();
        assert_eq!(batches, [20, 20, 20], "the rest gathers while another call is under way");
        assert_eq!(land(&mut lane, 20), Some(10));
    }

    #[test]
    fn what_is_refused_leaves_the_lane_as_it_was() {
        let mut lane = Lane::default();
        assert!(lane.add(&|batch| batch.check(&[]), &OPTIONS).is_err());
        assert!(lane.is_idle());
        assert_eq!(come(&mut lane, 1), [0]);
        assert_eq!(land(&mut lane, 0), Some(1));
    }

    #[test]
    fn a_crowd_that_has_gone_is_forgotten() {
        let mut lane = Lane::default();
        come(&mut lane, 100);
        assert_eq!(lane.crowd.size(), 100);
        while land(&mut lane, 100).is_some() {}
        for _ in 0..2 * ROUND {
            come(&mut lane, 1);
            land(&mut lane, 0);
            land(&mut lane, 1);
        }
        assert!(lane.crowd.size() <= 1, "{}", lane.crowd.size());
    }
}
