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
use tollgate::ledger::{BucketState, Manner, RuleNumber};
use tollgate::policy::{self, OnStoreFailure};
use tollgate::{CheckError, ReservationId, Verdict};
use tollgate_core::{Algorithm, Cost, Generation, LocalStart, Moment, Span, Tokens};

pub(super) use self::local::Said;
use self::local::{Local, Terms};
use self::reserved::{HeldCharge, Open, Reserved};
pub(super) use self::seen::Seen;
use self::seen::crowded;
use self::turns::Turns;
use super::Inner;
use super::ready::{Ready, ReadyCharge};
use crate::KeyName;

/// Most buckets that a node keeps by its share.
pub(super) const LOCALS_MAX: usize = 100_000;
/// Most entries of all sliding logs among them; about 24 bytes each. Each rule with logs has an equal part, so that a flood of one
/// rule's logs denies no client of another.
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
    /// Entries of each rule's logs. Those that are over are counted until their log is charged again, or goes.
    log_entries: HashMap<RuleNumber, usize>,
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

    /// Notes a reservation that was made without the store's reply, so that this node settles it; `false` if there is
    /// no room. If the reply may still come, the store may have a record as well.
    pub(super) fn note_reserved(
        &self,
        ready: &Ready,
        (id, timeout): (ReservationId, Span),
        is_in_store: bool,
        now: Moment,
    ) -> bool {
        let mut table = self.lock();
        let has_room = table.reserved.has_room(now);
        if has_room {
            let charges = ready.charges.iter().map(|charge| held((charge, None))).collect();
            let open = Open { until: now + timeout, charges, is_in_store, is_settled: false };
            table.reserved.insert(id, open);
        }
        has_room
    }

    /// The store has no record of a reservation that this node has made, or none any more.
    pub(super) fn is_only_here(&self, id: ReservationId) {
        self.lock().reserved.is_only_here(id);
    }

    /// Forgets a bucket that was filled in the store, and what it has spent.
    pub(super) fn forget(&self, key: &KeyName) {
        if self.len() > 0 {
            let mut table = self.lock();
            table.remove(key);
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
        self.begin_bringing_back(&table);
        Locally::Said(verdict, buckets)
    }

    /// Keeps the bucket of a check here that was admitted without the store, and that the store did not charge, until
    /// it is charged there. Without room for the bucket, the charge is lost.
    pub(super) fn owe_locally(self: &Arc<Self>, charge: &ReadyCharge, cost: Cost) {
        let terms = self.local_terms();
        let mut table = self.locals.lock();
        if !table.buckets.contains_key(&charge.key) {
            if !table.make_room(charge, self.log_entries_max(), terms.now) {
                return;
            }
            let Some(local) = Local::enter(charge, self.last_held(charge), terms) else { return };
            table.enter(charge.key.clone(), local);
        }
        table.owe(&charge.key, cost, terms.now);
        self.begin_bringing_back(&table);
    }

    /// Counts the buckets, and begins to bring them back, unless that is under way.
    fn begin_bringing_back(self: &Arc<Self>, table: &Table) {
        self.locals.count(table);
        if !table.buckets.is_empty() && !self.locals.is_bringing.swap(true, Ordering::AcqRel) {
            tokio::spawn(Arc::clone(self).bring_back());
        }
    }

    /// Entries that all logs of one rule may have here: an equal part for each rule with logs.
    fn log_entries_max(&self) -> usize {
        (LOG_ENTRIES_ALL_MAX / self.rules.with_logs()).max(1)
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
        let log_entries_max = self.log_entries_max();
        let mut seen = Seen::by_share_of(terms.instances);
        for (at, charge) in ready.charges.iter().enumerate() {
            if !is_local(charge) {
                seen.add_silent(charge.alone.full());
                continue;
            }
            // Charges to the same bucket are added up.
            let earlier = ready.charges.iter().take(at).filter(|earlier| earlier.key == charge.key);
            let cost = earlier.fold(charge.cost, |sum, earlier| sum.plus(earlier.cost));
            let since = charge.rule.as_ref().map(|rule| rule.since);
            let kept = table.change(&charge.key, |local| {
                let is_kept = local.follow(&charge.alone, since, terms);
                let said = if is_kept { local.look(cost, now) } else { Said::BeyondShare };
                (said, local.time_to_full(now))
            });
            if let Some((said, time_to_full)) = kept {
                seen.add(said, time_to_full);
                continue;
            }
            if !table.make_room(charge, log_entries_max, now) {
                return crowded(at, ready.charges.len());
            }
            let Some(local) = Local::enter(charge, self.last_held(charge), terms) else {
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
            let places = table.charge(ready, &mut seen, log_entries_max, now);
            if let Manner::Reserve { id, timeout } = manner {
                let charges = ready.charges.iter().zip(places).map(held).collect();
                let is_in_store = ready.late.is_put();
                let open = Open { until: now + *timeout, charges, is_in_store, is_settled: false };
                table.reserved.insert(*id, open);
            }
        }
        seen.verdict()
    }
}

impl Table {
    /// Charges what was found good; of places, when each was taken.
    /// Where a rule's entries are used up, the two oldest charges of a log count as one: less is admitted, never more.
    fn charge(
        &mut self,
        ready: &Ready,
        seen: &mut Seen,
        log_entries_max: usize,
        now: Moment,
    ) -> Vec<Option<Generation>> {
        let mut places = Vec::with_capacity(ready.charges.len());
        for (charge, state) in ready.charges.iter().zip(&mut seen.states) {
            if !is_local(charge) {
                places.push(None);
                continue;
            }
            let is_used_up = self.log_entries_of(charge) >= log_entries_max;
            let place = self.change(&charge.key, |local| {
                let place = local.charge(charge.cost, now);
                if is_used_up {
                    local.merge_oldest();
                }
                state.time_to_full = local.time_to_full(now);
                place
            });
            places.push(place.flatten());
        }
        places
    }

    /// Changes a bucket that is kept here, and counts the entries of its log anew.
    fn change<T>(&mut self, key: &KeyName, change: impl FnOnce(&mut Local) -> T) -> Option<T> {
        let local = self.buckets.get_mut(key)?;
        let before = local.entries();
        let changed = change(local);
        let (rule, after) = (local.rule(), local.entries());
        self.count_entries(rule, before, after);
        Some(changed)
    }

    /// Forgets a bucket, with the entries of its log.
    fn remove(&mut self, key: &KeyName) -> Option<Local> {
        let local = self.buckets.remove(key)?;
        self.count_entries(local.rule(), local.entries(), 0);
        Some(local)
    }

    /// Counts a log of the rule that grew or shrank from `before` to `after` entries. A limit that came with the call has no log.
    fn count_entries(&mut self, rule: Option<RuleNumber>, before: usize, after: usize) {
        if let Some(rule) = rule.filter(|_| before != after) {
            let entries = self.log_entries.entry(rule).or_default();
            *entries = (*entries + after).saturating_sub(before);
        }
    }

    /// Charges what the store has not.
    fn owe(&mut self, key: &KeyName, cost: Cost, now: Moment) {
        self.change(key, |local| local.owes(cost, now));
    }

    /// Entries of all logs of the charge's rule.
    fn log_entries_of(&self, charge: &ReadyCharge) -> usize {
        let entries = charge.rule.as_ref().and_then(|rule| self.log_entries.get(&rule.number));
        entries.copied().unwrap_or(0)
    }

    /// Whether there is room for the bucket of a charge, and for its entries if it keeps a log.
    fn has_room(&self, charge: &ReadyCharge, log_entries_max: usize) -> bool {
        let has_log = matches!(charge.alone, Algorithm::SlidingLog(_));
        self.buckets.len() < LOCALS_MAX && (!has_log || self.log_entries_of(charge) < log_entries_max)
    }
}

pub(super) fn is_local(charge: &ReadyCharge) -> bool {
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
