//! Real databases for tests: a file, or a database of a PostgreSQL that this test binary starts. All are gone with the tests.

mod place;
mod postgres_server;
mod swallowing_proxy;

pub(crate) use place::{Hand, Place};
pub(crate) use postgres_server::PostgresServer;
pub(crate) use swallowing_proxy::SwallowingProxy;

use std::future::Future;
use std::io::Write;
use std::time::Duration;

/// How long anything may take that is no promise of ours: a busy machine may take its time.
pub(crate) const SET_UP_MAX: Duration = Duration::from_mins(1);

/// Runs each promise on either database, as `sqlite::promise` and `postgres::promise`.
macro_rules! on_both {
    ($($promise:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                super::$promise($crate::databases::Place::sqlite()).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                if let Some(place) = $crate::databases::Place::postgres().await {
                    super::$promise(place).await;
                }
            })*
        }
    };
}

/// Waits until something is so, looking every few milliseconds; fails the test if that takes longer than [`SET_UP_MAX`].
#[track_caller]
pub(crate) fn until<F: Future<Output = bool>>(
    what: &str,
    mut is_so: impl FnMut() -> F,
) -> impl Future<Output = ()> {
    let looking = async move {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    async move {
        let in_time = tokio::time::timeout(SET_UP_MAX, looking).await;
        assert!(in_time.is_ok(), "not within {SET_UP_MAX:?}: {what}");
    }
}

/// Whether tests with PostgreSQL are left out; then each says so, and does nothing.
pub(crate) fn is_postgres_skipped() -> bool {
    let skipped = std::env::var("TOLLGATE_SKIP").unwrap_or_default();
    let is_skipped = skipped.split(',').any(|name| name.trim() == "postgres");
    if is_skipped {
        // Not by `eprintln!`, which is shown of failing tests alone.
        let _ = std::io::stderr().write_all(b"a test with postgres does nothing: named in TOLLGATE_SKIP\n");
    }
    is_skipped
}
