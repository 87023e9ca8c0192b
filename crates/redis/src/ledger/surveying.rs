//! Looks at the store whenever the link has connected, and tells the log what an operator should change: one line for each change.
//!
//! A store that is unfit is not asked: rules do what `on_store_failure` says until another look finds it fit. It does not know what
//! makes a store unfit; [`Survey`] does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;

use super::Inner;
use crate::{Finding, LinkStatus, Severity, Survey};

/// How long one look may take: nobody waits for it.
const WITHIN: Duration = Duration::from_secs(5);
/// After a look that failed, the next one.
const PAUSE: Duration = Duration::from_secs(1);
/// Looks that may fail after one connection; after the next there are as many.
const LOOKS_MAX: u32 = 5;

/// What was found at the last look.
#[derive(Debug, Default)]
pub(super) struct Surveyed {
    is_unfit: AtomicBool,
    last: ArcSwapOption<Survey>,
}

impl Surveyed {
    /// Whether limits would not be kept with this store.
    pub(super) fn is_unfit(&self) -> bool {
        self.is_unfit.load(Ordering::Relaxed)
    }

    pub(super) fn last(&self) -> Option<Arc<Survey>> {
        self.last.load_full()
    }

    /// Remembers what was found, and tells what is new.
    fn note(&self, survey: Survey) {
        let before = self.last();
        let is_new =
            |finding: &&Finding| !before.as_ref().is_some_and(|last| last.findings.contains(finding));
        for finding in survey.findings.iter().filter(is_new) {
            match finding.severity() {
                Severity::Unfit => tracing::error!(
                    %finding,
                    "the shared store is unfit and is not asked; rules do what `on_store_failure` says"
                ),
                Severity::Warning => tracing::warn!(%finding, "the shared store should be set up otherwise"),
                Severity::Note => tracing::info!(%finding, "the shared store was not looked at in full"),
            }
        }
        let is_unfit = survey.refusal().is_some();
        if self.is_unfit.swap(is_unfit, Ordering::Relaxed) && !is_unfit {
            tracing::info!("the shared store is fit, and is asked again");
        }
        self.last.store(Some(Arc::new(survey)));
    }
}

/// Follows the link until the ledger is gone.
pub(super) fn run(inner: &Arc<Inner>) {
    let (ledger, mut watch) = (Arc::downgrade(inner), inner.coalescer.link().watch());
    tokio::spawn(async move {
        while let Some(status) = watch.next().await {
            match status {
                LinkStatus::Connected(_) => {
                    tracing::info!("connected to the shared store");
                    look(&ledger).await;
                }
                LinkStatus::Down(cause) => tracing::warn!(%cause, "the shared store is not connected"),
                LinkStatus::Connecting => {}
            }
        }
    });
}

async fn look(ledger: &Weak<Inner>) {
    for _ in 0..LOOKS_MAX {
        let Some(inner) = ledger.upgrade() else { return };
        match inner.coalescer.link().survey(WITHIN).await {
            Ok(survey) => return inner.surveyed.note(survey),
            Err(error) => tracing::debug!(%error, "the shared store was not looked at"),
        }
        drop(inner);
        tokio::time::sleep(PAUSE).await;
    }
}
