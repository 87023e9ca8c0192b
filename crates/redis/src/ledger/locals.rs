//! Buckets that this node keeps by its share while the store does not answer, and their way back (PROTOCOLS.md 8).
//!
//! Bounded: whoever finds no room is denied. Token buckets go back into the store by [`LocalBucket`]'s protocol. Other algorithms have no
//! share: their rules have no say.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tollgate::ledger::BucketState;
use tollgate::policy::{self, OnStoreFailure};
use tollgate::{Cause, Verdict};
use tollgate_core::{
    BucketSet, Correction as LocalCorrection, Cost, Limit, LocalBucket, LocalDecision, LocalShare,
    LocalStart, Moment, Span, Tokens,
};

use super::Inner;
use super::ready::{Ready, ReadyCharge};
use super::rules::RuleEntry;
use crate::{Batch, KeyName, SharedLimit, Told};

/// Most buckets that a node keeps by its share.
pub(super) const LOCALS_MAX: usize = 100_000;
/// Whoever finds no room is to try again so much later.
const CROWDED_WAIT: Span = Span::from_secs(1);
/// How often buckets are looked after that are to go back.
const LOOK: Duration = Duration::from_millis(50);
/// How long the store may take for them: nobody waits.
const WITHIN: Duration = Duration::from_millis(250);
/// Most buckets that go back at a time.
const BACK_MAX: usize = 512;

/// Buckets of this node alone.
#[derive(Debug, Default)]
pub(super) struct Locals {
    buckets: Mutex<HashMap<KeyName, Local>>,
    /// How many there are, for whoever only wants to know whether there are any.
    count: AtomicUsize,
}

#[derive(Debug)]
struct Local {
    bucket: LocalBucket,
    share: LocalShare,
    limit: Limit,
    rule: Option<Arc<RuleEntry>>,
}

/// A bucket that is to go back.
struct Due {
    key: KeyName,
    rule: Option<Arc<RuleEntry>>,
    limit: Limit,
    back: Back,
}

/// What is to be done in the store for it.
enum Back {
    /// Its share goes into the node's hands.
    Take(Tokens),
    /// It has settled, and is the store's again.
    Last(LocalCorrection),
}

impl Locals {
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether a bucket of the question is kept here.
    pub(super) fn hold_any(&self, ready: &Ready) -> bool {
        self.len() > 0 && {
            let buckets = self.lock();
            ready.charges.iter().any(|charge| buckets.contains_key(&charge.key))
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<KeyName, Local>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// What this node's shares say, and of each charge how it stands; `None` if none of the rules is `local`.
    pub(super) fn decide_locally(
        self: &Arc<Self>,
        ready: &Ready,
        is_peek: bool,
    ) -> Option<(Verdict, Vec<BucketState>)> {
        let (settings, now) = (self.settings.load(), self.clock.now());
        let instances = settings.instances_max.unwrap_or(1);
        let start = match settings.local_start {
            policy::LocalStart::Full => LocalStart::Full,
            policy::LocalStart::Empty => LocalStart::Empty,
        };
        let is_local = |charge: &&ReadyCharge| charge.on_failure == OnStoreFailure::Local;
        if !ready.charges.iter().any(|charge| is_local(&charge)) {
            return None;
        }
        let mut buckets = self.locals.lock();
        let was_empty = buckets.is_empty();
        let mut seen = Seen::default();
        for (at, charge) in ready.charges.iter().enumerate() {
            let Some(limit) = charge.token_bucket().filter(|_| is_local(&charge)) else {
                seen.add(at, None, charge.algorithm.full());
                continue;
            };
            let Ok(share) = LocalShare::new(limit, instances) else {
                // A share that is too small to be a limit admits nobody.
                seen.add(at, Some(LocalDecision::BeyondShare), Tokens::ZERO);
                continue;
            };
            if let Some(local) = buckets.get(&charge.key) {
                seen.add(at, Some(local.bucket.look(&local.share, charge.cost, now)), Tokens::ZERO);
                continue;
            }
            if buckets.len() >= LOCALS_MAX {
                return Some(crowded(at, ready.charges.len()));
            }
            let bucket = LocalBucket::enter(&share, self.last_held(&charge.key), start, now);
            seen.add(at, Some(bucket.look(&share, charge.cost, now)), Tokens::ZERO);
            if !is_peek {
                let local = Local { bucket, share, limit: *limit, rule: charge.rule.clone() };
                buckets.insert(charge.key.clone(), local);
            }
        }
        if seen.is_admitted() && !is_peek {
            for charge in ready.charges.iter().filter(is_local) {
                if let Some(local) = buckets.get_mut(&charge.key) {
                    let _ = local.bucket.check(&local.share, charge.cost, now);
                }
            }
        }
        self.locals.count.store(buckets.len(), Ordering::Relaxed);
        let is_first = was_empty && !buckets.is_empty();
        drop(buckets);
        if is_first {
            tokio::spawn(Arc::clone(self).bring_back());
        }
        Some(seen.verdict())
    }

    /// Brings buckets back into the store until there are none.
    async fn bring_back(self: Arc<Self>) {
        while self.locals.len() > 0 {
            tokio::time::sleep(LOOK).await;
            self.bring_some_back().await;
        }
    }

    async fn bring_some_back(self: &Arc<Self>) {
        let now = self.clock.now();
        // Nothing leaves a node's hands before the store may be asked.
        let Some(pass) = self.gate.allow(now) else { return };
        let due = self.due(now);
        if due.is_empty() {
            return;
        }
        let mut sent = Vec::with_capacity(due.len());
        for Due { key, rule, limit, back } in &due {
            let pending = shared_limit(rule.as_deref(), limit).and_then(|shared| {
                let (key, burst) = (key.clone(), limit.burst());
                let add = operation(key.clone(), shared, burst, back);
                self.coalescer.submit(&[key], add).ok()
            });
            sent.push(pending);
        }
        let mut failure = None;
        for (Due { key, back, .. }, pending) in due.iter().zip(sent) {
            let told = match pending {
                Some(mut pending) => pending.within(WITHIN).await,
                None => Err(crate::LinkError::Lost),
            };
            let is_done = matches!(told, Ok(Told::Changed(_)));
            if let Err(error) = told {
                failure = Some(error);
            }
            let mut buckets = self.locals.lock();
            match (buckets.get_mut(key), back) {
                (Some(local), Back::Take(_)) if is_done => {
                    local.bucket.is_charged(&local.share, self.clock.now());
                }
                (Some(local), Back::Take(_)) => local.bucket.store_is_gone(),
                _ => {}
            }
        }
        match failure {
            None => self.gate.succeeded(pass, self.clock.now(), &self.declaring),
            Some(error) => self.gate.failed(pass, self.clock.now(), &error.into()),
        }
    }

    /// What is to be done now. Buckets that have settled are the store's from here on.
    fn due(&self, now: Moment) -> Vec<Due> {
        let mut buckets = self.locals.lock();
        let mut due = Vec::new();
        for (key, local) in buckets.iter_mut() {
            if due.len() == BACK_MAX {
                break;
            }
            let back = match local.bucket.settled(now) {
                Some(correction) => Some(Back::Last(correction)),
                None => local.bucket.store_is_back(&local.share, now).map(Back::Take),
            };
            if let Some(back) = back {
                due.push(Due { key: key.clone(), rule: local.rule.clone(), limit: local.limit, back });
            }
        }
        for Due { key, back, .. } in &due {
            if matches!(back, Back::Last(_)) {
                buckets.remove(key);
            }
        }
        self.locals.count.store(buckets.len(), Ordering::Relaxed);
        due
    }
}

/// The limit as the store knows it.
fn shared_limit(rule: Option<&RuleEntry>, limit: &Limit) -> Option<SharedLimit> {
    match rule {
        Some(rule) => rule.agreed.load().as_ref().map(|agreed| agreed.limit.clone()),
        None => SharedLimit::explicit(limit).ok(),
    }
}

fn operation(
    key: KeyName,
    limit: SharedLimit,
    debt_max: Tokens,
    back: &Back,
) -> impl Fn(&mut Batch) -> Result<(), crate::BatchError> + Send + 'static {
    let (take, give) = match back {
        Back::Take(amount) | Back::Last(LocalCorrection::Charge(amount)) => (*amount, Tokens::ZERO),
        Back::Last(LocalCorrection::GiveBack(amount)) => (Tokens::ZERO, *amount),
    };
    move |batch| {
        if give > Tokens::ZERO {
            batch.give(key.clone(), &limit, Cost::micros(give.as_micros()))
        } else {
            batch.take(key.clone(), &limit, Cost::micros(take.as_micros()), debt_max)
        }
    }
}

fn crowded(at: usize, charges: usize) -> (Verdict, Vec<BucketState>) {
    let state = BucketState { remaining: Tokens::ZERO, wait: CROWDED_WAIT, time_to_full: Span::ZERO };
    let (wait, remaining, denied) = (CROWDED_WAIT, Tokens::ZERO, BucketSet::of(at));
    (Verdict::Deny { wait, remaining, denied, cause: Cause::Crowded }, vec![state; charges])
}

/// What buckets said, one after the other.
#[derive(Default)]
struct Seen {
    states: Vec<BucketState>,
    denied: BucketSet,
}

impl Seen {
    fn add(&mut self, at: usize, decision: Option<LocalDecision>, otherwise: Tokens) {
        let mut state = BucketState { remaining: otherwise, wait: Span::ZERO, time_to_full: Span::ZERO };
        match decision {
            Some(LocalDecision::Admit { remaining }) => state.remaining = remaining,
            Some(LocalDecision::Deny { wait, remaining }) => {
                (state.wait, state.remaining) = (wait, remaining);
                self.denied.insert(at);
            }
            // Not ever by this node; when the store is back is not known.
            Some(LocalDecision::BeyondShare) => {
                state.wait = CROWDED_WAIT;
                self.denied.insert(at);
            }
            None => {}
        }
        self.states.push(state);
    }

    fn is_admitted(&self) -> bool {
        self.denied == BucketSet::EMPTY
    }

    fn verdict(self) -> (Verdict, Vec<BucketState>) {
        let those = || self.states.iter().enumerate().filter(|(at, _)| self.denied.contains(*at));
        let verdict = if self.is_admitted() {
            let remaining = self.states.iter().map(|state| state.remaining).min().unwrap_or(Tokens::ZERO);
            Verdict::Admit { remaining, delay: Span::ZERO }
        } else {
            Verdict::Deny {
                wait: those().map(|(_, state)| state.wait).max().unwrap_or(Span::ZERO),
                remaining: those().map(|(_, state)| state.remaining).min().unwrap_or(Tokens::ZERO),
                denied: self.denied,
                cause: Cause::Exceeded,
            }
        };
        (verdict, self.states)
    }
}
