//! Agrees with the other nodes on every rule's limit, by the store, in the background: when a policy comes into force, when the store is
//! back, and until it has worked. Whoever declares last is right, and says it once: a node that was agreed with before only looks, unless
//! the store has forgotten.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tollgate::policy::limit_text;

use super::Inner;
use super::rules::{Agreed, RuleEntry};
use crate::{
    Declaration, DeclareError, DeclareStep, Declared, HistoryError, LinkError, LinkStatus, RuleIdentity,
    ServerError, SharedLimit,
};

/// After a failure it is tried again so soon.
const PAUSE: Duration = Duration::from_millis(250);
/// How long one call may take: nobody waits for it.
const WITHIN: Duration = Duration::from_secs(1);
/// How often the buckets of one rule may be started anew because its limit became another kind of limit.
const GENERATIONS_MAX: u32 = 1_000;

/// Wakes whoever declares.
#[derive(Debug, Default)]
pub(super) struct Declaring {
    woken: Arc<Notify>,
    /// Whether all are to be declared, those that were agreed upon, too.
    all: AtomicBool,
}

impl Declaring {
    /// There may be limits that were not agreed upon.
    pub(super) fn wake(&self) {
        self.woken.notify_one();
    }

    /// The store may have forgotten everything.
    pub(super) fn wake_all(&self) {
        self.all.store(true, Ordering::Relaxed);
        self.woken.notify_one();
    }
}

impl Drop for Declaring {
    fn drop(&mut self) {
        self.woken.notify_one();
    }
}

/// Declares until the ledger is gone.
pub(super) fn run(inner: &Arc<Inner>) {
    let (ledger, woken) = (Arc::downgrade(inner), Arc::clone(&inner.declaring.woken));
    tokio::spawn(async move {
        loop {
            woken.notified().await;
            while !declare_all(&ledger).await {
                tokio::time::sleep(PAUSE).await;
            }
            if ledger.strong_count() == 0 {
                return;
            }
        }
    });
}

/// Whether all is agreed upon, or nobody wants to know any more.
async fn declare_all(ledger: &Weak<Inner>) -> bool {
    let Some(inner) = ledger.upgrade() else { return true };
    let all = inner.declaring.all.swap(false, Ordering::Relaxed);
    let mut is_done = true;
    // Before any check asks the store: its share is by the number of instances.
    if inner.census.now() == 0 {
        inner.is_counted().await;
    }
    for entry in inner.rules.all().iter().filter(|entry| all || !entry.is_agreed()) {
        let done = match entry.agreed.load_full().filter(|_| entry.is_agreed()) {
            Some(agreed) => declare_again(&inner, entry, &agreed).await,
            None => declare(&inner, entry).await,
        };
        if let Err(error) = done {
            // Where there is no connection, that is told of, and this follows from it.
            if matches!(inner.coalescer.link().status(), LinkStatus::Connected(_)) {
                tell_of_fault(&inner, entry, &entry.identity, &error);
            }
            is_done = false;
            if all {
                inner.declaring.all.store(true, Ordering::Relaxed);
            }
            // If the store does not answer, it does not for the others either.
            break;
        }
        entry.is_told.store(false, Ordering::Relaxed);
    }
    is_done
}

/// Looks which limit is in force of a rule that was agreed upon; whether the store has answered.
pub(super) async fn look_again(inner: &Inner, entry: &RuleEntry) -> bool {
    let Some(agreed) = entry.agreed.load_full().filter(|_| entry.is_agreed()) else { return true };
    let declaration = Declaration::read_only(&inner.keys.now(), &agreed.identity);
    match talk(inner, entry, declaration, &agreed.identity).await {
        Ok(Some(seen)) => take_over(inner, entry, &agreed, seen),
        // The store has forgotten it.
        Ok(None) => inner.declaring.wake_all(),
        Err(failure) if failure.is_of_the_record() => {
            tell_of_fault(inner, entry, &agreed.identity, &failure.to_string());
            return true;
        }
        Err(Failure::Link(_)) => return false,
        Err(_) => return true,
    }
    entry.is_told.store(false, Ordering::Relaxed);
    true
}

/// Says once that a rule's record cannot be read or written, until it can.
fn tell_of_fault(inner: &Inner, entry: &RuleEntry, identity: &RuleIdentity, error: &str) {
    if entry.is_told.swap(true, Ordering::Relaxed) {
        return;
    }
    let (policy, rule) = (entry.identity.policy(), entry.identity.name());
    let key = inner.keys.now().history(identity);
    let key = String::from_utf8_lossy(key.as_bytes());
    tracing::warn!(policy, rule, %key, error, "a limit is not agreed upon with the other instances");
}

/// The same, where the store may have forgotten everything: then the rule is declared anew.
async fn declare_again(inner: &Inner, entry: &RuleEntry, agreed: &Arc<Agreed>) -> Result<(), String> {
    let declaration = Declaration::read_only(&inner.keys.now(), &agreed.identity);
    match talk(inner, entry, declaration, &agreed.identity).await {
        Ok(Some(seen)) => {
            take_over(inner, entry, agreed, seen);
            Ok(())
        }
        Ok(None) => declare(inner, entry).await,
        Err(failure) => Err(failure.to_string()),
    }
}

/// What is in force from now on, and one line if that is another limit than before. Not if the rule was declared anew meanwhile.
fn take_over(inner: &Inner, entry: &RuleEntry, before: &Arc<Agreed>, seen: Agreed) {
    if seen.limit == before.limit {
        return;
    }
    let is_changed = seen.algorithm != before.algorithm;
    let is_own = if is_changed { seen.algorithm == entry.algorithm } else { before.is_own };
    let seen = Agreed { is_own, ..seen };
    let in_force = limit_text(&seen.algorithm);
    let was = entry.agreed.compare_and_swap(before, Some(Arc::new(seen)));
    inner.renew_leased_rules();
    if is_changed && was.as_ref().is_some_and(|was| Arc::ptr_eq(was, before)) {
        let (policy, rule) = (entry.identity.policy(), entry.identity.name());
        if is_own {
            tracing::info!(policy, rule, in_force, "the limit of this instance's policy is in force again");
        } else {
            let own = limit_text(&entry.algorithm);
            tracing::warn!(
                policy,
                rule,
                own,
                in_force,
                "another instance has declared another limit of the rule, which is in force; give all instances one policy"
            );
        }
    }
}

/// The limit that the store knows of a rule, whichever node has declared it; `None` if it knows none.
pub(super) async fn limit_in_store(
    inner: &Inner,
    identity: &RuleIdentity,
    within: Duration,
) -> Result<Option<SharedLimit>, Failure> {
    let mut declaration = Declaration::read_only(&inner.keys.now(), identity);
    let reply = inner.coalescer.link().call(declaration.begin(), within).await;
    match declaration.next(&reply.map_err(Failure::Link)?).map_err(Failure::Declare)? {
        DeclareStep::Agreed(history) => {
            history.limit_at(declaration.now_micros()).map(Some).map_err(Failure::Refused)
        }
        // Who only reads has nothing more to send.
        DeclareStep::Absent | DeclareStep::Send(_) => Ok(None),
    }
}

async fn declare(inner: &Inner, entry: &RuleEntry) -> Result<(), String> {
    let (policy, name) = (entry.identity.policy(), entry.identity.name());
    for generation in 1..=GENERATIONS_MAX {
        let identity = match generation {
            1 => entry.identity.clone(),
            _ => RuleIdentity::new(policy, &format!("{name} {generation}")),
        };
        match declare_as(inner, entry, &identity).await {
            Err(Failure::Declare(DeclareError::History(HistoryError::OtherKind { .. }))) => {}
            Ok(agreed) => {
                entry.agreed.store(Some(Arc::new(agreed)));
                inner.renew_leased_rules();
                return Ok(());
            }
            Err(failure) => return Err(failure.to_string()),
        }
    }
    Err("the rule has changed its algorithm too often; give it another name".to_owned())
}

/// Why nothing was agreed upon.
pub(super) enum Failure {
    Link(LinkError),
    Declare(DeclareError),
    Refused(crate::LimitRefused),
}

impl Failure {
    /// Whether it is about what the record holds: it stays so until somebody sees to it.
    pub(super) fn is_of_the_record(&self) -> bool {
        matches!(
            self,
            Failure::Link(LinkError::Server(ServerError::WrongType(_)))
                | Failure::Declare(
                    DeclareError::Server(ServerError::WrongType(_))
                        | DeclareError::History(_)
                        | DeclareError::OtherRule { .. }
                )
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Link(error) => error.fmt(f),
            Failure::Declare(error) => error.fmt(f),
            Failure::Refused(refused) => refused.fmt(f),
        }
    }
}

async fn declare_as(inner: &Inner, entry: &RuleEntry, identity: &RuleIdentity) -> Result<Agreed, Failure> {
    let declared = Declared { algorithm: entry.algorithm, slowest: None };
    let declaration = Declaration::new(&inner.keys.now(), identity, declared);
    // Only who reads and does not declare is told that there is nothing.
    talk(inner, entry, declaration, identity).await?.ok_or(Failure::Link(LinkError::Lost))
}

/// Sends what a declaration says until it is done; `None` if there is no record, and none was wanted.
async fn talk(
    inner: &Inner,
    entry: &RuleEntry,
    mut declaration: Declaration,
    identity: &RuleIdentity,
) -> Result<Option<Agreed>, Failure> {
    let mut call = declaration.begin();
    loop {
        let reply = inner.coalescer.link().call(call, WITHIN).await.map_err(Failure::Link)?;
        match declaration.next(&reply).map_err(Failure::Declare)? {
            DeclareStep::Send(next) => call = next,
            DeclareStep::Agreed(history) => {
                let limit = history.limit_at(declaration.now_micros()).map_err(Failure::Refused)?;
                let algorithm = history.algorithm().unwrap_or(entry.algorithm);
                let (identity, declared) = (identity.clone(), entry.algorithm);
                return Ok(Some(Agreed { identity, declared, algorithm, limit, is_own: true }));
            }
            DeclareStep::Absent => return Ok(None),
        }
    }
}
