//! The promised times: a change by anybody is read by every instance within a second, and so is everything within a second of the
//! database's return; who cannot write is told within the time that has a name.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(unused_macros, dead_code, unused_imports, reason = "other tests use the rest")]
mod databases;

use std::time::{Duration, Instant};

use databases::{Place, PostgresServer, SET_UP_MAX, is_postgres_skipped, until};
use tollgate_records::{
    ApplyError, Author, Entry, Records, RecordsError, RecordsOptions, RuleSet, RuleSetChange,
};

/// Longest from a change to its being read everywhere, and from the database's return to its being used.
const IN_FORCE_MAX: Duration = Duration::from_secs(1);
const ROUNDS: usize = 20;

#[expect(clippy::disallowed_methods, reason = "a promised time is measured")]
fn now() -> Instant {
    Instant::now()
}

/// Reads the rules whenever there is news, as an instance does, until they say this.
async fn in_force(records: &Records, text: &str) -> Instant {
    let mut news = records.news();
    let reading = async {
        loop {
            if let Ok(rules) = records.rule_set().await
                && rules.entries.first().is_some_and(|entry| entry.text == text)
            {
                return now();
            }
            news.changed().await.unwrap();
        }
    };
    tokio::time::timeout(SET_UP_MAX, reading).await.unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "judges find mistakes")]
fn fine(_: &RuleSet) -> Result<(), String> {
    Ok(())
}

fn put(text: &str) -> RuleSetChange {
    RuleSetChange { put_entries: vec![Entry::new("login", text)], ..RuleSetChange::default() }
}

/// Changes by SQL and by an instance, in turns, each read by two others.
async fn changes_are_in_force_within_a_second(name: &str, place: Place) {
    let writer = place.open().await;
    writer.apply(0, &put("begin"), &Author::new("alice"), "", fine).await.unwrap();
    let readers = [place.open().await, place.open().await];
    let mut hand = place.hand().await;
    let mut worst = Duration::ZERO;
    for round in 0..ROUNDS {
        let text = format!("round {round}");
        let waiting: Vec<_> = readers
            .iter()
            .map(|reader| {
                let (reader, text) = (reader.clone(), text.clone());
                tokio::spawn(async move { in_force(&reader, &text).await })
            })
            .collect();
        // So that changes fall anywhere between two looks.
        tokio::time::sleep(Duration::from_millis(37)).await;
        if round % 2 == 0 {
            hand.sql(&format!("UPDATE tollgate_entries SET text = '{text}'")).await.unwrap();
        } else {
            let base = writer.rule_set().await.unwrap().version;
            writer.apply(base, &put(&text), &Author::new("alice"), "", fine).await.unwrap();
        }
        let changed = now();
        for reader in waiting {
            worst = worst.max(reader.await.unwrap().saturating_duration_since(changed));
        }
    }
    println!("{name}: of {ROUNDS} changes the slowest was in force after {worst:?}");
    assert!(worst <= IN_FORCE_MAX, "{worst:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_in_force_everywhere_within_a_second_on_sqlite() {
    changes_are_in_force_within_a_second("sqlite", Place::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_in_force_everywhere_within_a_second_on_postgresql() {
    if let Some(place) = Place::postgres().await {
        changes_are_in_force_within_a_second("postgresql", place).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_whose_notification_is_lost_is_in_force_within_a_second() {
    let Some(place) = Place::postgres().await else { return };
    let (writer, reader) = (place.open().await, place.open().await);
    writer.apply(0, &put("begin"), &Author::new("alice"), "", fine).await.unwrap();
    let mut hand = place.hand().await;
    hand.sql(
        "CREATE OR REPLACE FUNCTION tollgate_raise_revision() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
              UPDATE tollgate_revision SET revision = revision + 1; RETURN NULL; END; $$",
    )
    .await
    .unwrap();
    let mut worst = Duration::ZERO;
    for round in 0..ROUNDS {
        let text = format!("silent {round}");
        let waiting = tokio::spawn({
            let (reader, text) = (reader.clone(), text.clone());
            async move { in_force(&reader, &text).await }
        });
        tokio::time::sleep(Duration::from_millis(37)).await;
        hand.sql(&format!("UPDATE tollgate_entries SET text = '{text}'")).await.unwrap();
        let changed = now();
        worst = worst.max(waiting.await.unwrap().saturating_duration_since(changed));
    }
    println!("without notifications: of {ROUNDS} changes the slowest was in force after {worst:?}");
    assert!(worst <= IN_FORCE_MAX, "{worst:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_are_read_again_within_a_second_of_the_return_of_the_database() {
    if is_postgres_skipped() {
        return;
    }
    let mut server = PostgresServer::start().await;
    let place = Place::on(&server).await;
    let records = place.open().await;
    records.apply(0, &put("begin"), &Author::new("alice"), "", fine).await.unwrap();
    let mut worst = Duration::ZERO;
    for round in 0..5_u32 {
        server.kill();
        until("it is told", || async { !records.status().is_ready() }).await;
        // Longer each time: pauses between attempts are at their longest by then.
        tokio::time::sleep(Duration::from_millis(500) * round).await;
        let text = format!("return {round}");
        let waiting = tokio::spawn({
            let (records, text) = (records.clone(), text.clone());
            async move { in_force(&records, &text).await }
        });
        server.restart().await;
        let returned = now();
        place.sql(&format!("UPDATE tollgate_entries SET text = '{text}'")).await.unwrap();
        worst = worst.max(waiting.await.unwrap().saturating_duration_since(returned));
    }
    println!("of 5 returns of the database the slowest was noticed after {worst:?}");
    assert!(worst <= IN_FORCE_MAX, "{worst:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cannot_write_is_told_within_a_second_and_a_half() {
    let place = Place::sqlite();
    let records = place.open().await;
    let mut hand = place.hand().await;
    hand.sql("BEGIN IMMEDIATE").await.unwrap();
    let begun = now();
    let told = records.apply(0, &put("one"), &Author::new("alice"), "", fine).await;
    let waited = now().saturating_duration_since(begun);
    let busy_max = RecordsOptions::default().busy_max;
    assert_eq!(told, Err(ApplyError::Records(RecordsError::Locked { waited: busy_max })));
    assert!(waited >= busy_max && waited <= busy_max + Duration::from_millis(500), "{waited:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_refused_at_once_while_the_database_is_away() {
    if is_postgres_skipped() {
        return;
    }
    let mut server = PostgresServer::start().await;
    let place = Place::on(&server).await;
    let records = place.open().await;
    server.kill();
    until("it is told", || async { !records.status().is_ready() }).await;
    let begun = now();
    for _ in 0..1_000 {
        assert!(matches!(records.rule_set().await, Err(RecordsError::Unavailable { .. })));
    }
    let each = now().saturating_duration_since(begun) / 1_000;
    println!("a call without a database took {each:?}");
    assert!(each < Duration::from_millis(1), "{each:?}");
}
