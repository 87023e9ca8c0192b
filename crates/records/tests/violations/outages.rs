//! A database that is away, locked or full: what is queued is kept up to the bound, then counted, and whoever notes does not notice.

use std::time::Duration;

use tollgate_records::{RecordsError, RecordsOptions, ViolationCounts, ViolationLog, ViolationSettings};

use super::{add_up, denial, filed_totals, log, rows, second};
use crate::databases::{Place, PostgresServer, is_postgres_skipped, until};

fn settings(queued_max: usize) -> ViolationSettings {
    let mut settings = ViolationSettings::default();
    settings.queued_max = queued_max;
    settings.rows_per_second = 100_000;
    settings.close_max = Duration::from_millis(300);
    settings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_queued_while_postgresql_was_away_is_stored_up_to_the_bound() {
    if is_postgres_skipped() {
        return;
    }
    let mut server = PostgresServer::start().await;
    let place = Place::on(&server).await;
    let records = place.open().await;
    let log = ViolationLog::new(Some(records.clone()), settings(700));
    log.note(denial("login", "before", second(0)));
    log.flush().await.unwrap();
    server.kill();
    let mut told = log.subscribe();
    for key in 0..1_000 {
        log.note(denial("login", &format!("user:{key}"), second(1)));
    }
    until("all are taken in", || async { log.totals().queued == 700 }).await;
    assert!(log.flush().await.is_err());
    let status = log.status();
    assert!(status.failing.is_some(), "{status:?}");
    assert_eq!((status.counts.denied, status.counts.stored, status.counts.dropped), (1_001, 1, 300));
    for key in 0..1_000 {
        assert_eq!(told.recv().await.unwrap().bucket_key, format!("user:{key}"), "the live stream goes on");
    }
    server.restart().await;
    until("the database is back", || async { log.flush().await.is_ok() }).await;
    let counts = ViolationCounts { denied: 1_001, stored: 701, dropped: 300, ..ViolationCounts::default() };
    assert_eq!(log.totals(), counts);
    assert_eq!(filed_totals(&records).await, counts);
    assert_eq!(rows(&records).await.len(), 701);
    assert!(log.status().failing.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_was_never_there_stops_nobody_and_is_told_of_at_the_end() {
    if is_postgres_skipped() {
        return;
    }
    let server = PostgresServer::prepare();
    let url = tollgate_records::RecordsUrl::parse(&server.url("nothing")).unwrap();
    let records = tollgate_records::Records::open(&url, RecordsOptions::default()).unwrap();
    let log = ViolationLog::new(Some(records), settings(100));
    for key in 0..150 {
        log.note(denial("login", &format!("user:{key}"), second(1)));
    }
    let counts = log.close().await;
    assert_eq!(counts, ViolationCounts { denied: 150, dropped: 150, ..ViolationCounts::default() });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn violations_wait_for_whoever_locks_the_file() {
    let place = Place::sqlite();
    let mut options = RecordsOptions::default();
    options.busy_max = Duration::from_millis(50);
    let records = place.open_with(options).await;
    let log = log(&records);
    let mut hand = place.hand().await;
    hand.sql("BEGIN IMMEDIATE").await.unwrap();
    for key in 0..100 {
        log.note(denial("login", &format!("user:{key}"), second(1)));
    }
    let locked = log.flush().await.unwrap_err();
    assert!(matches!(locked, RecordsError::Locked { .. }), "{locked}");
    let status = log.status();
    assert!(status.failing.unwrap().why.starts_with("the database is locked"));
    assert_eq!((status.counts.queued, status.counts.dropped), (100, 0));
    hand.sql("COMMIT").await.unwrap();
    until("the file is free", || async { log.flush().await.is_ok() }).await;
    assert_eq!(log.totals(), ViolationCounts { denied: 100, stored: 100, ..ViolationCounts::default() });
    assert_eq!(rows(&records).await.len(), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_of_and_counted_and_harms_nothing_else() {
    let place = Place::sqlite();
    let mut options = RecordsOptions::default();
    options.sqlite_pages_max = Some(120);
    let records = place.open_with(options).await;
    let log = ViolationLog::new(Some(records.clone()), settings(500));
    let mut refused = None;
    for round in 0..100 {
        for key in 0..100 {
            log.note(denial("login", &format!("user:{round}:{key}"), second(round)));
        }
        if let Err(error) = log.flush().await {
            refused = Some(error);
        }
    }
    assert_eq!(refused, Some(RecordsError::Full));
    let status = log.status();
    assert!(status.failing.unwrap().why.starts_with("the database is full"));
    let counts = status.counts;
    add_up(counts);
    assert_eq!((counts.denied, counts.queued), (10_000, 500));
    assert!(counts.stored > 0 && counts.dropped > 0, "{counts:?}");
    assert_eq!(rows(&records).await.len() as u64, counts.stored, "what is there can be read");
    place.sql("DELETE FROM rate_limit_violations").await.unwrap();
    until("there is room", || async { log.flush().await.is_ok() }).await;
    let counts = log.totals();
    assert_eq!((counts.queued, counts.dropped), (0, status.counts.dropped));
    assert_eq!(filed_totals(&records).await, counts);
}
