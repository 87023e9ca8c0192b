//! What instances tell each other of who talks most: a sheet each, of seconds ago, which is no news.

use std::time::Duration;

use tollgate_records::{
    AuditFilter, Records, RecordsError, TALKER_SHEET_BYTES_MAX, TALKER_SHEETS_MAX, Timestamp,
};

use crate::databases::Place;

on_both!(
    the_last_sheet_of_every_other_instance_is_read,
    sheets_that_are_old_are_not_read_and_are_forgotten,
    a_sheet_from_the_future_is_passed_over,
    a_sheet_is_as_long_as_may_be_and_no_longer,
    no_more_sheets_are_read_than_may_be,
    a_sheet_is_no_news_and_no_line_of_the_audit_trail,
);

fn lately() -> Timestamp {
    Timestamp::now().before(Duration::from_secs(10))
}

async fn read(records: &Records, besides: &str) -> Vec<String> {
    records.shared_talkers(besides, lately()).await.unwrap()
}

/// A sheet that says who wrote it, written so many seconds from now.
async fn write_at(place: &Place, instance: &str, seconds: i64) {
    let at = Timestamp::from_unix_micros(Timestamp::now().unix_micros() + seconds * 1_000_000);
    let insert = format!("INSERT INTO tollgate_talkers VALUES ('{instance}', '{at}', 'of {instance}')");
    place.sql(&insert).await.unwrap();
}

async fn the_last_sheet_of_every_other_instance_is_read(place: Place) {
    let (one, other) = (place.open().await, place.open().await);
    assert!(read(&other, "b").await.is_empty());
    for sheet in ["first", "second"] {
        one.share_talkers("a", sheet).await.unwrap();
    }
    other.share_talkers("b", "its own").await.unwrap();
    assert_eq!(read(&other, "b").await, ["second"]);
    assert_eq!(read(&one, "a").await, ["its own"]);
    let all = read(&one, "somebody").await;
    assert_eq!(all, ["its own", "second"], "the newest first");
}

async fn sheets_that_are_old_are_not_read_and_are_forgotten(place: Place) {
    let records = place.open().await;
    write_at(&place, "gone", -61).await;
    write_at(&place, "late", -20).await;
    write_at(&place, "here", -3).await;
    assert_eq!(read(&records, "a").await, ["of here"]);
    records.share_talkers("a", "x").await.unwrap();
    let left = place.hand().await.number("SELECT COUNT(*) FROM tollgate_talkers").await;
    assert_eq!(left, 3, "all but the one that is older than a minute");
}

async fn a_sheet_from_the_future_is_passed_over(place: Place) {
    let records = place.open().await;
    write_at(&place, "ahead", 30).await;
    write_at(&place, "far-ahead", 90).await;
    assert_eq!(read(&records, "a").await, ["of ahead"]);
}

async fn a_sheet_is_as_long_as_may_be_and_no_longer(place: Place) {
    let records = place.open().await;
    // Two bytes a letter: bytes are counted, by the tables as well.
    let longest = "é".repeat(TALKER_SHEET_BYTES_MAX / 2);
    records.share_talkers("a", &longest).await.unwrap();
    assert_eq!(read(&records, "b").await, [longest.as_str()]);
    for (instance, sheet, field) in
        [("a", longest + "x", "sheet"), ("a", String::new(), "sheet"), ("", "x".to_owned(), "instance")]
    {
        match records.share_talkers(instance, &sheet).await {
            Err(RecordsError::Invalid { field: told, .. }) => assert_eq!(told, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    let by_hand = format!("UPDATE tollgate_talkers SET sheet = '{}'", "x".repeat(TALKER_SHEET_BYTES_MAX + 1));
    assert!(place.sql(&by_hand).await.is_err(), "nor by hand");
}

async fn no_more_sheets_are_read_than_may_be(place: Place) {
    let records = place.open().await;
    let at = Timestamp::now();
    let rows: Vec<String> = (0..=TALKER_SHEETS_MAX).map(|n| format!("('{n}', '{at}', 'x')")).collect();
    place.sql(&format!("INSERT INTO tollgate_talkers VALUES {}", rows.join(", "))).await.unwrap();
    assert_eq!(read(&records, "nobody").await.len(), TALKER_SHEETS_MAX);
}

async fn a_sheet_is_no_news_and_no_line_of_the_audit_trail(place: Place) {
    let records = place.open().await;
    let mut hand = place.hand().await;
    let before = hand.number("SELECT revision FROM tollgate_revision").await;
    records.share_talkers("a", "x").await.unwrap();
    records.share_talkers("a", "y").await.unwrap();
    assert_eq!(hand.number("SELECT revision FROM tollgate_revision").await, before);
    assert!(records.audit(&AuditFilter::default(), None, 5).await.unwrap().is_empty());
}
