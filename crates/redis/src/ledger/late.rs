//! Answers that come after their deadline (F1): the node has decided by itself meanwhile, and the store has charged all the same.
//!
//! What the store has charged is counted once: a local bucket takes so much less out of the store at its return, and learns what the
//! store held; where there is no such bucket, or the check was refused, the charge is let go by its receipt. Bounded: what
//! finds no room stands as the store has charged it, which denies more and admits nothing more.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tollgate::ledger::{Answer, Manner};
use tollgate::policy::OnStoreFailure;
use tollgate_core::{Cost, Moment, Tokens};

use super::Inner;
use super::ready::{Ready, ReadyCharge};
use crate::{Batch, BucketTold, Checked, Pending, Told};

/// Most answers that are waited for after their deadline.
const LATE_MAX: usize = 8_192;
/// How long the store may take to let go: nobody waits.
const WITHIN: Duration = Duration::from_secs(1);

/// The answer to a question that has missed its deadline, and when the question was sent.
#[derive(Debug, Default)]
pub(super) struct Late(Mutex<Option<(Pending, Moment)>>);

impl Late {
    pub(super) fn put(&self, pending: Pending, sent: Moment) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((pending, sent));
    }

    fn take(&self) -> Option<(Pending, Moment)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// How many answers are waited for.
#[derive(Debug, Default)]
pub(super) struct Latecomers(AtomicUsize);

impl Inner {
    /// Waits for the answer to a question that was answered by this node instead.
    pub(super) fn follow(self: &Arc<Self>, ready: &Ready, manner: &Manner, instead: &Answer) {
        let Some((late, sent)) = ready.late.take().filter(|_| *manner != Manner::Peek) else { return };
        if self.latecomers.0.fetch_add(1, Ordering::Relaxed) >= LATE_MAX {
            self.latecomers.0.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let was_admitted = matches!(instead, Answer::Decided { verdict, .. } if verdict.is_admitted());
        let (inner, charges) = (Arc::clone(self), ready.charges.clone());
        tokio::spawn(async move {
            let ready = Ready { charges, is_agreed: true, late: Late::default() };
            if let Ok(Told::Checked(checked)) = late.await {
                inner.counters.late.add(1);
                inner.reconcile(&ready, &checked, sent, was_admitted).await;
            }
            inner.latecomers.0.fetch_sub(1, Ordering::Relaxed);
        });
    }

    async fn reconcile(&self, ready: &Ready, checked: &Checked, sent: Moment, was_admitted: bool) {
        self.denials.note(ready, checked, sent);
        let mut let_go = Vec::new();
        for bucket in &checked.buckets {
            let members = || bucket.members.iter().filter_map(|at| ready.charges.get(at));
            let Some(charge) = members().next() else { continue };
            let cost = members().skip(1).fold(charge.cost, |sum, member| sum.plus(member.cost));
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
        for (charge, bucket, cost) in let_go {
            self.let_go(charge, bucket, cost).await;
        }
    }

    async fn let_go(&self, charge: &ReadyCharge, bucket: &BucketTold, cost: Cost) {
        let Some(limit) = charge.limit.clone() else { return };
        let (key, receipt) = (charge.key.clone(), limit.on_probation(cost, bucket.receipt));
        let add = move |batch: &mut Batch| batch.let_go(key.clone(), &limit, cost, receipt);
        if let Ok(mut pending) = self.coalescer.submit(std::slice::from_ref(&charge.key), add) {
            let _ = pending.within(WITHIN).await;
        }
    }
}
