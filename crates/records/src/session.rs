//! One SQL text for two databases: a transaction of either, what is bound to its statements, and the rows that come back.

use std::borrow::Cow;
use std::time::Duration;

use sqlx::SqlSafeStr;
use sqlx::postgres::{PgArguments, PgRow, Postgres};
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteRow};
use sqlx::{Decode, Row as _, Transaction, Type};

use crate::{RecordsError, Timestamp};

/// A transaction. Dropped without [`Session::commit`], it changed nothing.
///
/// Statements number their values `$1`, `$2`, …, and use what both databases understand: `ON CONFLICT`, `RETURNING`, `CAST`.
pub(crate) struct Session {
    transaction: Either,
    /// How long a lock is waited for, to be told of.
    busy_max: Duration,
}

enum Either {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

/// What is bound to a statement. Each is its type even where it is nothing: PostgreSQL asks.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Text(Option<Cow<'a, str>>),
    Integer(Option<i64>),
    Boolean(bool),
    Bytes(&'a [u8]),
    Time(Option<Timestamp>),
}

/// A row that came back.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Session {
    pub(crate) fn sqlite(transaction: Transaction<'static, Sqlite>) -> Session {
        Session { transaction: Either::Sqlite(transaction), busy_max: Duration::ZERO }
    }

    pub(crate) fn postgres(transaction: Transaction<'static, Postgres>) -> Session {
        Session { transaction: Either::Postgres(transaction), busy_max: Duration::ZERO }
    }

    /// Says how long it waits for locks.
    pub(crate) fn waiting(self, busy_max: Duration) -> Session {
        Session { busy_max, ..self }
    }

    /// How the place of a value is written in a statement with very many of them: SQLite looks for each by its name, so there it has none.
    pub(crate) fn place(&self, number: usize) -> Cow<'static, str> {
        match self.transaction {
            Either::Sqlite(_) => "?".into(),
            Either::Postgres(_) => format!("${number}").into(),
        }
    }

    /// How many rows a statement changed.
    pub(crate) async fn execute(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<u64, RecordsError> {
        let busy_max = self.busy_max;
        let changed = match &mut self.transaction {
            Either::Sqlite(transaction) => {
                sqlite_query(sql, values).execute(&mut **transaction).await.map(|done| done.rows_affected())
            }
            Either::Postgres(transaction) => {
                postgres_query(sql, values).execute(&mut **transaction).await.map(|done| done.rows_affected())
            }
        };
        changed.map_err(|error| RecordsError::of(error, busy_max))
    }

    /// The rows that a statement returns.
    pub(crate) async fn rows(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, RecordsError> {
        let busy_max = self.busy_max;
        let rows = match &mut self.transaction {
            Either::Sqlite(transaction) => sqlite_query(sql, values)
                .fetch_all(&mut **transaction)
                .await
                .map(|rows| rows.into_iter().map(Row::Sqlite).collect()),
            Either::Postgres(transaction) => postgres_query(sql, values)
                .fetch_all(&mut **transaction)
                .await
                .map(|rows| rows.into_iter().map(Row::Postgres).collect()),
        };
        rows.map_err(|error| RecordsError::of(error, busy_max))
    }

    /// The first row, if there is any.
    pub(crate) async fn row(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, RecordsError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Makes the revision one more, and keeps everybody else from doing so until this transaction ends: changes happen one after the other,
    /// and numbers that are given meanwhile are seen in their order.
    pub(crate) async fn take_turn(&mut self) -> Result<i64, RecordsError> {
        let raise = "UPDATE tollgate_revision SET revision = revision + 1 RETURNING revision";
        match self.row(raise, &[]).await? {
            Some(row) => row.get("revision"),
            None => {
                Err(RecordsError::Malformed { what: "the row of tollgate_revision is missing".to_owned() })
            }
        }
    }

    /// Makes all of it true.
    pub(crate) async fn commit(self) -> Result<(), RecordsError> {
        let busy_max = self.busy_max;
        let committed = match self.transaction {
            Either::Sqlite(transaction) => transaction.commit().await,
            Either::Postgres(transaction) => transaction.commit().await,
        };
        committed.map_err(|error| RecordsError::of(error, busy_max))
    }
}

impl Row {
    /// What stands in a column.
    pub(crate) fn get<T>(&self, column: &'static str) -> Result<T, RecordsError>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        let got = match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        };
        got.map_err(|error| RecordsError::of(error, Duration::ZERO))
    }

    /// The text of a column that people write by hand. SQLite takes any bytes for one; those that are no text are shown as `\u{fffd}`, so that one broken
    /// row is a mistake in that row, and hides no others.
    pub(crate) fn text(&self, column: &'static str) -> Result<Option<String>, RecordsError> {
        let Row::Sqlite(row) = self else { return self.get(column) };
        let bytes: Result<Option<Vec<u8>>, sqlx::Error> = row.try_get_unchecked(column);
        let lossy = |bytes: Vec<u8>| {
            String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        };
        bytes.map(|bytes| bytes.map(lossy)).map_err(|error| RecordsError::of(error, Duration::ZERO))
    }
}

fn sqlite_query<'q>(sql: impl SqlSafeStr, values: &[Value<'_>]) -> Query<'q, Sqlite, SqliteArguments> {
    let mut query = sqlx::query(sql);
    for value in values.iter().cloned() {
        query = match value {
            Value::Text(text) => query.bind(text.map(Cow::into_owned)),
            Value::Integer(integer) => query.bind(integer),
            Value::Boolean(boolean) => query.bind(boolean),
            Value::Bytes(bytes) => query.bind(bytes.to_vec()),
            Value::Time(time) => query.bind(time),
        };
    }
    query
}

fn postgres_query<'q>(sql: impl SqlSafeStr, values: &[Value<'_>]) -> Query<'q, Postgres, PgArguments> {
    let mut query = sqlx::query(sql);
    for value in values.iter().cloned() {
        query = match value {
            Value::Text(text) => query.bind(text.map(Cow::into_owned)),
            Value::Integer(integer) => query.bind(integer),
            Value::Boolean(boolean) => query.bind(boolean),
            Value::Bytes(bytes) => query.bind(bytes.to_vec()),
            Value::Time(time) => query.bind(time),
        };
    }
    query
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Value<'a> {
        Value::Text(Some(Cow::Borrowed(text)))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Value<'a> {
        Value::Text(Some(Cow::Borrowed(text)))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::Text(Some(Cow::Owned(text)))
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Value<'a> {
        Value::Text(text.map(Cow::Borrowed))
    }
}

impl<'a> From<&'a Option<String>> for Value<'a> {
    fn from(text: &'a Option<String>) -> Value<'a> {
        Value::from(text.as_deref())
    }
}

impl From<i64> for Value<'_> {
    fn from(integer: i64) -> Self {
        Value::Integer(Some(integer))
    }
}

impl From<bool> for Value<'_> {
    fn from(boolean: bool) -> Self {
        Value::Boolean(boolean)
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(time: Timestamp) -> Self {
        Value::Time(Some(time))
    }
}

impl From<Option<Timestamp>> for Value<'_> {
    fn from(time: Option<Timestamp>) -> Self {
        Value::Time(time)
    }
}
