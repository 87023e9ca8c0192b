//! A check whose buckets are in several slots of a cluster (S3): no script reaches two of them, so it is done by holds.
//!
//! ```text
//!  look at all slots at once ──► one denies: told so, nothing was written
//!         │ all could pay
//!         ▼
//!  hold slot after slot, narrow before broad ──► one denies, fails or is late: release those before it
//!         │ all have paid
//!         ▼
//!  write the record, if it is to be settled or charged once ──► there is one: release all, tell what that says
//! ```
//! It promises that an interval never admits more than one bucket alone would; that a check which is not admitted leaves at most what was
//! minted during its holds charged; and an answer within the deadline of the check. Why: `docs/decisions/0024-across-slots.md`. Whoever
//! holds goes on when nobody waits any more, so that what comes late is released, too. Without a cluster nothing of this happens.

mod group;
mod record;
mod release;
mod settling;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tollgate::ReservationId;
use tollgate::ledger::{Manner, TrueCosts};
use tollgate_core::{Moment, Span};

use self::group::{Group, groups, joined};
pub(super) use self::record::is_across;
use self::release::Held;
use super::Inner;
use super::gate::{Leave, Place};
use super::ready::Ready;
use crate::{
    AskError, Batch, Checked, KeyName, LinkError, Pending, ServerError, Told, slot_of,
};

/// How long a record may take to be written: nobody waits so long, but it is worth to know what became of it.
const PATIENCE: Duration = Duration::from_secs(1);

/// A check that is to be done slot by slot.
pub(super) struct Apart {
    groups: Vec<Group>,
    /// How the buckets of one group are charged.
    takes_places: bool,
    record: Option<Record>,
}

/// What is written when all have paid.
struct Record {
    key: KeyName,
    milliseconds: u64,
    note: Vec<u8>,
    /// The reservation, unless it is a check that is charged once.
    reservation: Option<ReservationId>,
}

/// One who holds.
struct Holder {
    inner: Arc<Inner>,
    apart: Apart,
    begun: Moment,
    answer: oneshot::Sender<Result<Checked, AskError>>,
}

impl Inner {
    /// The same check slot by slot; `None` if one call does it. Fails if it makes no sense.
    pub(super) fn apart(&self, ready: &Ready, manner: &Manner) -> Result<Option<Apart>, AskError> {
        let is_one = ready.charges.len() == 1 && matches!(manner, Manner::Check | Manner::Peek);
        if is_one || !self.coalescer.link().is_cluster() {
            return Ok(None);
        }
        let groups = groups(ready);
        let (add, key) = self.operation(ready, manner.clone())?;
        let key_slot = key.as_ref().map(|key| slot_of(key.as_bytes()));
        let first = groups.first().map(|group| group.slot);
        if groups.len() <= 1 && (key_slot.is_none() || key_slot == first) {
            return Ok(None);
        }
        // Whatever is wrong with it is found before anything is held.
        add(&mut Batch::new())?;
        let millis = |span: Span| span.as_nanos().div_ceil(1_000_000);
        let (milliseconds, note, reservation) = match manner {
            Manner::Check | Manner::Peek => (0, Vec::new(), None),
            Manner::Once { lifetime, .. } => (millis(*lifetime), Vec::new(), None),
            Manner::Reserve { id, timeout } => {
                (millis(*timeout), super::reservations::note(ready).to_bytes(), Some(*id))
            }
        };
        let takes_places = reservation.is_some();
        let record = key.map(|key| Record { key, milliseconds, note, reservation });
        Ok(Some(Apart { groups, takes_places, record }))
    }

    /// Asks slot by slot, within the deadline; `None` if a node is not to be asked now.
    pub(super) async fn ask_apart(
        self: &Arc<Self>,
        apart: Apart,
        is_peek: bool,
    ) -> Option<Result<Checked, AskError>> {
        let begun = self.clock.now();
        let leaves = self.leaves(&apart, begun)?;
        let (answer, mut told) = oneshot::channel();
        let holder = Holder { inner: Arc::clone(self), apart, begun, answer };
        tokio::spawn(holder.run(leaves, is_peek));
        let told = match tokio::time::timeout(self.deadline(), &mut told).await {
            Ok(told) => told.unwrap_or(Err(LinkError::Closed.into())),
            Err(_) => {
                // Either it is told by now, or whoever tells it finds that nobody listens.
                told.close();
                told.try_recv().unwrap_or(Err(LinkError::TimedOut.into()))
            }
        };
        self.counters.latency.note(self.clock.now().since(begun));
        Some(told)
    }

    /// Where the buckets of a check are that one call does.
    pub(super) fn place(&self, ready: &Ready) -> Place {
        match ready.charges.first() {
            Some(charge) if self.coalescer.link().is_cluster() => self.place_of(slot_of(charge.key.as_bytes())),
            _ => Place::ANY,
        }
    }

    /// Where a slot is.
    pub(super) fn place_of(&self, slot: u16) -> Place {
        Place::of_node(self.coalescer.link().node_number(slot))
    }

    /// Leave to ask every node that is concerned, each once.
    fn leaves(&self, apart: &Apart, now: Moment) -> Option<Vec<(Place, Leave)>> {
        let record = apart.record.iter().map(|record| slot_of(record.key.as_bytes()));
        let slots = apart.groups.iter().map(|group| group.slot).chain(record);
        let mut places: Vec<Place> = slots.map(|slot| self.place_of(slot)).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| Some((place, self.gate.allow_at(place, now)?))).collect()
    }
}

/// What a look at all slots has shown.
enum Look {
    /// It was charged before, and this is what was told then.
    Retold(Checked),
    /// Of each group, in their order.
    Seen(Vec<Checked>),
}

impl Holder {
    /// Decides, tells, and gives back what is not to be kept.
    async fn run(mut self, leaves: Vec<(Place, Leave)>, is_peek: bool) {
        let mut held = Vec::new();
        let told = match self.look(leaves).await {
            Ok(Look::Seen(seen)) if !is_peek && seen.iter().all(Checked::is_admitted) => {
                self.hold_all(seen, &mut held).await
            }
            Ok(Look::Seen(seen)) => Ok(joined(&self.apart.groups, seen)),
            Ok(Look::Retold(checked)) => Ok(checked),
            Err(error) => Err(error),
        };
        let Holder { inner, apart, answer, .. } = self;
        if !matches!(&told, Ok(checked) if checked.is_admitted() && !checked.is_retold) {
            // Sent first, so that whoever is told asks after it.
            let releasing = inner.release(held);
            let _ = answer.send(told);
            return releasing.finish(&inner).await;
        }
        if answer.send(told).is_err() {
            match apart.record.map(|record| record.reservation) {
                None => inner.release(held).finish(&inner).await,
                // Nobody will settle it.
                Some(Some(id)) => drop(inner.settle(id, TrueCosts::Nothing).await),
                // A retry may have been told by now that it was charged.
                Some(None) => {}
            }
        }
    }

    /// Asks everybody at once what they would say. Writes nothing.
    async fn look(&mut self, leaves: Vec<(Place, Leave)>) -> Result<Look, AskError> {
        let mut asked = Vec::with_capacity(self.apart.groups.len());
        for group in &self.apart.groups {
            let charges = group.charges.clone();
            asked.push(self.inner.coalescer.submit(&group.keys(), move |batch| batch.peek(&charges))?);
        }
        let mut leaves: Vec<(Place, Option<Leave>)> =
            leaves.into_iter().map(|(place, leave)| (place, Some(leave))).collect();
        let mut leave_of = |place: Place| {
            leaves.iter_mut().find(|(known, _)| *known == place).and_then(|(_, leave)| leave.take())
        };
        if let Some(record) = &self.apart.record {
            let leave = leave_of(self.inner.place_of(slot_of(record.key.as_bytes())));
            let read = self.inner.record(&record.key).await;
            self.note(leave, read.as_ref().err());
            if let Some(record) = read? {
                return retold(&record).map(Look::Retold);
            }
        }
        let mut seen = Vec::with_capacity(asked.len());
        for (at, pending) in asked.iter_mut().enumerate() {
            let leave = leave_of(self.inner.place_of(self.apart.groups[at].slot));
            let told = self.in_time(pending, leave).await.unwrap_or(Err(LinkError::TimedOut));
            seen.push(self.apart.groups[at].in_the_whole(checked(told)?));
        }
        Ok(Look::Seen(seen))
    }

    /// Charges group after group. What is held by then is in `held`, however it ends.
    async fn hold_all(&mut self, mut seen: Vec<Checked>, held: &mut Vec<Held>) -> Result<Checked, AskError> {
        let mut paid = Vec::with_capacity(seen.len());
        for at in 0..seen.len() {
            let told = self.hold(at).await?;
            let group = &self.apart.groups[at];
            let told = group.in_the_whole(told);
            if !told.is_admitted() {
                // Of the others, what the look has shown.
                seen[at] = told;
                return Ok(joined(&self.apart.groups, seen));
            }
            held.extend(release::held(group, &told));
            paid.push(told);
        }
        let whole = joined(&self.apart.groups, paid);
        let Some(record) = &self.apart.record else { return Ok(whole) };
        self.refuse_if_late()?;
        let text = record::text(&whole, &record.note);
        match self.inner.put_record(&record.key, b"", &text, record.milliseconds).await {
            Ok((_, true)) => Ok(whole),
            Ok((other, false)) => retold(&other),
            Err(error) => {
                if error.may_be_done() {
                    // A retry may be told that it was charged, so it stays charged.
                    held.clear();
                }
                Err(error.into())
            }
        }
    }

    /// Charges one group, and waits for the answer even if nobody else does: what comes late is to be released.
    async fn hold(&mut self, at: usize) -> Result<Checked, AskError> {
        self.refuse_if_late()?;
        let group = &self.apart.groups[at];
        let place = self.inner.place_of(group.slot);
        let Some(leave) = self.inner.gate.allow_at(place, self.inner.clock.now()) else {
            return Err(LinkError::TimedOut.into());
        };
        let (charges, takes_places) = (group.charges.clone(), self.apart.takes_places);
        let add = move |batch: &mut Batch| {
            if takes_places { batch.enter(&charges) } else { batch.check(&charges) }
        };
        let mut pending = self.inner.coalescer.submit(&group.keys(), add)?;
        match self.in_time(&mut pending, Some(leave)).await {
            Some(told) => checked(told),
            None => checked(pending.await),
        }
    }

    /// The answer, if somebody still waits for it when it comes. The node's breaker is told.
    async fn in_time(
        &mut self,
        pending: &mut Pending,
        leave: Option<Leave>,
    ) -> Option<Result<Told, LinkError>> {
        let told = tokio::select! {
            biased;
            told = &mut *pending => Some(told),
            () = self.answer.closed() => None,
        };
        match &told {
            Some(told) => self.note(leave, told.as_ref().err()),
            // Who left earlier says nothing about the store.
            None if self.is_over() => self.note(leave, Some(&LinkError::TimedOut)),
            None => {}
        }
        told
    }

    fn note(&self, leave: Option<Leave>, error: Option<&LinkError>) {
        let Some(leave) = leave else { return };
        let (inner, now) = (&self.inner, self.inner.clock.now());
        match error {
            None => inner.gate.succeeded(leave, now, &inner.declaring),
            Some(error) => inner.gate.failed(leave, now, &error.clone().into()),
        }
    }

    fn is_over(&self) -> bool {
        let waited: Duration = self.inner.clock.now().since(self.begun).into();
        waited >= self.inner.deadline()
    }

    fn refuse_if_late(&self) -> Result<(), AskError> {
        if self.answer.is_closed() { Err(LinkError::TimedOut.into()) } else { Ok(()) }
    }
}

/// What a check was told.
fn checked(told: Result<Told, LinkError>) -> Result<Checked, AskError> {
    match told? {
        Told::Checked(checked) => Ok(checked),
        Told::Fault(fault) => Err(LinkError::Server(fault.into()).into()),
        _ => Err(LinkError::Lost.into()),
    }
}

/// What the record of a check that was charged says.
fn retold(record: &[u8]) -> Result<Checked, AskError> {
    record::read(record).ok_or_else(|| {
        let problem = "a key of Tollgate's name holds what this version did not write; use another `prefix`, or delete that key";
        LinkError::Server(ServerError::WrongType(problem.to_owned())).into()
    })
}
