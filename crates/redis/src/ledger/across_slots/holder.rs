//! One who holds: looks at all slots, charges one after the other, tells, and gives back what is not to be kept.
//!
//! It goes on when nobody waits any more, so that what comes late is given back, too, and tells each node's breaker what came of it. It
//! does not know why a check is to be done slot by slot.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tollgate_core::Moment;

use super::super::gate::{Leave, Place};
use super::super::proofs::Unanswered;
use super::super::{Inner, may_be_done};
use super::group::joined;
use super::release::Held;
use super::{Apart, Record, record, release};
use crate::{AskError, Batch, Checked, KeyFault, LinkError, Pending, Told, slot_of};

/// One who holds.
pub(super) struct Holder {
    pub(super) inner: Arc<Inner>,
    pub(super) apart: Apart,
    pub(super) begun: Moment,
    pub(super) answer: oneshot::Sender<Result<Checked, AskError>>,
    /// Told of an admission that stays charged though the caller was not told of it.
    pub(super) stands: oneshot::Sender<Checked>,
}

/// What was charged, and what becomes of it where the check is not admitted.
#[derive(Default)]
struct Paid {
    /// Is given back.
    held: Vec<Held>,
    /// Stays charged.
    stands: Option<Checked>,
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
    pub(super) async fn run(mut self, leaves: Vec<(Place, Leave)>, is_peek: bool) {
        let mut paid = Paid::default();
        let told = match self.look(leaves).await {
            Ok(Look::Seen(seen)) if !is_peek && seen.iter().all(Checked::is_admitted) => {
                self.hold_all(seen, &mut paid).await
            }
            Ok(Look::Seen(seen)) => Ok(joined(&self.apart.groups, seen)),
            Ok(Look::Retold(checked)) => Ok(checked),
            Err(error) => Err(error),
        };
        let Holder { inner, apart, answer, stands, .. } = self;
        let Paid { held, stands: mut standing } = paid;
        if !matches!(&told, Ok(checked) if checked.is_admitted() && !checked.is_retold) {
            // Sent first, so that whoever is told asks after it.
            let releasing = inner.release(held);
            if let Err(Ok(checked)) = answer.send(told) {
                // The first of the retries has paid.
                standing = standing.or(checked.is_retold.then_some(checked));
            }
            match standing {
                Some(standing) => drop(stands.send(standing)),
                None => drop(stands),
            }
            return releasing.finish(&inner).await;
        }
        if let Err(Ok(checked)) = answer.send(told) {
            if is_undone(&inner, apart.record.as_ref(), &checked).await {
                drop(stands);
                inner.release(held).finish(&inner).await;
            } else {
                let _ = stands.send(checked);
            }
        }
    }

    /// Looks at the buckets of all slots at once. Writes nothing. A late reply still proves the balances.
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
        let mut late = None;
        if let Some(record) = &self.apart.record {
            let leave = leave_of(self.inner.place_of(slot_of(record.key.as_bytes())));
            let read = self.inner.record(&record.key, self.inner.left_since(self.begun)).await;
            self.note(leave, read.as_ref().err());
            match read {
                Ok(Some(record)) => return retold(&record).map(Look::Retold),
                Ok(None) => {}
                Err(LinkError::TimedOut) => late = Some(LinkError::TimedOut),
                Err(error) => return Err(error.into()),
            }
        }
        let mut seen = Vec::with_capacity(asked.len());
        for (at, pending) in asked.iter_mut().enumerate() {
            let leave = leave_of(self.inner.place_of(self.apart.groups[at].slot));
            let (told, is_late) = self.told(pending, leave).await;
            if is_late {
                late = Some(LinkError::TimedOut);
            }
            let group = &self.apart.groups[at];
            match checked(told) {
                Ok(told) => {
                    let told = group.in_the_whole(told);
                    for (key, micros) in group.looked_at(&told) {
                        self.inner.hear_of(key, micros, told.now_micros);
                    }
                    seen.push(told);
                }
                Err(_) if is_late => {}
                Err(error) => return Err(error),
            }
        }
        match late {
            Some(error) => Err(error.into()),
            None => Ok(Look::Seen(seen)),
        }
    }

    /// Charges group after group. What is charged by then is in `paid`, however it ends.
    async fn hold_all(&mut self, mut seen: Vec<Checked>, paid: &mut Paid) -> Result<Checked, AskError> {
        let mut admitted = Vec::with_capacity(seen.len());
        for at in 0..seen.len() {
            let told = self.hold(at).await?;
            let group = &self.apart.groups[at];
            let told = group.in_the_whole(told);
            if !told.is_admitted() {
                // Of the others, what the look has shown.
                seen[at] = told;
                return Ok(joined(&self.apart.groups, seen));
            }
            paid.held.extend(release::held(group, &told));
            admitted.push(told);
        }
        let whole = joined(&self.apart.groups, admitted);
        let Some(record) = &self.apart.record else { return Ok(whole) };
        self.refuse_if_late()?;
        let text = record::text(&whole, &record.note);
        match self.inner.put_record(&record.key, b"", &text, record.milliseconds).await {
            Ok((_, true)) => Ok(whole),
            Ok((other, false)) => retold(&other),
            Err(error) => {
                if error.may_be_done() {
                    // A retry may be told that it was charged, so it stays charged.
                    paid.held.clear();
                    paid.stands = Some(whole);
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
        let keys = group.keys();
        let unanswered = Unanswered::new(&self.inner, group.costs());
        let mut pending = match self.inner.coalescer.submit(&keys, add) {
            Ok(pending) => pending,
            Err(error) => {
                unanswered.not_done();
                return Err(error);
            }
        };
        let told = checked(self.told(&mut pending, Some(leave)).await.0);
        match &told {
            Ok(checked) => unanswered.replied(checked, |at| keys.get(at)),
            Err(error) if !may_be_done(error) => unanswered.not_done(),
            Err(_) => drop(unanswered),
        }
        told
    }

    /// The reply, and whether the caller was answered without it. The node's breaker is told of both.
    async fn told(&mut self, pending: &mut Pending, leave: Option<Leave>) -> (Result<Told, LinkError>, bool) {
        let in_time = tokio::select! {
            biased;
            told = &mut *pending => Some(told),
            () = self.answer.closed() => None,
        };
        let is_late = in_time.is_none();
        // A caller that left earlier says nothing about the store.
        if let Some(leave) = leave.as_ref().filter(|_| is_late && self.is_over()) {
            self.inner.gate.overdue(leave, self.inner.clock.now());
        }
        let told = match in_time {
            Some(told) => told,
            None => pending.await,
        };
        self.note(leave, told.as_ref().err());
        (told, is_late)
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

/// Whether an admission that came too late may be given back: nobody has relied on it, and nobody will.
async fn is_undone(inner: &Inner, record: Option<&Record>, checked: &Checked) -> bool {
    let Some(record) = record else { return true };
    // Of a check that is charged once, a retry may have been told by now. A reservation nobody will settle.
    record.is_reservation && {
        let text = record::text(checked, &record.note);
        matches!(inner.take_record(&record.key, &text).await, Ok(true))
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
    record::read(record).ok_or_else(|| LinkError::Server(KeyFault::UnknownState.into()).into())
}
