//! The way of local buckets back into the store (PROTOCOLS.md 8): who asks first, the others in the background.
//!
//! Nothing leaves the node's hands before the store may be asked, and what it did not do is undone: a bucket whose last step failed is
//! this node's again, as it was. An answer that is late is waited for, so that no step is done twice; meanwhile the bucket stays. A bucket
//! that is full has nothing to hand over, and goes without a word.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tollgate_core::{Correction, Cost, Moment, Tokens};

use super::Table;
use super::local::{Local, Step, Terms};
use crate::ledger::Inner;
use crate::ledger::gate::Place;
use crate::ledger::proofs::Unanswered;
use crate::ledger::rules::Rules;
use crate::{Batch, BatchError, KeyName, LinkError, Pending, SharedLimit, Told};

/// How often buckets are looked after for which nobody asks.
const LOOK: Duration = Duration::from_millis(5);
/// How long the store may take for them: nobody waits.
const WITHIN: Duration = Duration::from_millis(250);
/// Most buckets that go back at a time because somebody asks; as many others may have settled.
const ASKING_MAX: usize = 128;
/// Most that go back in one look if nobody asks: so few that a check which comes meanwhile does not notice.
const WAITING_MAX: usize = 64;
/// Most that are looked at for those: the full ones cost the store nothing.
const LOOKS_MAX: usize = 512;

/// A bucket that is to go back.
struct Due {
    key: KeyName,
    limit: SharedLimit,
    debt_max: Tokens,
    step: Step,
    /// The bucket, if this is the last step.
    local: Option<Local>,
    /// Notes the balance that the reply tells.
    unanswered: Option<Unanswered>,
}

impl Inner {
    /// Brings buckets back into the store until there are none.
    pub(super) async fn bring_back(self: Arc<Self>) {
        let mut looks = tokio::time::interval(LOOK);
        looks.reset();
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_look = tokio::select! {
                () = self.locals.woken.notified() => false,
                _ = looks.tick() => true,
            };
            let has_brought = self.bring_some_back(is_look).await;
            let mut table = self.locals.lock();
            if table.buckets.is_empty() {
                table.clear_turns();
                // Under the lock: whoever comes next begins anew.
                self.locals.is_bringing.store(false, Ordering::Release);
                return;
            }
            if has_brought && table.is_asked_for() {
                self.locals.woken.notify_one();
            }
        }
    }

    /// Whether the store has done something.
    async fn bring_some_back(self: &Arc<Self>, is_look: bool) -> bool {
        let now = self.clock.now();
        // Whoever has leave to ask must ask: it may be the only one.
        if !self.locals.lock().is_due(&self.rules, now) {
            return false;
        }
        let Some(pass) = self.gate.allow(now) else { return false };
        let due = self.due(now, is_look);
        if due.is_empty() {
            return false;
        }
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
                _ => self.locals.end_step(due, &told, self.clock.now()),
            }
            failure = told.err().or(failure);
        }
        let has_brought = failure.is_none();
        match failure {
            None => self.gate.succeeded(pass, self.clock.now(), &self.declaring),
            Some(error) => self.gate.failed(pass, self.clock.now(), &error.into()),
        }
        has_brought
    }

    /// The store may do it yet. Until that is known, the bucket is this node's.
    fn wait_for(self: &Arc<Self>, mut due: Due, pending: Pending) {
        if let Some(local) = due.local.take() {
            self.locals.keep(due.key.clone(), local, self.clock.now());
        }
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            let told = pending.await;
            inner.locals.end_step(due, &told, inner.clock.now());
        });
    }

    /// What is to be done now: for whoever asks, then for whoever has settled, then, in a look, for some of the others. Buckets that have
    /// settled are the store's from here on, if it is known to answer, unless it does not take them.
    fn due(self: &Arc<Self>, now: Moment, is_look: bool) -> Vec<Due> {
        let terms = Terms { now, ..self.local_terms() };
        let does_answer = self.gate.is_closed(Place::ANY);
        let mut table = self.locals.lock();
        let (mut due, mut later) = (Vec::new(), Vec::new());
        let is_asked_for = table.is_asked_for();
        for _ in 0..ASKING_MAX {
            let Some(key) = table.next_asking() else { break };
            due.extend(table.due(key, &self.rules, terms, does_answer));
        }
        for _ in 0..ASKING_MAX {
            let Some(key) = table.next_settled(now) else { break };
            let next = table.due(key.clone(), &self.rules, terms, does_answer);
            if next.is_none() && table.buckets.get(&key).is_some_and(|local| !local.is_asked()) {
                later.push(key.clone());
            }
            due.extend(next);
        }
        // Nobody who asks waits for those who do not.
        let mut looks = if is_look && !is_asked_for { LOOKS_MAX.min(table.buckets.len()) } else { 0 };
        let most = due.len() + WAITING_MAX;
        while looks > 0 && due.len() < most {
            looks -= 1;
            let Some(key) = table.next_waiting() else { break };
            if does_answer && table.buckets.get(&key).is_some_and(|local| local.is_full(now)) {
                table.remove(&key);
                continue;
            }
            due.extend(table.due(key, &self.rules, terms, does_answer));
        }
        for key in later {
            table.settle(key, now);
        }
        self.locals.count(&table);
        for due in &mut due {
            if due.local.is_some() {
                // The balance before the outage is without what was spent here.
                self.proofs.forget(&due.key);
            }
            due.unanswered = Some(Unanswered::charge(self, &due.key, Cost::micros(0)));
        }
        due
    }
}

impl Table {
    /// What is to be done for a bucket now; if that is nothing because its limit is not agreed upon, it waits on.
    fn due(&mut self, key: KeyName, rules: &Rules, terms: Terms, does_answer: bool) -> Option<Due> {
        let (debt_max, step) = self.change(&key, |local| (local.debt_max(), local.step(rules, terms)))?;
        let Some((step, limit)) = step else {
            self.queue(key);
            return None;
        };
        // A probe may find nobody there: whoever asks meanwhile must not begin with a fresh share.
        let goes = does_answer && matches!(step, Step::Last(_));
        let local = if goes { self.remove(&key) } else { None };
        Some(Due { key, limit, debt_max, step, local, unanswered: None })
    }
}

impl super::Locals {
    /// The store has done a step of a bucket, or not.
    fn end_step(&self, due: Due, told: &Result<Told, LinkError>, now: Moment) {
        let is_done = is_done(told);
        if let (Ok(Told::Changed { changed, now_micros }), Some(unanswered)) = (told, due.unanswered) {
            unanswered.replied_with(changed.after, *now_micros);
        }
        match due.local {
            Some(_) if is_done => {}
            Some(mut local) => {
                local.store_is_gone();
                self.keep(due.key, local, now);
            }
            None => {
                let mut table = self.lock();
                let Some(local) = table.buckets.get_mut(&due.key) else { return };
                if is_done {
                    local.is_done(due.step, now);
                    let until = if matches!(due.step, Step::First(_)) { now + local.settling() } else { now };
                    table.settle(due.key, until);
                } else {
                    local.store_is_gone();
                    table.queue(due.key);
                }
            }
        }
    }

    /// A bucket is this node's again. Somebody may have asked meanwhile, and begun anew: the emptier one stays.
    fn keep(&self, key: KeyName, local: Local, now: Moment) {
        let mut table = self.lock();
        let is_emptier = |anew: &Local| local.held(now) <= anew.held(now);
        if table.buckets.get(&key).is_none_or(is_emptier) {
            table.enter(key, local);
        }
        self.count(&table);
    }
}

/// Whether the store has done it. A key that holds something else is no failure of the store: the bucket cannot go back, nor stay for ever.
fn is_done(told: &Result<Told, LinkError>) -> bool {
    matches!(told, Ok(Told::Changed { .. } | Told::Fault(_)))
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
