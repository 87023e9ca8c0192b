//! Looks at the store whenever it is there again, and says what it is and what an operator should change: one line of the log for each
//! change. Whether it is there, [`super::log_lines`] says.
//!
//! A store that is unfit is not asked: rules do what `on_store_failure` says until another look finds it fit. It does not know what
//! makes a store unfit; [`Survey`] does.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;

use tollgate_core::{Moment, Span};

use super::Inner;
use crate::{AskError, Finding, LinkStatus, Severity, Survey};

/// How long one look may take: nobody waits for it.
const WITHIN: Duration = Duration::from_secs(5);
/// After a look that failed, the next one.
const PAUSE: Duration = Duration::from_secs(1);
/// Looks that may fail after one connection; after the next there are as many.
const LOOKS_MAX: u32 = 5;
/// How often it is said that keys hold what is not ours: every check of such a bucket finds out again.
const FAULTS_TOLD_EVERY: Span = Span::from_secs(60);

/// What was found at the last look.
#[derive(Debug, Default)]
pub(super) struct Surveyed {
    is_unfit: AtomicBool,
    last: ArcSwapOption<Survey>,
    /// Until when, in nanoseconds of the node's clock, nothing is said of keys that hold what is not ours.
    quiet_until: AtomicU64,
}

impl Surveyed {
    /// Whether limits would not be kept with this store.
    pub(super) fn is_unfit(&self) -> bool {
        self.is_unfit.load(Ordering::Relaxed)
    }

    pub(super) fn last(&self) -> Option<Arc<Survey>> {
        self.last.load_full()
    }

    /// Says that a key holds what is not ours, now and then. What is said of the key names no client.
    pub(super) fn tell_of_fault(&self, error: &AskError, key: impl FnOnce() -> String, now: Moment) {
        let quiet_until = self.quiet_until.load(Ordering::Relaxed);
        if now.as_nanos() < quiet_until {
            return;
        }
        let next = (now + FAULTS_TOLD_EVERY).as_nanos();
        if self.quiet_until.compare_exchange(quiet_until, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            tracing::warn!(key = %key(), %error, "the shared store cannot decide a check; its rules do what `on_store_failure` says");
        }
    }

    /// Remembers what was found, and tells what is new.
    fn note(&self, survey: Survey) {
        let before = self.last();
        let servers = |survey: &Survey| survey.servers.iter().map(ToString::to_string).collect::<Vec<_>>();
        let seen = servers(&survey);
        // At every return the same would be said again.
        if before.as_ref().is_none_or(|last| servers(last) != seen) {
            tracing::info!(servers = seen.join(", "), "the shared store was looked at");
        }
        let is_new =
            |finding: &&Finding| !before.as_ref().is_some_and(|last| last.findings.contains(finding));
        for finding in survey.findings.iter().filter(is_new) {
            match finding.severity() {
                Severity::Unfit => {
                    tracing::error!("{finding}; until then rules do what `on_store_failure` says");
                }
                Severity::Warning => tracing::warn!("{finding}"),
                Severity::Note => tracing::info!("{finding}"),
            }
        }
        self.is_unfit.store(survey.refusal().is_some(), Ordering::Relaxed);
        self.last.store(Some(Arc::new(survey)));
    }
}

/// Follows the link until the ledger is gone.
pub(super) fn run(inner: &Arc<Inner>) {
    let (ledger, mut watch) = (Arc::downgrade(inner), inner.coalescer.link().watch());
    tokio::spawn(async move {
        while let Some(status) = watch.next().await {
            if matches!(status, LinkStatus::Connected(_)) {
                look(&ledger).await;
            }
        }
    });
}

async fn look(ledger: &Weak<Inner>) {
    for _ in 0..LOOKS_MAX {
        let Some(inner) = ledger.upgrade() else { return };
        match inner.coalescer.link().survey(WITHIN).await {
            Ok(survey) => {
                return inner.surveyed.note(survey);
            }
            // It is gone again, which is told of.
            Err(_) if !matches!(inner.coalescer.link().status(), LinkStatus::Connected(_)) => {}
            Err(error) => tracing::warn!(%error, "the shared store cannot be looked at"),
        }
        drop(inner);
        tokio::time::sleep(PAUSE).await;
    }
}
