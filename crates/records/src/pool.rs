//! Connections to either database. Those to a server are made when they are first needed, those to a file by the keeper: no call waits for them.

use std::sync::{PoisonError, RwLock};

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Connection as _};

use crate::records_url::Place;
use crate::session::Session;
use crate::{RecordsError, RecordsOptions, keeper};

/// What connections say they are, for `pg_stat_activity`.
const APPLICATION_NAME: &str = "tollgate";

/// Connections to either database.
pub(crate) enum Pool {
    /// `file` and `calls` are those of this connectedness, see [`Pool::renew`].
    Sqlite {
        file: RwLock<SqlitePools>,
        options: Box<SqliteConnectOptions>,
    },
    Postgres {
        calls: RwLock<PgPool>,
        options: Box<PgConnectOptions>,
    },
}

/// A file has one writer at a time, so there is one; readers do not wait for it (WAL).
#[derive(Clone)]
pub(crate) struct SqlitePools {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Pool {
    /// Connects to nothing yet. `None` where there is nothing to connect to.
    pub(crate) fn new(place: &Place, options: &RecordsOptions) -> Option<Pool> {
        match place {
            Place::Off => None,
            Place::Sqlite(path) => {
                let connect = sqlite_options(path, options);
                let file = RwLock::new(sqlite_pools(&connect, options));
                Some(Pool::Sqlite { file, options: Box::new(connect) })
            }
            Place::Postgres(url) => {
                let connect = postgres_options(url, options);
                let calls = postgres_pool(&connect, options.connections_max, options);
                Some(Pool::Postgres { calls: RwLock::new(calls), options: Box::new(connect) })
            }
        }
    }

    /// A transaction that sees one state of the database, and changes nothing.
    pub(crate) async fn read(&self, options: &RecordsOptions) -> Result<Session, RecordsError> {
        let begun = match self {
            Pool::Sqlite { file, .. } => current(file).readers.begin().await.map(Session::sqlite),
            Pool::Postgres { calls, .. } => {
                let calls = current(calls);
                calls
                    .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    .await
                    .map(Session::postgres)
            }
        };
        begun
            .map(|session| session.waiting(options.busy_max))
            .map_err(|error| RecordsError::of(error, options.busy_max))
    }

    /// A transaction that may change things.
    pub(crate) async fn write(&self, options: &RecordsOptions) -> Result<Session, RecordsError> {
        let begun = match self {
            // At once a writer: one that became it later would not wait for another, but fail.
            Pool::Sqlite { file, .. } => {
                current(file).writer.begin_with("BEGIN IMMEDIATE").await.map(Session::sqlite)
            }
            Pool::Postgres { calls, .. } => current(calls).begin().await.map(Session::postgres),
        };
        begun
            .map(|session| session.waiting(options.busy_max))
            .map_err(|error| RecordsError::of(error, options.busy_max))
    }

    /// Forgets connections to a server or file that was away. Those that a network swallowed are never told, and each would keep its place in
    /// the pool; those to a file that was removed go on as if it were there.
    pub(crate) async fn renew(&self, options: &RecordsOptions) -> Result<(), RecordsError> {
        match self {
            Pool::Sqlite { file, options: connect } => {
                let fresh = sqlite_pools(connect, options);
                keeper::within(options.connect_max, fresh.open_all(), options).await?;
                put(file, fresh);
            }
            Pool::Postgres { calls, options: connect } => {
                put(calls, postgres_pool(connect, options.connections_max, options));
            }
        }
        Ok(())
    }

    /// Ends every connection, and refuses others.
    pub(crate) async fn close(&self) {
        match self {
            Pool::Sqlite { file, .. } => {
                let SqlitePools { writer, readers } = current(file);
                readers.close().await;
                writer.close().await;
            }
            Pool::Postgres { calls, .. } => current(calls).close().await,
        }
    }
}

impl SqlitePools {
    /// Makes every connection there will be. One that was made later might be to a file that was put in the place of this one, and would
    /// take the log of this one for that one's, and write it there.
    async fn open_all(&self) -> Result<(), sqlx::Error> {
        let mut held = vec![self.writer.acquire().await?];
        for _ in 0..self.readers.options().get_max_connections() {
            held.push(self.readers.acquire().await?);
        }
        Ok(())
    }

    /// Those that only read.
    pub(crate) fn into_readers(self) -> SqlitePool {
        self.readers
    }
}

pub(crate) fn current<P: Clone>(pools: &RwLock<P>) -> P {
    pools.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn put<P>(pools: &RwLock<P>, fresh: P) {
    *pools.write().unwrap_or_else(PoisonError::into_inner) = fresh;
}

/// Connections to a file, none of them made yet.
fn sqlite_pools(connect: &SqliteConnectOptions, options: &RecordsOptions) -> SqlitePools {
    let of = |connections| {
        SqlitePoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(options.answer_max)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            // SQLite ends a transaction by itself when the disk fails, and the driver, who did not end it, begins no other on that connection.
            .before_acquire(|connection, _| Box::pin(async { Ok(!connection.is_in_transaction()) }))
    };
    SqlitePools {
        writer: of(1).connect_lazy_with(connect.clone()),
        readers: of(options.connections_max).connect_lazy_with(connect.clone()),
    }
}

/// So many connections to a server, none of them made yet.
pub(crate) fn postgres_pool(
    connect: &PgConnectOptions,
    connections: u32,
    options: &RecordsOptions,
) -> PgPool {
    let pool = PgPoolOptions::new().max_connections(connections).acquire_timeout(options.connect_max);
    pool.connect_lazy_with(connect.clone())
}

fn sqlite_options(path: &std::path::Path, options: &RecordsOptions) -> SqliteConnectOptions {
    let connect = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // In WAL a crash of the machine may lose the last changes, and nothing else.
        .synchronous(SqliteSynchronous::Normal)
        .foreign_keys(true)
        .busy_timeout(options.busy_max)
        .disable_statement_logging();
    match options.sqlite_pages_max {
        Some(pages) => connect.pragma("max_page_count", pages.to_string()),
        None => connect,
    }
}

fn postgres_options(url: &PgConnectOptions, options: &RecordsOptions) -> PgConnectOptions {
    let name = url.get_application_name().unwrap_or(APPLICATION_NAME).to_owned();
    let millis = |duration: std::time::Duration| format!("{}ms", duration.as_millis());
    let settings = [
        ("statement_timeout", millis(options.answer_max)),
        ("lock_timeout", millis(options.busy_max)),
        // One that was forgotten would hold the revision for ever.
        ("idle_in_transaction_session_timeout", millis(options.answer_max)),
    ];
    url.clone().application_name(&name).options(settings).disable_statement_logging()
}
