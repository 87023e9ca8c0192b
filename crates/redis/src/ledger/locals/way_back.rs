//! The way of local buckets back into the store (PROTOCOLS.md 8).
//!
//! Nothing leaves the node's hands before the store may be asked, and what it did not do is undone: a bucket whose last step failed is
//! this node's again, as it was. An answer that is late is waited for, so that no step is done twice; meanwhile the bucket stays.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tollgate_core::{Correction, Cost, Moment, Tokens};

use super::local::{Local, Step, Terms};
use crate::ledger::Inner;
use crate::{Batch, BatchError, KeyName, LinkError, Pending, SharedLimit, Told};

/// How often buckets are looked after that are to go back.
const LOOK: Duration = Duration::from_millis(20);
/// How long the store may take for them: nobody waits.
const WITHIN: Duration = Duration::from_millis(250);
/// Most buckets that go back at a time.
const BACK_MAX: usize = 512;

/// A bucket that is to go back.
struct Due {
    key: KeyName,
    limit: SharedLimit,
    debt_max: Tokens,
    step: Step,
    /// The bucket, if this is the last step.
    local: Option<Local>,
}

impl Inner {
    /// Brings buckets back into the store until there are none.
    pub(super) async fn bring_back(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            self.bring_some_back().await;
            let table = self.locals.lock();
            if table.buckets.is_empty() {
                // Under the lock: whoever comes next begins anew.
                self.locals.is_bringing.store(false, Ordering::Release);
                return;
            }
        }
    }

    async fn bring_some_back(self: &Arc<Self>) {
        let now = self.clock.now();
        // Whoever has leave to ask must ask: it may be the only one.
        if !self.locals.lock().buckets.values().any(|local| local.is_due(&self.rules, now)) {
            return;
        }
        let Some(pass) = self.gate.allow(now) else { return };
        let due = self.due(now);
        let submit = |due: &Due| {
            let add = operation(due.key.clone(), due.limit.clone(), due.debt_max, due.step);
            self.coalescer.submit(std::slice::from_ref(&due.key), add).ok()
        };
        let sent: Vec<_> = due.iter().map(submit).collect();
        let mut failure = None;
        for (due, pending) in due.into_iter().zip(sent) {
            let mut pending = pending;
            let told = match &mut pending {
                Some(pending) => {
                    pending.within(WITHIN.saturating_sub(self.clock.now().since(now).into())).await
                }
                None => Err(LinkError::Lost),
            };
            match (&told, pending) {
                (Err(LinkError::TimedOut), Some(pending)) => self.wait_for(due, pending),
                _ => self.locals.end_step(due, is_done(&told), self.clock.now()),
            }
            failure = told.err().or(failure);
        }
        match failure {
            None => self.gate.succeeded(pass, self.clock.now(), &self.declaring),
            Some(error) => self.gate.failed(pass, self.clock.now(), &error.into()),
        }
    }

    /// The store may do it yet. Until that is known, the bucket is this node's.
    fn wait_for(self: &Arc<Self>, mut due: Due, pending: Pending) {
        if let Some(local) = due.local.take() {
            self.locals.keep(due.key.clone(), local, self.clock.now());
        }
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            let is_done = is_done(&pending.await);
            inner.locals.end_step(due, is_done, inner.clock.now());
        });
    }

    /// What is to be done now. Buckets that have settled are the store's from here on, unless it does not take them.
    fn due(&self, now: Moment) -> Vec<Due> {
        let terms = Terms { now, ..self.local_terms() };
        let mut table = self.locals.lock();
        let mut due = Vec::new();
        for (key, local) in &mut table.buckets {
            if due.len() == BACK_MAX {
                break;
            }
            if let Some((step, limit)) = local.step(&self.rules, terms) {
                due.push(Due { key: key.clone(), limit, debt_max: local.debt_max(), step, local: None });
            }
        }
        for due in &mut due {
            if matches!(due.step, Step::Last(_)) {
                due.local = table.buckets.remove(&due.key);
            }
        }
        self.locals.count(&table);
        due
    }
}

impl super::Locals {
    /// The store has done a step of a bucket, or not.
    fn end_step(&self, due: Due, is_done: bool, now: Moment) {
        match due.local {
            Some(_) if is_done => {}
            Some(mut local) => {
                local.store_is_gone();
                self.keep(due.key, local, now);
            }
            None => match self.lock().buckets.get_mut(&due.key) {
                Some(local) if is_done => local.is_done(due.step, now),
                Some(local) => local.store_is_gone(),
                None => {}
            },
        }
    }

    /// A bucket is this node's again. Somebody may have asked meanwhile, and begun anew: the emptier one stays.
    fn keep(&self, key: KeyName, local: Local, now: Moment) {
        let mut table = self.lock();
        let is_emptier = |anew: &Local| local.held(now) <= anew.held(now);
        if table.buckets.get(&key).is_none_or(is_emptier) {
            table.buckets.insert(key, local);
        }
        self.count(&table);
    }
}

/// Whether the store has done it. A key that holds something else is no failure of the store: the bucket cannot go back, nor stay for ever.
fn is_done(told: &Result<Told, LinkError>) -> bool {
    matches!(told, Ok(Told::Changed(_) | Told::Fault(_)))
}

fn operation(
    key: KeyName,
    limit: SharedLimit,
    debt_max: Tokens,
    step: Step,
) -> impl Fn(&mut Batch) -> Result<(), BatchError> + Send + 'static {
    let cost = |amount: Tokens| Cost::micros(amount.as_micros());
    move |batch| match step {
        Step::Last(Correction::GiveBack(amount)) if amount > Tokens::ZERO => {
            batch.give(key.clone(), &limit, cost(amount))
        }
        Step::Last(Correction::GiveBack(_)) => batch.take(key.clone(), &limit, cost(Tokens::ZERO), debt_max),
        Step::First(amount) | Step::Last(Correction::Charge(amount)) => {
            batch.take(key.clone(), &limit, cost(amount), debt_max)
        }
    }
}
