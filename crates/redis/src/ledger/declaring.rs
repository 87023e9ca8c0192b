//! Agrees with the other nodes on every rule's limit, by the store, in the background: when a policy comes into force, when the store is
//! back, and until it has worked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::Inner;
use super::rules::{Agreed, RuleEntry};
use crate::{Declaration, DeclareError, DeclareStep, Declared, HistoryError, RuleIdentity};

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
    for entry in inner.rules.all().iter().filter(|entry| all || !entry.is_agreed()) {
        if let Err(error) = declare(&inner, entry).await {
            let first = !entry.is_told.swap(true, Ordering::Relaxed);
            if first {
                let (policy, rule) = (entry.identity.policy(), entry.identity.name());
                tracing::warn!(policy, rule, %error, "a limit is not agreed upon with the other instances yet");
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
                return Ok(());
            }
            Err(Failure::Declare(error)) => return Err(error.to_string()),
            Err(Failure::Link(error)) => return Err(error.to_string()),
            Err(Failure::Refused(refused)) => return Err(refused.to_string()),
        }
    }
    Err("the rule has changed its algorithm too often; give it another name".to_owned())
}

enum Failure {
    Link(crate::LinkError),
    Declare(DeclareError),
    Refused(crate::LimitRefused),
}

async fn declare_as(inner: &Inner, entry: &RuleEntry, identity: &RuleIdentity) -> Result<Agreed, Failure> {
    let declared = Declared { algorithm: entry.algorithm, slowest: None };
    let mut declaration = Declaration::new(&inner.keys.now(), identity, declared);
    let mut call = declaration.begin();
    loop {
        let reply = inner.coalescer.link().call(call, WITHIN).await.map_err(Failure::Link)?;
        match declaration.next(&reply).map_err(Failure::Declare)? {
            DeclareStep::Send(next) => call = next,
            DeclareStep::Agreed(history) => {
                let limit = history.limit().map_err(Failure::Refused)?;
                return Ok(Agreed { identity: identity.clone(), algorithm: entry.algorithm, limit });
            }
            // Only who reads and does not declare is told so.
            DeclareStep::Absent => return Err(Failure::Link(crate::LinkError::Lost)),
        }
    }
}
