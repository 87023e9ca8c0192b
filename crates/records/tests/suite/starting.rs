//! Starting: tables are made by whoever comes first, and nobody waits for what is not there.

use std::time::Duration;

use tollgate_records::{Records, RecordsError, RecordsOptions, RecordsStatus, RecordsUrl};

use crate::databases::{Place, SET_UP_MAX, until};
use crate::{change, put};

on_both!(
    several_that_start_at_once_make_the_tables_once,
    tables_that_are_there_keep_what_they_hold,
    tables_of_a_later_program_are_not_touched,
    a_room_that_was_closed_refuses_every_call,
);

async fn several_that_start_at_once_make_the_tables_once(place: Place) {
    let starts: Vec<_> = (0..8)
        .map(|_| {
            let url = place.url();
            tokio::spawn(async move { Records::migrate(&url).await })
        })
        .collect();
    let mut made = Vec::new();
    for start in starts {
        made.push(start.await.unwrap().unwrap());
    }
    let first = made.iter().filter(|made| made.from == 0).count();
    assert_eq!(first, 1, "{made:?}");
    let schema = made[0].to;
    assert!(made.iter().all(|made| made.to == schema && [0, schema].contains(&made.from)), "{made:?}");
    assert_eq!(place.open().await.status(), RecordsStatus::Ready { schema });
}

async fn tables_that_are_there_keep_what_they_hold(place: Place) {
    let records = place.open().await;
    change(&records, &put("login", "one")).await;
    records.close().await;
    let again = Records::migrate(&place.url()).await.unwrap();
    assert_eq!(again.from, again.to);
    assert_eq!(place.open().await.rule_set().await.unwrap().entries[0].text, "one");
}

async fn tables_of_a_later_program_are_not_touched(place: Place) {
    Records::migrate(&place.url()).await.unwrap();
    let later = "INSERT INTO tollgate_migrations (version, description, success, checksum, execution_time) \
                 VALUES (9999, 'of a later program', TRUE, 'x', 0)";
    place.sql(later).await.unwrap();
    let refused = Records::migrate(&place.url()).await;
    assert_eq!(refused, Err(RecordsError::TooNew { migration: 9_999 }));
    let records = Records::open(&place.url(), RecordsOptions::default()).unwrap();
    until("it is told", || async { matches!(records.status(), RecordsStatus::Failing { .. }) }).await;
    let told = records.status().to_string();
    assert!(
        told.contains("the tables are those of a later Tollgate (migration 9999); start that one"),
        "{told}"
    );
}

async fn a_room_that_was_closed_refuses_every_call(place: Place) {
    let records = place.open().await;
    records.close().await;
    let refused = tokio::time::timeout(SET_UP_MAX, records.rule_set()).await.unwrap();
    assert!(matches!(refused, Err(RecordsError::Unavailable { .. })), "{refused:?}");
}

#[tokio::test]
async fn nobody_waits_for_a_database_that_is_not_there() {
    // A port that nobody listens at, and a folder that nobody can make.
    for (url, why) in [
        ("postgres://u:secret@127.0.0.1:1/d", "refused"),
        ("sqlite:/proc/nowhere/tollgate.db", "cannot make '/proc/nowhere'"),
    ] {
        let records = Records::open(&RecordsUrl::parse(url).unwrap(), RecordsOptions::default()).unwrap();
        assert_eq!(records.status(), RecordsStatus::Connecting);
        let early = records.rule_set().await;
        assert_eq!(early, Err(RecordsError::Unavailable { why: "not connected yet".to_owned() }));
        until("it is told why", || async { records.status().to_string().contains(why) }).await;
        let told =
            format!("{} {records:?}", records.ready_within(Duration::from_millis(1)).await.unwrap_err());
        assert!(told.contains(why) && !told.contains("secret"), "{told}");
        let migrated = Records::migrate(&RecordsUrl::parse(url).unwrap()).await;
        assert!(migrated.unwrap_err().to_string().contains(why));
    }
}

#[tokio::test]
async fn records_that_are_off_are_none() {
    let off = RecordsUrl::parse("off").unwrap();
    assert!(Records::open(&off, RecordsOptions::default()).is_none());
    assert!(Records::migrate(&off).await.unwrap_err().to_string().contains("the records are `off`"));
}
