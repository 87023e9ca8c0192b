//! Who looks after the database: connects, migrates, tells of changes, and begins anew when it is gone. One task, which nobody waits for.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgListener, PgPool};
use sqlx::sqlite::SqlitePool;
use tokio::time::timeout;

use crate::back_off::BackOff;
use crate::pool::Pool;
use crate::records::Shared;
use crate::{RecordsError, RecordsOptions, RecordsStatus, Timestamp, migrations, pool};

/// What PostgreSQL's triggers notify.
const CHANNEL: &str = "tollgate_revision";
const REVISION_SQL: &str = "SELECT revision FROM tollgate_revision";
/// Longest that a look at the database may take before it counts as gone.
pub(crate) const LOOK_MAX: Duration = Duration::from_secs(2);

/// Runs until the filing room is closed or forgotten.
pub(crate) async fn keep(shared: Arc<Shared>) {
    let mut back_off = BackOff::new(shared.options.back_off_max);
    loop {
        let Err(error) = keep_once(&shared, &mut back_off).await;
        fail(&shared, &error);
        let pause = back_off.next();
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shared.hurry.notified() => {}
        }
    }
}

/// Connects, and watches until something fails.
async fn keep_once(
    shared: &Shared,
    back_off: &mut BackOff,
) -> Result<std::convert::Infallible, RecordsError> {
    let migrated = migrations::run(&shared.pool, &shared.options).await?;
    if migrated.from != migrated.to {
        tracing::info!(
            from = migrated.from,
            to = migrated.to,
            "the tables of the records were made or changed"
        );
    }
    match &shared.pool {
        Pool::Sqlite { readers, .. } => watch_sqlite(shared, readers, migrated.to, back_off).await,
        Pool::Postgres { options, .. } => {
            shared.pool.renew(&shared.options);
            // A pool of its own each time: a connection that a network swallowed would keep the one place of the last.
            let pool = pool::postgres_pool(options, 1, &shared.options);
            let listener = within(LOOK_MAX, listen(&pool), &shared.options).await?;
            watch_postgres(shared, listener, migrated.to, back_off).await
        }
    }
}

async fn listen(pool: &PgPool) -> Result<PgListener, sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    // What was missed meanwhile is learned from the revision, so there is no hurry to be connected again behind our back.
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    Ok(listener)
}

async fn watch_sqlite(
    shared: &Shared,
    readers: &SqlitePool,
    schema: i64,
    back_off: &mut BackOff,
) -> Result<std::convert::Infallible, RecordsError> {
    let mut is_first = true;
    loop {
        let look = sqlx::query(REVISION_SQL).fetch_one(readers);
        see(shared, revision(&within(LOOK_MAX, look, &shared.options).await?)?, schema, is_first);
        is_first = false;
        back_off.reset();
        tokio::select! {
            () = tokio::time::sleep(shared.options.poll) => {}
            () = shared.hurry.notified() => {}
        }
    }
}

async fn watch_postgres(
    shared: &Shared,
    mut listener: PgListener,
    schema: i64,
    back_off: &mut BackOff,
) -> Result<std::convert::Infallible, RecordsError> {
    let mut is_first = true;
    loop {
        let look = sqlx::query(REVISION_SQL).fetch_one(&mut listener);
        see(shared, revision(&within(LOOK_MAX, look, &shared.options).await?)?, schema, is_first);
        is_first = false;
        back_off.reset();
        tokio::select! {
            // A notification says only that it is time to look; one that is lost is made up for by the next look.
            told = timeout(shared.options.poll_behind_news, listener.try_recv()) => match told {
                Ok(Ok(Some(_))) | Err(_) => while listener.next_buffered().is_some() {},
                Ok(Ok(None)) => {
                    return Err(RecordsError::Unanswered { why: "the server ended the connection".to_owned() });
                }
                Ok(Err(error)) => return Err(RecordsError::of(error, shared.options.busy_max)),
            },
            () = shared.hurry.notified() => {}
        }
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

/// The database answers, and this is its revision. The first look of a connection is news in any case: who knows what happened meanwhile.
fn see(shared: &Shared, revision: u64, schema: i64, is_first: bool) {
    let was_ready = shared.status.borrow().is_ready();
    if !was_ready {
        if matches!(*shared.status.borrow(), RecordsStatus::Failing { .. }) {
            tracing::info!(records = %shared.url, "the database of the records is back");
        }
        shared.status.send_replace(RecordsStatus::Ready { schema });
    }
    shared.news.send_if_modified(|known| {
        let is_news = is_first || *known != revision;
        *known = revision;
        is_news
    });
}

/// The database does not answer. One line of the log for an outage, and one for its end.
fn fail(shared: &Shared, error: &RecordsError) {
    let why = match error {
        RecordsError::Unavailable { why } | RecordsError::Unanswered { why } => why.clone(),
        other => other.to_string(),
    };
    shared.status.send_if_modified(|status| match status {
        RecordsStatus::Failing { why: known, .. } => {
            let is_another = *known != why;
            known.clone_from(&why);
            is_another
        }
        RecordsStatus::Connecting | RecordsStatus::Ready { .. } => {
            tracing::warn!(records = %shared.url, why, "the database of the records does not answer; it is asked again until it does");
            *status = RecordsStatus::Failing { why: why.clone(), since: Timestamp::now() };
            true
        }
    });
}
