//! The tables, and how a database comes to have them. Safe when several programs start at once.

use std::time::Duration;

use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, SqlSafeStr};
use tokio::time::timeout;

use crate::pool::Pool;
use crate::{RecordsError, RecordsOptions, keeper, sqlite_file};

/// Ours: another program may keep its own beside it.
const TABLE: &str = "tollgate_migrations";
/// Longest that tables may take to be made, others' turns included.
const MIGRATION_MAX: Duration = Duration::from_mins(1);
/// The last one, whose number is the schema's.
const SCHEMA_SQL: &str = "SELECT COALESCE(MAX(version), 0) AS version FROM tollgate_migrations";

/// One step for both databases.
struct Step {
    version: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

const STEPS: [Step; 3] = [
    Step {
        version: 1,
        name: "the filing room",
        sqlite: include_str!("../migrations/sqlite/0001_filing_room.sql"),
        postgres: include_str!("../migrations/postgres/0001_filing_room.sql"),
    },
    Step {
        version: 2,
        name: "the violation log",
        sqlite: include_str!("../migrations/sqlite/0002_violations.sql"),
        postgres: include_str!("../migrations/postgres/0002_violations.sql"),
    },
    Step {
        version: 3,
        name: "the talkers",
        sqlite: include_str!("../migrations/sqlite/0003_talkers.sql"),
        postgres: include_str!("../migrations/postgres/0003_talkers.sql"),
    },
];

/// What was done to the tables. Numbers are those of migrations; 0 is an empty database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The schema that was found.
    pub from: i64,
    /// The schema that is there now.
    pub to: i64,
}

/// Brings the tables up to date, on a connection of its own. Says at once why there is none. Where there is nothing to do nothing is locked, so
/// that whoever starts beside a writer reads.
pub(crate) async fn run(pool: &Pool, options: &RecordsOptions) -> Result<Migrated, RecordsError> {
    match pool {
        Pool::Sqlite { options: connect, .. } => {
            sqlite_file::prepare(connect.get_filename())?;
            let mut connection = keeper::within(options.connect_max, connect.connect(), options).await?;
            let found = sqlx::query(SCHEMA_SQL).fetch_one(&mut connection).await;
            let migrated = match found.and_then(|row| row.try_get(0)) {
                Ok(found) if found >= schema() => up_to_date(found),
                _ => timed(make_sqlite(&mut connection), options).await,
            };
            let _ = connection.close().await;
            migrated
        }
        Pool::Postgres { options: connect, .. } => {
            // Whoever migrates holds the lock for as long as it takes, and is not to be hurried by our settings.
            let connect = (**connect).clone().options([("lock_timeout", "0"), ("statement_timeout", "0")]);
            let mut connection = keeper::within(options.connect_max, connect.connect(), options).await?;
            let look = timeout(keeper::LOOK_MAX, sqlx::query(SCHEMA_SQL).fetch_one(&mut connection)).await;
            let migrated = match look.map(|found| found.and_then(|row| row.try_get(0))) {
                Ok(Ok(found)) if found >= schema() => up_to_date(found),
                Ok(_) => timed(make_postgres(&mut connection), options).await,
                Err(_) => {
                    Err(RecordsError::Unanswered { why: format!("no answer within {:?}", keeper::LOOK_MAX) })
                }
            };
            // The lock goes with the connection, also where a migration failed. Nobody waits for a server to say farewell.
            drop(connection);
            migrated
        }
    }
}

fn up_to_date(found: i64) -> Result<Migrated, RecordsError> {
    if found > schema() {
        return Err(RecordsError::TooNew { migration: found });
    }
    Ok(Migrated { from: found, to: found })
}

/// Makes tables, within a time that ends.
async fn timed(
    making: impl Future<Output = Result<i64, MigrateError>>,
    options: &RecordsOptions,
) -> Result<Migrated, RecordsError> {
    match timeout(MIGRATION_MAX, making).await {
        Ok(Ok(from)) => Ok(Migrated { from, to: schema() }),
        Ok(Err(error)) => Err(tell(error, options.busy_max)),
        Err(_) => Err(RecordsError::Unavailable {
            why: format!("the tables were not made within {MIGRATION_MAX:?}; see who holds a lock on them"),
        }),
    }
}

/// The schema that was found.
async fn make_sqlite(connection: &mut SqliteConnection) -> Result<i64, MigrateError> {
    // The migrator locks nothing here: whoever writes first goes first, and the others look again.
    let mut turn = connection.begin_with("BEGIN IMMEDIATE").await?;
    turn.ensure_migrations_table(TABLE).await?;
    let from = sqlx::query(SCHEMA_SQL).fetch_one(&mut *turn).await?.try_get(0)?;
    migrator(|step| step.sqlite).run_direct(None, &mut *turn, false).await?;
    turn.commit().await?;
    Ok(from)
}

/// The same.
async fn make_postgres(connection: &mut PgConnection) -> Result<i64, MigrateError> {
    connection.lock().await?;
    connection.ensure_migrations_table(TABLE).await?;
    let from = sqlx::query(SCHEMA_SQL).fetch_one(&mut *connection).await?.try_get(0)?;
    migrator(|step| step.postgres).run_direct(None, connection, false).await?;
    Ok(from)
}

/// The schema that this program works with.
pub(crate) fn schema() -> i64 {
    STEPS.iter().map(|step| step.version).max().unwrap_or(0)
}

fn migrator(sql: fn(&Step) -> &'static str) -> Migrator {
    let steps = STEPS.iter().map(|step| {
        Migration::new(
            step.version,
            step.name.into(),
            MigrationType::Simple,
            AssertSqlSafe(sql(step)).into_sql_str(),
            false,
        )
    });
    let mut migrator = Migrator::with_migrations(steps.collect());
    migrator.dangerous_set_table_name(TABLE);
    migrator.set_locking(false);
    migrator
}

fn tell(error: MigrateError, busy_max: Duration) -> RecordsError {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            RecordsError::of(error, busy_max)
        }
        MigrateError::VersionMissing(migration) => RecordsError::TooNew { migration },
        other => RecordsError::Refused { what: other.to_string() },
    }
}
