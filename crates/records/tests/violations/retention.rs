//! What is too old or too much goes.

use std::time::Duration;

use tollgate_records::ViolationSettings;

use super::{denial, log, rows, second};
use crate::databases::{Place, until};

on_both!(what_is_too_old_goes_and_the_rest_stays, the_oldest_of_too_many_go, the_log_does_so_by_itself,);

const HOUR: i64 = 3_600;

async fn what_is_too_old_goes_and_the_rest_stays(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    for key in 0..1_200 {
        log.note(denial("login", &format!("old:{key}"), second(key / 1_000)));
    }
    for key in 0..10 {
        log.note(denial("login", &format!("new:{key}"), second(5 * HOUR)));
    }
    log.flush().await.unwrap();
    let mut settings = ViolationSettings::default();
    settings.keep_for = Duration::from_hours(2);
    settings.keep_totals_for = Duration::from_hours(3);
    assert_eq!(records.trim_violations(&settings, second(6 * HOUR)).await.unwrap(), 1_200);
    assert!(rows(&records).await.iter().all(|row| row.bucket_key.starts_with("new")));
    assert_eq!(records.violation_totals(None, None, None).await.unwrap().len(), 1, "the other hour is gone");
    assert_eq!(records.trim_violations(&settings, second(6 * HOUR)).await.unwrap(), 0);
    assert_eq!(rows(&records).await.len(), 10);
}

async fn the_oldest_of_too_many_go(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    for key in 0..1_500 {
        log.note(denial("login", &format!("user:{key}"), second(key)));
    }
    log.flush().await.unwrap();
    let mut settings = ViolationSettings::default();
    settings.rows_kept_max = 700;
    assert_eq!(records.trim_violations(&settings, second(2_000)).await.unwrap(), 800);
    let rows = rows(&records).await;
    assert_eq!((rows.len(), rows.last().unwrap().bucket_key.as_str()), (700, "user:800"));
}

async fn the_log_does_so_by_itself(place: Place) {
    let records = place.open().await;
    let mut settings = ViolationSettings::default();
    settings.rows_kept_max = 5;
    settings.retention_pause = Duration::from_millis(20);
    settings.keep_for = Duration::from_hours(24 * 365 * 50);
    let log = tollgate_records::ViolationLog::new(Some(records.clone()), settings);
    for key in 0..50 {
        log.note(denial("login", &format!("user:{key}"), second(key)));
    }
    log.flush().await.unwrap();
    until("the others are gone", || async { rows(&records).await.len() == 5 }).await;
}
