//! Who looks after the database: connects, migrates, tells of changes, and begins anew when it is gone. One task, which nobody waits for.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgListener, PgPool};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::back_off::BackOff;
use crate::pool::Pool;
use crate::records::Shared;
use crate::sqlite_file::Seen;
use crate::{RecordsError, RecordsOptions, RecordsStatus, Timestamp, migrations, pool};

/// What PostgreSQL's triggers notify.
const CHANNEL: &str = "tollgate_revision";
const REVISION_SQL: &str = "SELECT revision FROM tollgate_revision";
/// Longest that a look at the database may take before it counts as gone.
pub(crate) const LOOK_MAX: Duration = Duration::from_secs(2);
/// The log is told of one outage in this time, and of its end; a database that comes and goes would fill it.
const TOLD_EVERY_MICROS: i64 = 10_000_000;

/// Runs until the filing room is closed or forgotten.
pub(crate) async fn keep(shared: Arc<Shared>) {
    let back_off = BackOff::new(shared.options.back_off_max);
    let mut keeper = Keeper { shared, back_off, told_at: None, is_told: false, seen: Seen::default() };
    loop {
        let Err(error) = keeper.connect_and_watch().await;
        keeper.fail(&error);
        let pause = keeper.back_off.next();
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = keeper.shared.hurry.notified() => {}
        }
    }
}

struct Keeper {
    shared: Arc<Shared>,
    back_off: BackOff,
    /// When the log was last told of an outage.
    told_at: Option<Timestamp>,
    /// Whether it was told of this one.
    is_told: bool,
    /// The file of SQLite that connections were made to.
    seen: Seen,
}

impl Keeper {
    /// Connects, and watches until something fails.
    async fn connect_and_watch(&mut self) -> Result<Infallible, RecordsError> {
        let shared = Arc::clone(&self.shared);
        if let Pool::Sqlite { options, .. } = &shared.pool {
            let seen = self.seen;
            of_file(options, move |path| seen.clear_away(path)).await?;
        }
        let migrated = migrations::run(&shared.pool, &shared.options).await?;
        if migrated.from != migrated.to {
            tracing::info!(
                from = migrated.from,
                to = migrated.to,
                "the tables of the records were made or changed"
            );
        }
        match &shared.pool {
            Pool::Sqlite { file, options } => {
                // Before connections are made, so that the first look finds out if they were made to another.
                self.seen = of_file(options, Seen::at).await?;
                shared.pool.renew(&shared.options).await?;
                self.watch_sqlite(&pool::current(file).into_readers(), options, migrated.to).await
            }
            Pool::Postgres { options, .. } => {
                shared.pool.renew(&shared.options).await?;
                // A pool of its own each time: a connection that a network swallowed would keep the one place of the last.
                let pool = pool::postgres_pool(options, 1, &shared.options);
                let listener = within(LOOK_MAX, listen(&pool), &shared.options).await?;
                self.watch_postgres(listener, migrated.to).await
            }
        }
    }

    async fn watch_sqlite(
        &mut self,
        readers: &SqlitePool,
        file: &SqliteConnectOptions,
        schema: i64,
    ) -> Result<Infallible, RecordsError> {
        let mut is_first = true;
        loop {
            let look = sqlx::query(REVISION_SQL).fetch_one(readers);
            let row = within(LOOK_MAX, look, &self.shared.options).await?;
            // Behind the look, whose connection keeps the number of its file from being given to another.
            let seen = of_file(file, Seen::at).await?;
            if !seen.is_same_file(&self.seen) {
                return Err(RecordsError::Unavailable {
                    why: "its file was removed or replaced; what its name means now is used, or made"
                        .to_owned(),
                });
            }
            self.seen = seen;
            self.see(revision(&row)?, schema, is_first);
            is_first = false;
            tokio::select! {
                () = tokio::time::sleep(self.shared.options.poll) => {}
                () = self.shared.hurry.notified() => {}
            }
        }
    }

    async fn watch_postgres(
        &mut self,
        mut listener: PgListener,
        schema: i64,
    ) -> Result<Infallible, RecordsError> {
        let mut is_first = true;
        loop {
            let look = sqlx::query(REVISION_SQL).fetch_one(&mut listener);
            let row = within(LOOK_MAX, look, &self.shared.options).await?;
            self.see(revision(&row)?, schema, is_first);
            is_first = false;
            tokio::select! {
                // A notification says only that it is time to look; one that is lost is made up for by the next look.
                told = timeout(self.shared.options.poll_behind_news, listener.try_recv()) => match told {
                    Ok(Ok(Some(_))) | Err(_) => while listener.next_buffered().is_some() {},
                    Ok(Ok(None)) => {
                        return Err(RecordsError::Unanswered { why: "the server ended the connection".to_owned() });
                    }
                    Ok(Err(error)) => return Err(RecordsError::of(error, self.shared.options.busy_max)),
                },
                () = self.shared.hurry.notified() => {}
            }
        }
    }

    /// The database answers, and this is its revision. The first look of a connection is news in any case: who knows what happened meanwhile.
    fn see(&mut self, revision: u64, schema: i64, is_first: bool) {
        self.back_off.reset();
        if std::mem::take(&mut self.is_told) {
            tracing::info!(records = %self.shared.url, "the database of the records is back");
        }
        if !self.shared.status.borrow().is_ready() {
            self.shared.status.send_replace(RecordsStatus::Ready { schema });
        }
        self.shared.news.send_if_modified(|known| {
            let is_news = is_first || *known != revision;
            *known = revision;
            is_news
        });
    }

    /// The database does not answer.
    fn fail(&mut self, error: &RecordsError) {
        let why = match error {
            RecordsError::Unavailable { why } | RecordsError::Unanswered { why } => why.clone(),
            other => other.to_string(),
        };
        let now = Timestamp::now();
        let is_old =
            |told_at: Timestamp| now.unix_micros().saturating_sub(told_at.unix_micros()) >= TOLD_EVERY_MICROS;
        if !self.is_told && self.told_at.is_none_or(is_old) {
            (self.is_told, self.told_at) = (true, Some(now));
            tracing::warn!(records = %self.shared.url, why, "the database of the records does not answer; it is asked again until it does");
        }
        self.shared.status.send_if_modified(|status| match status {
            RecordsStatus::Failing { why: known, .. } if *known == why => false,
            RecordsStatus::Failing { why: known, .. } => {
                *known = why;
                true
            }
            RecordsStatus::Connecting | RecordsStatus::Ready { .. } => {
                *status = RecordsStatus::Failing { why, since: now };
                true
            }
        });
    }
}

async fn listen(pool: &PgPool) -> Result<PgListener, sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    // What was missed meanwhile is learned from the revision, so there is no hurry to be connected again behind our back.
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    Ok(listener)
}

/// Does something with the file of SQLite, which may be on a disk that does not answer.
async fn of_file<T: Send + 'static>(
    file: &SqliteConnectOptions,
    work: impl FnOnce(&Path) -> T + Send + 'static,
) -> Result<T, RecordsError> {
    let path = file.get_filename().to_owned();
    match timeout(LOOK_MAX, spawn_blocking(move || work(&path))).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(RecordsError::Unavailable { why: error.to_string() }),
        Err(_) => Err(RecordsError::Unanswered { why: format!("no answer within {LOOK_MAX:?}") }),
    }
}

/// What the database says, if it does so in time.
pub(crate) async fn within<T>(
    patience: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
    options: &RecordsOptions,
) -> Result<T, RecordsError> {
    match timeout(patience, work).await {
        Ok(said) => said.map_err(|error| RecordsError::of(error, options.busy_max)),
        Err(_) => Err(RecordsError::Unanswered { why: format!("no answer within {patience:?}") }),
    }
}

/// The revision, out of the row that has it.
fn revision<R>(row: &R) -> Result<u64, RecordsError>
where
    R: sqlx::Row,
    usize: sqlx::ColumnIndex<R>,
    i64: for<'r> sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    let revision: i64 = row.try_get(0).map_err(|error| RecordsError::of(error, Duration::ZERO))?;
    Ok(u64::try_from(revision).unwrap_or(0))
}
