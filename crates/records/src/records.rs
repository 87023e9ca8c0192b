//! The filing room as callers hold it: opened, watched, asked, closed.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::pool::Pool;
use crate::session::Session;
use crate::{Migrated, RecordsError, RecordsOptions, RecordsStatus, RecordsUrl, keeper, migrations};

/// The filing room. A clone is the same one.
///
/// Nothing waits for the database but the call that asks it something, and that no longer than [`RecordsOptions::answer_max`]: while the database
/// is away every call is told so at once.
#[derive(Clone)]
pub struct Records(Arc<Handle>);

/// Ends the keeper with the last clone.
struct Handle {
    shared: Arc<Shared>,
    keeper: AbortHandle,
}

/// What calls and the keeper share.
pub(crate) struct Shared {
    pub(crate) url: RecordsUrl,
    pub(crate) pool: Pool,
    pub(crate) options: RecordsOptions,
    pub(crate) status: watch::Sender<RecordsStatus>,
    /// The revision.
    pub(crate) news: watch::Sender<u64>,
    /// Wakes the keeper: something changed, or failed.
    pub(crate) hurry: Notify,
}

impl Records {
    /// Opens the filing room: `None` if the URL is `off`. Never waits: the database is connected to and its tables are made in the background.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn open(url: &RecordsUrl, options: RecordsOptions) -> Option<Records> {
        let shared = Arc::new(Shared {
            url: url.clone(),
            pool: Pool::new(&url.0, &options)?,
            options,
            status: watch::Sender::new(RecordsStatus::Connecting),
            news: watch::Sender::new(0),
            hurry: Notify::new(),
        });
        let keeper = tokio::spawn(keeper::keep(Arc::clone(&shared))).abort_handle();
        Some(Records(Arc::new(Handle { shared, keeper })))
    }

    /// Makes the tables, or brings them up to date, and does nothing else. Several at once take turns.
    pub async fn migrate(url: &RecordsUrl) -> Result<Migrated, RecordsError> {
        let options = RecordsOptions::default();
        let Some(pool) = Pool::new(&url.0, &options) else {
            return Err(RecordsError::Unavailable {
                why: "the records are `off`; name a database".to_owned(),
            });
        };
        let migrated = migrations::run(&pool, &options).await;
        pool.close().await;
        migrated
    }

    /// Where it is; without a password.
    pub fn url(&self) -> &RecordsUrl {
        &self.0.shared.url
    }

    /// Whether the database is there.
    pub fn status(&self) -> RecordsStatus {
        self.0.shared.status.borrow().clone()
    }

    /// Tells of every change of the status.
    pub fn watch_status(&self) -> watch::Receiver<RecordsStatus> {
        self.0.shared.status.subscribe()
    }

    /// Waits until the database is there, for as long as it takes.
    pub async fn ready(&self) {
        // The sender lives as long as we do.
        let _ = self.watch_status().wait_for(RecordsStatus::is_ready).await;
    }

    /// The same, for so long; then says why not. For commands, which do one thing and end.
    pub async fn ready_within(&self, patience: std::time::Duration) -> Result<(), RecordsError> {
        match timeout(patience, self.ready()).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self
                .absence()
                .unwrap_or(RecordsError::Unavailable { why: format!("not connected within {patience:?}") })),
        }
    }

    /// Tells of every change to entries, rows, orders and operations, by the revision: on PostgreSQL at once, on SQLite within a quarter of a second.
    /// Whoever hears of it reads again what concerns it. After an outage there is news in any case.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.0.shared.news.subscribe()
    }

    /// Ends the keeper and every connection. Calls are refused from now on.
    pub async fn close(&self) {
        self.0.keeper.abort();
        self.0.shared.pool.close().await;
    }

    /// Does some work in the time that a call may take, if the database is there.
    pub(crate) async fn within<T, E>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, E>
    where
        E: From<RecordsError> + AsOutage,
    {
        if let Some(absence) = self.absence() {
            return Err(absence.into());
        }
        let answer_max = self.0.shared.options.answer_max;
        // On the heap: with a driver's machines within it, a call is too large for whoever awaits several.
        let done = match timeout(answer_max, Box::pin(work)).await {
            Ok(done) => done,
            Err(_) => {
                Err(RecordsError::Unanswered { why: format!("no answer within {answer_max:?}") }.into())
            }
        };
        if done.as_ref().is_err_and(AsOutage::is_outage) {
            self.0.shared.hurry.notify_one();
        }
        done
    }

    /// A transaction that sees one state, and changes nothing.
    pub(crate) async fn read(&self) -> Result<Session, RecordsError> {
        self.0.shared.pool.read(&self.0.shared.options).await
    }

    /// A transaction that may change things.
    pub(crate) async fn write(&self) -> Result<Session, RecordsError> {
        self.0.shared.pool.write(&self.0.shared.options).await
    }

    /// Ends a transaction that changed something of which there is news, and tells of it here at once.
    pub(crate) async fn commit(&self, session: Session) -> Result<(), RecordsError> {
        session.commit().await?;
        self.0.shared.hurry.notify_one();
        Ok(())
    }

    fn absence(&self) -> Option<RecordsError> {
        match &*self.0.shared.status.borrow() {
            RecordsStatus::Ready { .. } => None,
            RecordsStatus::Connecting => {
                Some(RecordsError::Unavailable { why: "not connected yet".to_owned() })
            }
            RecordsStatus::Failing { why, .. } => Some(RecordsError::Unavailable { why: why.clone() }),
        }
    }
}

/// Whether an error is about the database as a whole.
pub(crate) trait AsOutage {
    fn is_outage(&self) -> bool;
}

impl AsOutage for RecordsError {
    fn is_outage(&self) -> bool {
        RecordsError::is_outage(self)
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Records({}, {})", self.0.shared.url, self.status())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}
