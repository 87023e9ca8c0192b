//! Concurrent checks become one call.
//!
//! ```text
//!  check ─┐                         A lonely check leaves at once. Whatever comes while a call is under way gathers, and leaves
//!  check ─┼─► gathering ─► flight   together when that has landed, or when it is a fair share of all who wait: then several
//!  check ─┘                         calls are under way, and the server works while we read and write.
//! ```
//! In Cluster each slot gathers for itself, since a script may touch one slot alone; the flights of several slots share the
//! connection to their node, and so are a pipeline.
//!
//! A check whose caller has gone is sent with the others, and charged, unless it was withdrawn before. A batch without any waiting caller is not
//! sent.

mod ask_error;
mod lane;
mod pending;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;

pub use ask_error::AskError;
pub use pending::Pending;

use super::cluster::slot_of_all;
use super::{Link, LinkError};
use crate::{Batch, BatchError, Call, Charge, Checked, KeyName, ServerError, Told};
use lane::{Lane, Load, Waiter};

/// How many checks gather, and how many calls carry them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoalescerOptions {
    /// Most calls under way at once; in Cluster, for each slot. More mean shorter waits where the
    /// store is far away, and smaller batches.
    pub flights_max: usize,
    /// Most operations in one call. The server does nothing else meanwhile: 128 take it about half a millisecond.
    pub batch_max: usize,
    /// Most operations that wait to be sent. Beyond it they are refused at once.
    pub waiting_max: usize,
}

impl Default for CoalescerOptions {
    fn default() -> CoalescerOptions {
        CoalescerOptions { flights_max: 2, batch_max: 128, waiting_max: 8_192 }
    }
}

/// Gathers operations, and sends them together. Clones are the same.
#[derive(Clone)]
pub struct Coalescer(Arc<Inner>);

struct Inner {
    link: Link,
    options: CoalescerOptions,
    lanes: Mutex<Lanes>,
    operations: AtomicU64,
    batches: AtomicU64,
    unsent: AtomicU64,
}

/// What gathers. In Cluster a lane for each slot that is in use, otherwise one.
#[derive(Default)]
struct Lanes {
    by_slot: HashMap<u16, Lane>,
    waiting: usize,
}

/// What a coalescer has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CoalescerCounts {
    /// Operations that were taken.
    pub operations: u64,
    /// Calls that carried them.
    pub batches: u64,
    /// Operations that were not sent, since they were withdrawn or no caller waited any more.
    pub unsent: u64,
}

impl Coalescer {
    /// Sends over this link.
    pub fn new(link: Link, options: &CoalescerOptions) -> Coalescer {
        let options = CoalescerOptions {
            flights_max: options.flights_max.max(1),
            batch_max: options.batch_max.max(1),
            waiting_max: options.waiting_max.max(1),
        };
        let [operations, batches, unsent] = [const { AtomicU64::new(0) }; 3];
        Coalescer(Arc::new(Inner { link, options, lanes: Mutex::default(), operations, batches, unsent }))
    }

    /// The link it sends over.
    pub fn link(&self) -> &Link {
        &self.0.link
    }

    /// Checks all charges, all or nothing, and waits for the answer until `within` is over.
    pub async fn check(&self, charges: Vec<Charge>, within: Duration) -> Result<Checked, AskError> {
        let slot = self.slot(charges.iter().map(|charge| &charge.key))?;
        let mut pending = self.submit_to(slot, move |batch| batch.check(&charges))?;
        match pending.within(within).await? {
            Told::Checked(checked) => Ok(checked),
            Told::Fault(fault) => Err(LinkError::Server(fault.into()).into()),
            _ => {
                Err(LinkError::Server(ServerError::Other("an answer to another operation".to_owned())).into())
            }
        }
    }

    /// Adds one operation, which is sent as soon as may be. `add` adds it to a batch, and is called again where the batch must be taken
    /// apart; `keys` are all that it touches, and need be given in Cluster alone, where they must be in one slot. Must be called
    /// within a Tokio runtime.
    pub fn submit<A>(&self, keys: &[KeyName], add: A) -> Result<Pending, AskError>
    where
        A: Fn(&mut Batch) -> Result<(), BatchError> + Send + 'static,
    {
        self.submit_to(self.slot(keys)?, add)
    }

    /// Which lane keys take.
    fn slot<'k>(&self, keys: impl IntoIterator<Item = &'k KeyName>) -> Result<u16, LinkError> {
        if self.0.link.is_cluster() { slot_of_all(keys.into_iter().map(KeyName::as_bytes)) } else { Ok(0) }
    }

    fn submit_to<A>(&self, slot: u16, add: A) -> Result<Pending, AskError>
    where
        A: Fn(&mut Batch) -> Result<(), BatchError> + Send + 'static,
    {
        let mut lanes = self.0.lock();
        if lanes.waiting >= self.0.options.waiting_max {
            return Err(LinkError::Overloaded { calls_max: self.0.options.waiting_max }.into());
        }
        let lane = lanes.by_slot.entry(slot).or_default();
        let added = lane.add(&add, &self.0.options);
        let has_departed = added.is_ok() && lane.depart(&self.0.options);
        if let Err(error) = added {
            lanes.forget_if_idle(slot);
            return Err(error.into());
        }
        let (awaited, pending) = Pending::new();
        // One slot's keys may be on two nodes for a while; then each operation is sent by itself.
        let again: Option<lane::Again> = if self.0.link.is_cluster() { Some(Box::new(add)) } else { None };
        lane.wait(Waiter { awaited, again });
        lanes.waiting += 1;
        drop(lanes);
        self.0.operations.fetch_add(1, Ordering::Relaxed);
        if has_departed {
            tokio::spawn(Arc::clone(&self.0).fly(slot));
        }
        Ok(pending)
    }

    /// What it has done.
    pub fn counts(&self) -> CoalescerCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CoalescerCounts {
            operations: of(&self.0.operations),
            batches: of(&self.0.batches),
            unsent: of(&self.0.unsent),
        }
    }
}

impl Inner {
    /// Sends what has gathered, until nothing has.
    async fn fly(self: Arc<Self>, slot: u16) {
        let mut answered = 0;
        while let Some(mut load) = self.next_load(slot, answered) {
            answered = load.waiters.len();
            let withdrawn = load.drop_withdrawn();
            self.unsent.fetch_add(withdrawn as u64, Ordering::Relaxed);
            if load.is_abandoned() {
                self.unsent.fetch_add(load.waiters.len() as u64, Ordering::Relaxed);
                continue;
            }
            if load.is_apart {
                self.send_apart(load.waiters).await;
                continue;
            }
            match self.send(&load.batch, load.batch.len() == 1).await {
                Err(LinkError::Server(error)) if error.is_try_again() && load.batch.len() > 1 => {
                    if let Some(lane) = self.lock().by_slot.get_mut(&slot) {
                        lane.is_apart = true;
                    }
                    self.send_apart(load.waiters).await;
                }
                answer => tell(load.waiters, answer),
            }
        }
    }

    async fn send(&self, batch: &Batch, tries_again: bool) -> Result<Vec<Told>, LinkError> {
        let permit = self.link.permit()?;
        self.batches.fetch_add(1, Ordering::Relaxed);
        let call: Call = batch.call();
        let reply = self.link.call_patiently(&call, tries_again, permit).await?;
        Ok(batch.read(&reply)?)
    }

    /// Every operation by itself, all at once.
    async fn send_apart(self: &Arc<Self>, waiters: Vec<Waiter>) {
        let mut sent = JoinSet::new();
        for waiter in waiters {
            let inner = Arc::clone(self);
            sent.spawn(async move {
                let mut batch = Batch::new();
                let is_added = waiter.again.as_ref().is_some_and(|add| add(&mut batch).is_ok());
                let answer = if is_added { inner.send(&batch, true).await } else { Err(LinkError::Lost) };
                tell(vec![waiter], answer);
            });
        }
        sent.join_all().await;
    }

    fn next_load(&self, slot: u16, answered: usize) -> Option<Load> {
        let mut lanes = self.lock();
        let load = lanes.by_slot.get_mut(&slot).and_then(|lane| lane.land(answered, &self.options));
        match &load {
            Some(load) => lanes.waiting = lanes.waiting.saturating_sub(load.waiters.len()),
            None => lanes.forget_if_idle(slot),
        }
        load
    }

    fn lock(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lanes {
    fn forget_if_idle(&mut self, slot: u16) {
        if self.by_slot.get(&slot).is_some_and(Lane::is_idle) {
            self.by_slot.remove(&slot);
        }
    }
}

/// Hands each its answer; whoever has gone does not want it.
fn tell(waiters: Vec<Waiter>, answer: Result<Vec<Told>, LinkError>) {
    match answer {
        Ok(told) => {
            for (waiter, told) in waiters.into_iter().zip(told) {
                let _ = waiter.awaited.answer.send(Ok(told));
            }
        }
        Err(error) => {
            for waiter in waiters {
                let _ = waiter.awaited.answer.send(Err(error.clone()));
            }
        }
    }
}

impl fmt::Debug for Coalescer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coalescer")
            .field("link", &self.0.link)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
