//! Replies that come after their deadline (F1): the node has decided by itself meanwhile, and the store has charged all the same.
//!
//! Checks that were decided by what the last reply proves are reconciled in `late_checks`; this file reconciles those that a share has decided. What the store has charged is counted once: a local bucket takes so much less out of the store at its return, and learns what the
//! store held; where there is no such bucket, or the check was refused, the charge is let go by its receipt. Bounded: what
//! finds no room stands as the store has charged it, which denies more and admits nothing more.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tollgate::ReservationId;
use tollgate::ledger::{Answer, Manner, TrueCosts};
use tollgate::policy::OnStoreFailure;
use tollgate_core::{Cost, Moment, Tokens};

use super::gate::Leave;
use super::proofs::Unanswered;
use super::ready::{Ready, ReadyCharge};
use super::{Inner, checked_of, may_be_done};
use crate::{Batch, BucketTold, Checked, Pending, Told};

/// Most answers that are waited for after their deadline.
const LATE_MAX: usize = 8_192;
/// How long the store may take to let go: nobody waits.
const WITHIN: Duration = Duration::from_secs(1);

/// The reply to a question that has missed its deadline.
#[derive(Debug)]
pub(super) struct LateReply {
    pub(super) pending: Pending,
    /// When the question was sent.
    pub(super) sent: Moment,
    /// Whose breaker is to be told of the reply.
    pub(super) leave: Option<Leave>,
    /// Of a question that charges.
    pub(super) unanswered: Option<Unanswered>,
}

/// Receives the admission of a check over several slots that stays charged in the store without the caller's knowledge; an error if there
/// is none.
pub(super) type Standing = oneshot::Receiver<Checked>;

/// Where a reply is put aside that is late.
#[derive(Debug, Default)]
pub(super) struct Late {
    reply: Mutex<Option<LateReply>>,
    standing: Mutex<Option<Standing>>,
}

impl Late {
    pub(super) fn put(&self, late: LateReply) {
        *locked(&self.reply) = Some(late);
    }

    pub(super) fn put_standing(&self, standing: Standing) {
        *locked(&self.standing) = Some(standing);
    }

    pub(super) fn is_put(&self) -> bool {
        locked(&self.reply).is_some() || locked(&self.standing).is_some()
    }

    pub(super) fn take(&self) -> Option<LateReply> {
        locked(&self.reply).take()
    }

    pub(super) fn take_standing(&self) -> Option<Standing> {
        locked(&self.standing).take()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many replies are waited for after their deadline.
#[derive(Debug, Default)]
pub(super) struct Latecomers(AtomicUsize);

/// Room for one of them. Given back when it is dropped.
pub(super) struct Room(Arc<Inner>);

impl Drop for Room {
    fn drop(&mut self) {
        self.0.latecomers.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Inner {
    /// Room to wait for one more late reply; `None` if [`LATE_MAX`] are waited for.
    pub(super) fn room_for_late(self: &Arc<Self>) -> Option<Room> {
        let room = Room(Arc::clone(self));
        (self.latecomers.0.fetch_add(1, Ordering::Relaxed) < LATE_MAX).then_some(room)
    }

    /// Waits for the reply to a question that was decided by this node's share instead.
    pub(super) fn follow(self: &Arc<Self>, ready: &Ready, manner: &Manner, instead: &Answer) {
        if let Some(standing) = ready.late.take_standing() {
            return self.follow_standing(ready, manner, instead, standing);
        }
        let Some(late) = ready.late.take().filter(|_| *manner != Manner::Peek) else { return };
        let Some(room) = self.room_for_late() else { return };
        let was_admitted = instead.is_admitted();
        let (inner, ready, reserved) = (Arc::clone(self), ready.again(), reserved_by(manner));
        tokio::spawn(async move {
            let LateReply { pending, sent, leave, unanswered } = late;
            let asked = checked_of(pending.await);
            inner.tell_gate(leave, asked.as_ref().err());
            match (asked, reserved) {
                (Ok(checked), reserved) => {
                    inner.counters.late.add(1);
                    if let Some(unanswered) = unanswered {
                        unanswered.replied(&checked, |at| ready.key_of(at));
                    }
                    inner.reconcile(&ready, &checked, sent, was_admitted, reserved).await;
                }
                (Err(error), Some(id)) if may_be_done(&error) => {
                    inner.settle_late_record(id, &TrueCosts::Nothing).await;
                }
                (Err(_), Some(id)) => inner.locals.is_only_here(id),
                (Err(_), None) => {}
            }
            drop(room);
        });
    }

    /// Waits for the reply to a check over several slots that was decided by this node's share instead.
    fn follow_standing(
        self: &Arc<Self>,
        ready: &Ready,
        manner: &Manner,
        instead: &Answer,
        standing: Standing,
    ) {
        let Some(room) = self.room_for_late() else { return };
        let was_admitted = instead.is_admitted();
        let (inner, ready, reserved) = (Arc::clone(self), ready.again(), reserved_by(manner));
        tokio::spawn(async move {
            let sent = inner.clock.now();
            match (standing.await, reserved) {
                (Ok(checked), reserved) => {
                    inner.reconcile(&ready, &checked, sent, was_admitted, reserved).await;
                }
                (Err(_), Some(id)) => inner.locals.is_only_here(id),
                (Err(_), None) => {}
            }
            drop(room);
        });
    }

    async fn reconcile(
        self: &Arc<Self>,
        ready: &Ready,
        checked: &Checked,
        sent: Moment,
        was_admitted: bool,
        reserved: Option<ReservationId>,
    ) {
        self.denials.note(ready, checked, sent);
        let mut let_go = Vec::new();
        for bucket in &checked.buckets {
            let Some((charge, cost)) = charged_by(ready, bucket) else { continue };
            let charged = checked.is_admitted().then_some(cost);
            let is_local = charge.on_failure == OnStoreFailure::Local;
            let before = bucket.balance.saturating_add_unsigned(charged.map_or(0, Cost::as_micros));
            let before = Tokens::from_micros(before.max(0).unsigned_abs());
            if is_local && self.locals.store_answered(&charge.key, before, charged, self.clock.now()) {
                continue;
            }
            // A rule that is `open` has let it through, and the store has charged it: as it should be.
            if charged.is_some() && (is_local || !was_admitted) {
                let_go.push((charge, bucket, cost));
            }
        }
        if let Some(id) = reserved {
            let is_let_go = |at: usize| let_go.iter().any(|(_, bucket, _)| bucket.members.contains(at));
            let costs = ready.charges.iter().enumerate();
            let costs =
                costs.map(|(at, charge)| if is_let_go(at) { Cost::micros(0) } else { charge.cost }).collect();
            return self.forget_late_record(id, checked, TrueCosts::Each(costs)).await;
        }
        for (charge, bucket, cost) in let_go {
            self.let_go(charge, bucket, cost).await;
        }
    }

    /// Removes the record that the store made late of a reservation which this instance has decided, and leaves `costs`
    /// charged there.
    pub(super) async fn forget_late_record(
        self: &Arc<Self>,
        id: ReservationId,
        checked: &Checked,
        costs: TrueCosts,
    ) {
        if checked.is_admitted() {
            self.settle_late_record(id, &costs).await;
        } else {
            self.locals.is_only_here(id);
        }
    }

    /// Gives back what the store has charged for a check that was denied.
    pub(super) async fn let_all_go(&self, ready: &Ready, checked: &Checked) {
        for bucket in &checked.buckets {
            if let Some((charge, cost)) = charged_by(ready, bucket) {
                self.let_go(charge, bucket, cost).await;
            }
        }
    }

    async fn let_go(&self, charge: &ReadyCharge, bucket: &BucketTold, cost: Cost) {
        let Some(limit) = charge.limit.clone() else { return };
        let (key, receipt) = (charge.key.clone(), limit.on_probation(cost, bucket.receipt));
        let add = move |batch: &mut Batch| batch.let_go(key.clone(), &limit, cost, receipt);
        if let Ok(mut pending) = self.coalescer.submit(std::slice::from_ref(&charge.key), add)
            && let Ok(Told::Changed { changed, now_micros }) = pending.within(WITHIN).await
        {
            self.denials.forget(&charge.key);
            self.hear_of(&charge.key, changed.after, now_micros);
        }
    }
}

/// The reservation that a check makes.
pub(super) fn reserved_by(manner: &Manner) -> Option<ReservationId> {
    match manner {
        Manner::Reserve { id, .. } => Some(*id),
        Manner::Check | Manner::Peek | Manner::Once { .. } => None,
    }
}

/// The first charge that a bucket of a reply was charged by, and what all of them cost.
fn charged_by<'r>(ready: &'r Ready, bucket: &BucketTold) -> Option<(&'r ReadyCharge, Cost)> {
    let members = || bucket.members.iter().filter_map(|at| ready.charges.get(at));
    let charge = members().next()?;
    Some((charge, members().skip(1).fold(charge.cost, |sum, member| sum.plus(member.cost))))
}
