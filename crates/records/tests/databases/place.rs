//! A fresh place for records, and a hand that writes SQL there.

use std::path::PathBuf;
use std::str::FromStr as _;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, Row as _};
use tollgate_records::{Records, RecordsOptions, RecordsUrl};

use super::{PostgresServer, SET_UP_MAX, is_postgres_skipped};

/// An empty database that nobody else uses.
pub(crate) struct Place {
    /// As a person types it, with its password.
    pub(crate) typed_url: String,
    /// Goes with the place.
    folder: Option<PathBuf>,
}

/// Whoever types SQL.
pub(crate) enum Hand {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Place {
    /// A file that does not exist yet, in a folder that does not either.
    pub(crate) fn sqlite() -> Place {
        let folder = std::env::temp_dir().join(format!("tollgate-records-{}-{}", std::process::id(), next()));
        Place { typed_url: format!("sqlite:{}/state/tollgate.db", folder.display()), folder: Some(folder) }
    }

    /// A database of the server that all tests of this binary share; `None` where it is left out.
    pub(crate) async fn postgres() -> Option<Place> {
        if is_postgres_skipped() {
            return None;
        }
        Some(Place::on(PostgresServer::shared().await).await)
    }

    /// A database of a server of one's own.
    pub(crate) async fn on(server: &PostgresServer) -> Place {
        let name = format!("records_{}", next());
        server.create_database(&name).await;
        Place { typed_url: server.url(&name), folder: None }
    }

    /// A database that is yet to be created, of a server that need not run yet.
    pub(crate) fn later(server: &PostgresServer, name: &str) -> Place {
        Place { typed_url: server.url(name), folder: None }
    }

    /// The same database by another port.
    pub(crate) async fn behind(server: &PostgresServer, port: u16) -> Place {
        let place = Place::on(server).await;
        Place {
            typed_url: place.typed_url.replace(&server.port.to_string(), &port.to_string()),
            folder: None,
        }
    }

    pub(crate) fn url(&self) -> RecordsUrl {
        RecordsUrl::parse(&self.typed_url).unwrap()
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(self.typed_url.strip_prefix("sqlite:").unwrap())
    }

    /// Another instance, which is ready.
    pub(crate) async fn open(&self) -> Records {
        self.open_with(RecordsOptions::default()).await
    }

    pub(crate) async fn open_with(&self, options: RecordsOptions) -> Records {
        let records = Records::open(&self.url(), options).unwrap();
        records.ready_within(SET_UP_MAX).await.unwrap();
        records
    }

    /// A connection for whoever types SQL.
    pub(crate) async fn hand(&self) -> Hand {
        if self.typed_url.starts_with("sqlite:") {
            let options = SqliteConnectOptions::new().filename(self.path()).busy_timeout(SET_UP_MAX);
            Hand::Sqlite(options.disable_statement_logging().connect().await.unwrap())
        } else {
            let options = PgConnectOptions::from_str(&self.typed_url).unwrap();
            Hand::Postgres(options.disable_statement_logging().connect().await.unwrap())
        }
    }

    /// Types SQL on a connection of its own.
    pub(crate) async fn sql(&self, sql: &str) -> sqlx::Result<u64> {
        self.hand().await.sql(sql).await
    }
}

impl Hand {
    /// How many rows it changed.
    pub(crate) async fn sql(&mut self, sql: &str) -> sqlx::Result<u64> {
        let sql = AssertSqlSafe(sql.to_owned());
        match self {
            Hand::Sqlite(connection) => {
                connection.execute(sqlx::raw_sql(sql)).await.map(|done| done.rows_affected())
            }
            Hand::Postgres(connection) => {
                connection.execute(sqlx::raw_sql(sql)).await.map(|done| done.rows_affected())
            }
        }
    }

    /// The one number that a query returns.
    pub(crate) async fn number(&mut self, sql: &str) -> i64 {
        let sql = AssertSqlSafe(sql.to_owned());
        match self {
            Hand::Sqlite(connection) => sqlx::query(sql).fetch_one(connection).await.unwrap().get(0),
            Hand::Postgres(connection) => sqlx::query(sql).fetch_one(connection).await.unwrap().get(0),
        }
    }
}

fn next() -> u32 {
    static MADE: AtomicU32 = AtomicU32::new(0);
    MADE.fetch_add(1, Ordering::Relaxed)
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
