//! Buckets that this node keeps by its share while the store does not answer (F1): 1 part in as many as there are instances, rounded down.
//!
//! Bounded: a bucket that is full makes room (S1), and whoever finds none is denied. Every algorithm is kept by core's own arithmetic. Token buckets go back into the store by
//! [`tollgate_core::LocalBucket`]'s protocol; others are told to the store when it is back, and then asked there: so an outage lets
//! through at most one share of each window more ([decision 0022](../../../../docs/decisions/0022-local-mode.md)).

mod local;
mod other_bucket;
mod reserved;
mod seen;
mod settling;
mod turns;
mod way_back;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tollgate::ledger::{BucketState, Manner};
use tollgate::policy::{self, OnStoreFailure};
use tollgate::{CheckError, Verdict};
use tollgate_core::{Algorithm, Cost, Generation, LocalStart, Moment, Span, Tokens};

use self::local::{Local, Said, Terms};
use self::reserved::{HeldCharge, Open, Reserved};
use self::seen::{Seen, crowded};
use self::turns::Turns;
use super::Inner;
use super::ready::{Ready, ReadyCharge};
use crate::KeyName;

/// Most buckets that a node keeps by its share.
pub(super) const LOCALS_MAX: usize = 100_000;
/// Most entries of all sliding logs among them; about 24 bytes each.
const LOG_ENTRIES_ALL_MAX: usize = 1_000_000;

/// Buckets of this node alone.
#[derive(Debug, Default)]
pub(super) struct Locals {
    table: Mutex<Table>,
    /// How many there are, for whoever only wants to know whether there are any.
    count: AtomicUsize,
    /// Whether somebody brings them back.
    is_bringing: AtomicBool,
    /// Wakes whoever does so: somebody asks while the store answers.
    woken: Notify,
}

#[derive(Debug, Default)]
struct Table {
    buckets: HashMap<KeyName, Local>,
    turns: Turns,
    reserved: Reserved,
    /// Entries of logs, about: those that are over are counted until their log is charged again, or goes.
    log_entries: usize,
}

/// Which buckets may have a say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// Those that are kept here, and others, which begin with a share.
    OrBegun,
    /// Only if one of them is kept here.
    Already,
}

/// What this node's shares say.
#[derive(Debug)]
pub(super) enum Locally {
    /// The verdict, and of each charge how it stands.
    Said(Verdict, Vec<BucketState>),
    /// None of the rules is `local`.
    NoSay,
    /// None of the buckets is kept here any more.
    Gone,
}

impl Locals {
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether a bucket of the question is kept here.
    pub(super) fn hold_any(&self, ready: &Ready) -> bool {
        self.len() > 0 && {
            let table = self.lock();
            ready.charges.iter().any(|charge| table.buckets.contains_key(&charge.key))
        }
    }

    /// The store said late what a bucket had held, and what it has charged; whether that is settled thereby.
    pub(super) fn store_answered(
        &self,
        key: &KeyName,
        before: Tokens,
        charged: Option<Cost>,
        now: Moment,
    ) -> bool {
        self.len() > 0
            && self
                .lock()
                .buckets
                .get_mut(key)
                .is_some_and(|local| local.store_answered(before, charged, now))
    }

    /// Forgets a bucket that was filled in the store, and what it has spent.
    pub(super) fn forget(&self, key: &KeyName) {
        if self.len() > 0 {
            let mut table = self.lock();
            table.buckets.remove(key);
            self.count(&table);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, table: &Table) {
        self.count.store(table.buckets.len(), Ordering::Relaxed);
    }
}

impl Inner {
    /// Whether a bucket of the question is kept here. If the store answers, those go back before others: somebody asks.
    pub(super) fn keeps_any(&self, ready: &Ready) -> bool {
        if !self.locals.hold_any(ready) {
            return false;
        }
        if self.gate.is_closed(self.place(ready)) {
            let mut table = self.locals.lock();
            let mut is_new = false;
            for charge in &ready.charges {
                is_new |= table.want(&charge.key);
            }
            drop(table);
            if is_new {
                self.locals.woken.notify_one();
            }
        }
        true
    }

    /// What this node's shares say.
    pub(super) fn decide_locally(self: &Arc<Self>, ready: &Ready, manner: &Manner, kept: Kept) -> Locally {
        if !ready.charges.iter().any(is_local) {
            return Locally::NoSay;
        }
        if let Some(at) = unguarded(ready, manner) {
            return Locally::Said(Verdict::Invalid(CheckError::NeedsGuard { charge: at }), Vec::new());
        }
        let terms = self.local_terms();
        let mut table = self.locals.lock();
        if kept == Kept::Already
            && !ready.charges.iter().any(|charge| table.buckets.contains_key(&charge.key))
        {
            return Locally::Gone;
        }
        let (verdict, buckets) = self.decide_in(&mut table, ready, manner, terms);
        self.locals.count(&table);
        let is_idle = !table.buckets.is_empty() && !self.locals.is_bringing.swap(true, Ordering::AcqRel);
        drop(table);
        if is_idle {
            tokio::spawn(Arc::clone(self).bring_back());
        }
        Locally::Said(verdict, buckets)
    }

    fn local_terms(&self) -> Terms {
        let settings = self.settings.load();
        let start = match settings.local_start {
            policy::LocalStart::Full => LocalStart::Full,
            policy::LocalStart::Empty => LocalStart::Empty,
        };
        Terms { instances: self.instances(), start, origin: self.origin, now: self.clock.now() }
    }

    fn decide_in(
        &self,
        table: &mut Table,
        ready: &Ready,
        manner: &Manner,
        terms: Terms,
    ) -> (Verdict, Vec<BucketState>) {
        let (is_peek, now) = (matches!(manner, Manner::Peek), terms.now);
        let reserves = matches!(manner, Manner::Reserve { .. });
        if reserves && !table.reserved.has_room(now) {
            return crowded(0, ready.charges.len());
        }
        let mut seen = Seen::default();
        for (at, charge) in ready.charges.iter().enumerate() {
            if !is_local(charge) {
                seen.add_silent(charge.alone.full());
                continue;
            }
            // Charges to the same bucket are added up.
            let earlier = ready.charges.iter().take(at).filter(|earlier| earlier.key == charge.key);
            let cost = earlier.fold(charge.cost, |sum, earlier| sum.plus(earlier.cost));
            if let Some(local) = table.buckets.get_mut(&charge.key) {
                let is_kept = local.follow(&charge.alone, charge.rule.as_ref().map(|rule| rule.since), terms);
                let said = if is_kept { local.look(cost, now) } else { Said::BeyondShare };
                seen.add(said, local.time_to_full(now));
                continue;
            }
            if !table.make_room(now) || !table.has_room_for(&charge.alone) {
                return crowded(at, ready.charges.len());
            }
            let Some(local) = Local::enter(charge, self.last_held(&charge.key), terms) else {
                // A share that is too small to be a limit admits nobody.
                seen.add(Said::BeyondShare, Span::ZERO);
                continue;
            };
            seen.add(local.look(cost, now), local.time_to_full(now));
            if !is_peek {
                table.enter(charge.key.clone(), local);
            }
        }
        if seen.is_admitted() && !is_peek {
            let places = table.charge(ready, &mut seen, now);
            if let Manner::Reserve { id, timeout } = manner {
                let charges = ready.charges.iter().zip(places).map(held).collect();
                table.reserved.insert(*id, Open { until: now + *timeout, charges });
            }
        }
        seen.verdict()
    }
}

impl Table {
    /// Charges what was found good; of places, when each was taken.
    fn charge(&mut self, ready: &Ready, seen: &mut Seen, now: Moment) -> Vec<Option<Generation>> {
        let mut places = Vec::with_capacity(ready.charges.len());
        for (charge, state) in ready.charges.iter().zip(&mut seen.states) {
            let local = self.buckets.get_mut(&charge.key).filter(|_| is_local(charge));
            places.push(local.and_then(|local| {
                let before = local.entries();
                let place = local.charge(charge.cost, now);
                self.log_entries = (self.log_entries + local.entries()).saturating_sub(before);
                state.time_to_full = local.time_to_full(now);
                place
            }));
        }
        places
    }

    /// Whether the entries of another bucket have room.
    fn has_room_for(&mut self, algorithm: &Algorithm) -> bool {
        if !matches!(algorithm, Algorithm::SlidingLog(_)) || self.log_entries < LOG_ENTRIES_ALL_MAX {
            return true;
        }
        self.log_entries = self.buckets.values().map(Local::entries).sum();
        self.log_entries < LOG_ENTRIES_ALL_MAX
    }
}

fn is_local(charge: &ReadyCharge) -> bool {
    charge.on_failure == OnStoreFailure::Local
}

/// Places that nobody would give back.
fn unguarded(ready: &Ready, manner: &Manner) -> Option<usize> {
    let is_place = |charge: &ReadyCharge| matches!(charge.alone, Algorithm::Concurrency(_));
    let is_held = matches!(manner, Manner::Reserve { .. } | Manner::Peek);
    ready.charges.iter().position(is_place).filter(|_| !is_held)
}

fn held((charge, place): (&ReadyCharge, Option<Generation>)) -> HeldCharge {
    HeldCharge {
        key: charge.key.clone(),
        cost: charge.cost,
        place,
        is_charged: is_local(charge),
        limit: charge.limit.clone(),
        debt_max: charge.algorithm.full(),
    }
}
