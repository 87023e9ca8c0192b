//! The live stream of violations.

use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;
use tollgate_records::{LIVE_MAX, ViolationCounts, ViolationLog, ViolationRecord, ViolationSettings};

use super::{denial, log, second, thousands_a_second};
use crate::databases::{Place, until};

on_both!(who_subscribed_is_told_what_will_be_stored);

async fn who_subscribed_is_told_what_will_be_stored(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    let (mut one, mut other) = (log.subscribe(), log.subscribe());
    for _ in 0..10 {
        log.note(denial("login", "user:1", second(0)));
    }
    for told in [&mut one, &mut other] {
        for _ in 0..3 {
            let violation: Arc<ViolationRecord> = told.recv().await.unwrap();
            assert_eq!((violation.bucket_key.as_str(), violation.violation_id), ("user:1", None));
        }
        assert!(told.try_recv().is_err(), "the rest is only counted");
    }
}

#[tokio::test]
async fn who_lags_behind_is_told_how_many_were_missed() {
    let log = ViolationLog::new(None, thousands_a_second());
    let mut told = log.subscribe();
    for key in 0..LIVE_MAX + 100 {
        log.note(denial("login", &format!("user:{key}"), second(0)));
    }
    until("all are taken in", || async { log.totals().queued == 0 }).await;
    assert!(matches!(told.recv().await, Err(RecvError::Lagged(100))));
    assert_eq!(told.recv().await.unwrap().bucket_key, "user:100");
}

#[tokio::test]
async fn without_a_database_all_is_counted_and_told() {
    let log = ViolationLog::new(None, ViolationSettings::default());
    let mut told = log.subscribe();
    for _ in 0..10 {
        log.note(denial("login", "user:1", second(0)));
    }
    assert_eq!(told.recv().await.unwrap().rule, "login");
    log.flush().await.unwrap();
    let status = log.status();
    assert_eq!(status.counts, ViolationCounts { denied: 10, sampled_out: 10, ..ViolationCounts::default() });
    assert!(!status.has_database && status.failing.is_none());
    assert_eq!(log.close().await, status.counts);
}
