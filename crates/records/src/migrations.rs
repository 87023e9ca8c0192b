//! The tables, and how a database comes to have them. Safe when several programs start at once.

use std::time::Duration;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _};

use crate::pool::Pool;
use crate::{RecordsError, RecordsOptions, sqlite_file};

/// Ours: another program may keep its own beside it.
const TABLE: &str = "tollgate_migrations";
/// The last one, whose number is the schema's.
const SCHEMA_SQL: &str = "SELECT COALESCE(MAX(version), 0) AS version FROM tollgate_migrations";

/// One step for both databases.
struct Step {
    version: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

const STEPS: [Step; 2] = [
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
];

/// What was done to the tables. Numbers are those of migrations; 0 is an empty database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The schema that was found.
    pub from: i64,
    /// The schema that is there now.
    pub to: i64,
}

/// Brings the tables up to date, on a connection of its own. Says at once why there is none.
pub(crate) async fn run(pool: &Pool, options: &RecordsOptions) -> Result<Migrated, RecordsError> {
    let busy_max = options.busy_max;
    let told = |error| tell(error, busy_max);
    match pool {
        Pool::Sqlite { options, .. } => {
            sqlite_file::prepare(options.get_filename())?;
            let mut connection =
                options.connect().await.map_err(|error| RecordsError::of(error, busy_max))?;
            // The migrator locks nothing here: whoever writes first goes first, and the others look again.
            let mut turn = connection
                .begin_with("BEGIN IMMEDIATE")
                .await
                .map_err(|error| RecordsError::of(error, busy_max))?;
            turn.ensure_migrations_table(TABLE).await.map_err(told)?;
            let from = sqlx::query(SCHEMA_SQL).fetch_one(&mut *turn).await.and_then(|row| row.try_get(0));
            migrator(|step| step.sqlite).run_direct(None, &mut *turn, false).await.map_err(told)?;
            let from = from.map_err(|error| RecordsError::of(error, busy_max))?;
            turn.commit().await.map_err(|error| RecordsError::of(error, busy_max))?;
            connection.close().await.map_err(|error| RecordsError::of(error, busy_max))?;
            Ok(Migrated { from, to: schema() })
        }
        Pool::Postgres { options, .. } => {
            // Waiting for whoever migrates is no lock that may time out: the lock is the database's own, and its holder is at work.
            let options = (**options).clone().options([("lock_timeout", "0"), ("statement_timeout", "0")]);
            let mut connection =
                options.connect().await.map_err(|error| RecordsError::of(error, busy_max))?;
            connection.lock().await.map_err(told)?;
            connection.ensure_migrations_table(TABLE).await.map_err(told)?;
            let from =
                sqlx::query(SCHEMA_SQL).fetch_one(&mut connection).await.and_then(|row| row.try_get(0));
            migrator(|step| step.postgres).run_direct(None, &mut connection, false).await.map_err(told)?;
            let from = from.map_err(|error| RecordsError::of(error, busy_max))?;
            // The lock goes with the connection, also where a migration failed.
            connection.close().await.map_err(|error| RecordsError::of(error, busy_max))?;
            Ok(Migrated { from, to: schema() })
        }
    }
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
