//! Checks whose reply is late while the store is reachable (F1): decided by what the last replies prove, and reconciled when the reply comes.
//!
//! ```text
//!   decided here   the store's reply    then
//!   admitted       admitted             nothing: it is charged
//!   admitted       denied               charged afterwards, into debt
//!   denied         admitted             let go by its receipt
//!   denied         was not sent yet     withdrawn
//!   admitted       was never asked      charged afterwards (leases, several slots)
//!   admitted       keeps its record     nothing: it is charged (several slots, charged once)
//!   admitted       an error: not done   charged afterwards
//! ```
//! The bucket stays the store's: no shares, no settling. Nothing is proven of a bucket without a reply, and of places, which cannot be charged
//! afterwards. A reservation is settled by this instance alone: the store's late record of it is settled when the reply
//! comes.
//! Bounded: a check is denied if there is no room to wait for its reply.

use std::sync::Arc;
use std::time::Duration;

use tollgate::ledger::{Answer, Manner, TrueCosts};
use tollgate::policy::OnStoreFailure;
use tollgate::{StoreMode, Verdict};
use tollgate_core::{Algorithm, BucketSet, Cost, LocalShare, Moment, Span, Tokens};

use super::fallback::CLOSED_WAIT;
use super::late::{LateReply, Room, Standing, reserved_by};
use super::locals::{Said, Seen, is_local};
use super::proofs::Unanswered;
use super::ready::{Ready, ReadyCharge};
use super::{Inner, checked_of, may_be_done};
use crate::{AskError, Batch, Checked, SharedLimit, Told};

/// Pause before a charge is sent again that was certainly not done.
pub(super) const PAUSE: Duration = Duration::from_millis(20);
/// Maximum number of times that one charge is sent before it is left to the bucket's way back.
pub(super) const TRIES_MAX: usize = 16;

impl Inner {
    /// Decides a check that has no reply by the deadline: by what is proven, or by shares if the store is unreachable.
    pub(super) fn decide_without_reply(self: &Arc<Self>, ready: &Ready, manner: &Manner) -> Answer {
        // A store that never replied is not late.
        let was_reached = self.coalescer.link().counts().connects > 0;
        let is_closed = |charge: &ReadyCharge| self.gate.is_closed(self.place_of_key(&charge.key));
        if was_reached && ready.charges.iter().all(is_closed) {
            self.decide_by_proof(ready, manner)
        } else {
            self.fall_back(ready, manner)
        }
    }

    fn decide_by_proof(self: &Arc<Self>, ready: &Ready, manner: &Manner) -> Answer {
        self.note_fallback(ready, manner, "late");
        let (late, standing) = (ready.late.take(), ready.late.take_standing());
        let room = self.room_for_late();
        if *manner == Manner::Peek {
            self.reconcile_later(ready, manner, late, room);
            return self.proven_answer(ready, false);
        }
        let (late, unanswered) = match late {
            Some(LateReply { unanswered: Some(unanswered), pending, sent, leave }) => {
                (Some(LateReply { unanswered: None, pending, sent, leave }), unanswered)
            }
            // The store was not asked, or about slices: what is admitted is charged like a call under way.
            late => (late, Unanswered::check(self, ready)),
        };
        let mut answer =
            if room.is_some() { self.proven_answer(ready, true) } else { self.nothing_proven(ready) };
        if let Manner::Reserve { id, timeout } = manner
            && answer.is_admitted()
            && !self.locals.note_reserved(
                ready,
                (*id, *timeout),
                late.is_some() || standing.is_some(),
                self.clock.now(),
            )
        {
            answer = self.nothing_proven(ready);
        }
        let is_admitted = answer.is_admitted();
        // A check that is denied here costs nothing in the end: what the store charges for it is given back.
        let unanswered = if is_admitted {
            Some(unanswered)
        } else {
            unanswered.not_done();
            None
        };
        match (late, unanswered) {
            (Some(late), unanswered) => {
                if !is_admitted {
                    late.pending.withdraw();
                }
                let late = LateReply { unanswered, ..late };
                self.reconcile_later(ready, manner, Some(late), room);
            }
            (None, unanswered) => self.charge_later(ready, manner, standing, unanswered, room),
        }
        answer
    }

    /// Charges a check that was admitted here and has no reply to come, unless the store keeps it charged as a check over several slots.
    fn charge_later(
        self: &Arc<Self>,
        ready: &Ready,
        manner: &Manner,
        standing: Option<Standing>,
        admitted: Option<Unanswered>,
        room: Option<Room>,
    ) {
        let Some(room) = room.filter(|_| standing.is_some() || admitted.is_some()) else { return };
        let (inner, ready, reserved) = (Arc::clone(self), ready.again(), reserved_by(manner));
        tokio::spawn(async move {
            let stands = match standing {
                Some(standing) => standing.await.is_ok(),
                None => false,
            };
            match (admitted, reserved) {
                (admitted, Some(id)) if stands => {
                    let costs = if admitted.is_some() { estimates(&ready) } else { TrueCosts::Nothing };
                    if let Some(unanswered) = admitted {
                        unanswered.not_done();
                    }
                    inner.settle_late_record(id, &costs).await;
                }
                (Some(unanswered), None) if stands => unanswered.not_done(),
                (Some(unanswered), reserved) => {
                    if let Some(id) = reserved {
                        inner.locals.is_only_here(id);
                    }
                    inner.charge_afterwards(&ready, unanswered).await;
                }
                (None, _) => {}
            }
            drop(room);
        });
    }

    /// Decides by the balances that the last replies prove. If the check `is_under_way`, its own costs are among those without a reply.
    fn proven_answer(&self, ready: &Ready, is_under_way: bool) -> Answer {
        if ready.charges.iter().any(|charge| charge.on_failure == OnStoreFailure::Closed) {
            return Answer::Unavailable { wait: CLOSED_WAIT };
        }
        let (now, instances) = (self.clock.now(), self.instances());
        let mut seen = Seen::by_share_of(instances);
        let mut never = BucketSet::EMPTY;
        for (at, charge) in ready.charges.iter().enumerate() {
            if !is_local(charge) {
                seen.add_silent(charge.alone.full());
                continue;
            }
            let same = ready.charges.iter().filter(|other| other.key == charge.key);
            let cost = same.fold(Cost::micros(0), |sum, same| sum.plus(same.cost));
            if cost.as_micros() > charge.alone.full().as_micros() {
                never.insert(at);
            }
            let under_way = if is_under_way { cost } else { Cost::micros(0) };
            let proven = self.proven(charge, under_way, instances, now);
            let (said, time_to_full) = self.said(charge, cost, proven, instances);
            seen.add(said, time_to_full);
        }
        let (verdict, buckets) = seen.verdict();
        let verdict = if never == BucketSet::EMPTY { verdict } else { Verdict::Never { denied: never } };
        Answer::Decided { verdict, buckets, mode: StoreMode::Fallback }
    }

    /// Micro-tokens that are proven of a bucket; of places nothing is.
    fn proven(&self, charge: &ReadyCharge, under_way: Cost, instances: u32, now: Moment) -> Option<i64> {
        if matches!(charge.alone, Algorithm::Concurrency(_)) {
            return None;
        }
        let proven = self.proofs.micros(charge, instances, now)?;
        Some(proven.saturating_add_unsigned(under_way.as_micros()))
    }

    /// The verdict of one bucket by its proven balance, and the time until it is full by this instance's share.
    fn said(&self, charge: &ReadyCharge, cost: Cost, proven: Option<i64>, instances: u32) -> (Said, Span) {
        let share = match &charge.alone {
            Algorithm::TokenBucket(limit) => LocalShare::new(limit, instances).ok(),
            _ => None,
        };
        let time_to = |missing: u64| {
            share.map_or(Span::ZERO, |share| share.limit().time_to_mint(Tokens::from_micros(missing)))
        };
        // A queue admits a check once this much of it is free.
        let least = match &charge.alone {
            Algorithm::LeakyBucket(leaky) => leaky.least().as_micros(),
            _ => 0,
        };
        let held = Tokens::from_micros(proven.unwrap_or(0).max(0).unsigned_abs());
        let full_in = time_to(charge.alone.full().as_micros().saturating_sub(held.as_micros()));
        let settings = self.settings.load();
        let need = cost.as_micros().max(least);
        let missing = i128::from(need) - i128::from(proven.unwrap_or(0));
        match u64::try_from(missing) {
            Ok(missing) if proven.is_none() || missing > 0 => {
                // By then the reply has come, or the store is unreachable.
                let most = settings.away_after.max(settings.deadline);
                let wait = if proven.is_none() { settings.deadline } else { time_to(missing) };
                let remaining = held.min(Tokens::from_micros(cost.as_micros().saturating_sub(1)));
                (Said::Deny { wait: wait.clamp(settings.deadline, most), remaining }, full_in)
            }
            _ => {
                let micros = self.origin.saturating_add(self.clock.now().as_nanos()) / 1_000;
                let delay = |limit: &SharedLimit| limit.delay(proven.unwrap_or(0), micros, 0);
                let delay = charge.limit.as_ref().map_or(Span::ZERO, delay);
                let left = held.as_micros().saturating_sub(cost.as_micros());
                let remaining = Tokens::from_micros(if left >= least { left } else { 0 });
                (Said::Admit { remaining, delay }, full_in)
            }
        }
    }

    /// The answer where there is no room to wait for the reply: as if nothing were proven.
    fn nothing_proven(&self, ready: &Ready) -> Answer {
        if ready.charges.iter().any(|charge| charge.on_failure == OnStoreFailure::Closed) {
            return Answer::Unavailable { wait: CLOSED_WAIT };
        }
        let instances = self.instances();
        let mut seen = Seen::by_share_of(instances);
        for charge in &ready.charges {
            if is_local(charge) {
                let (said, time_to_full) = self.said(charge, charge.cost, None, instances);
                seen.add(said, time_to_full);
            } else {
                seen.add_silent(charge.alone.full());
            }
        }
        let (verdict, buckets) = seen.verdict();
        Answer::Decided { verdict, buckets, mode: StoreMode::Fallback }
    }

    /// Waits for a late reply without the caller, and makes the store agree with what was decided here: of an admission its costs are still noted as
    /// unanswered.
    fn reconcile_later(
        self: &Arc<Self>,
        ready: &Ready,
        manner: &Manner,
        late: Option<LateReply>,
        room: Option<Room>,
    ) {
        let (Some(late), Some(room)) = (late, room) else { return };
        let (inner, ready) = (Arc::clone(self), ready.again());
        let (manner, is_peek) = (manner.clone(), *manner == Manner::Peek);
        tokio::spawn(async move {
            let LateReply { pending, sent, leave, unanswered } = late;
            let asked = checked_of(pending.await);
            inner.tell_gate(leave, asked.as_ref().err());
            inner.counters.late.add(u64::from(asked.is_ok()));
            if !is_peek {
                inner.reconcile_proven(&ready, asked, sent, unanswered, &manner).await;
            }
            drop(room);
        });
    }

    async fn reconcile_proven(
        self: &Arc<Self>,
        ready: &Ready,
        asked: Result<Checked, AskError>,
        sent: Moment,
        admitted: Option<Unanswered>,
        manner: &Manner,
    ) {
        let reserved = reserved_by(manner);
        match (asked, admitted) {
            (Ok(checked), Some(unanswered)) => {
                self.denials.note(ready, &checked, sent);
                let charge = (!checked.is_admitted()).then(|| Unanswered::check(self, ready));
                unanswered.replied(&checked, |at| ready.key_of(at));
                if let Some(id) = reserved {
                    self.forget_late_record(id, &checked, estimates(ready)).await;
                }
                if let Some(charge) = charge {
                    self.charge_afterwards(ready, charge).await;
                }
            }
            (Ok(checked), None) => {
                self.denials.note(ready, &checked, sent);
                self.hear(ready, &checked);
                match reserved {
                    Some(id) => self.forget_late_record(id, &checked, TrueCosts::Nothing).await,
                    // The record of a check that is charged once tells its retry that it was admitted, so it stays
                    // charged.
                    None if checked.is_admitted() && !matches!(manner, Manner::Once { .. }) => {
                        self.let_all_go(ready, &checked).await;
                    }
                    None => {}
                }
            }
            // A call that may have been done counts as charged.
            (Err(error), Some(unanswered)) if may_be_done(&error) => {
                drop(unanswered);
                if let Some(id) = reserved {
                    self.settle_late_record(id, &estimates(ready)).await;
                }
            }
            (Err(_), Some(unanswered)) => {
                if let Some(id) = reserved {
                    self.locals.is_only_here(id);
                }
                self.charge_afterwards(ready, unanswered).await;
            }
            (Err(_), None) => {}
        }
    }

    /// Charges the buckets of `local` rules for a check that was admitted here and not in the store, into debt if need
    /// be. If the store does not take a charge, this instance keeps the bucket by its share and charges it at the
    /// return.
    async fn charge_afterwards(self: &Arc<Self>, ready: &Ready, mut unanswered: Unanswered) {
        for (at, charge) in ready.charges.iter().enumerate().filter(|(_, charge)| is_local(charge)) {
            let (Some(cost), Some(limit)) = (ready.cost_from(at), charge.limit.as_ref()) else { continue };
            let of_bucket = unanswered.take_apart(&charge.key);
            self.charge_one(charge, limit, cost, of_bucket).await;
        }
        // Of rules that are `open`.
        unanswered.not_done();
    }

    async fn charge_one(
        self: &Arc<Self>,
        charge: &ReadyCharge,
        limit: &SharedLimit,
        cost: Cost,
        unanswered: Option<Unanswered>,
    ) {
        for _ in 0..TRIES_MAX {
            let (key, limit) = (charge.key.clone(), limit.clone());
            // Every instance may have admitted a burst by an old reply.
            let full = charge.algorithm.full().as_micros();
            let debt_max = Tokens::from_micros(full.saturating_mul(self.instances().into()));
            let add = move |batch: &mut Batch| batch.take(key.clone(), &limit, cost, debt_max);
            let told = match self.coalescer.submit(std::slice::from_ref(&charge.key), add) {
                Ok(pending) => pending.await.map_err(AskError::from),
                Err(error) => Err(error),
            };
            match told {
                Ok(Told::Changed { changed, now_micros }) => {
                    self.counters.late_charges.add(1);
                    if let Some(unanswered) = unanswered {
                        unanswered.replied_with(changed.after, now_micros);
                    }
                    return;
                }
                Err(error) if !may_be_done(&error) => {}
                // It may be done, or the key holds no bucket.
                _ => return,
            }
            if !self.gate.is_closed(self.place_of_key(&charge.key)) {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        self.owe_locally(charge, cost);
    }
}

/// All charges as they were asked for.
fn estimates(ready: &Ready) -> TrueCosts {
    TrueCosts::Each(ready.charges.iter().map(|charge| charge.cost).collect())
}
