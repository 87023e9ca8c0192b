//! The file of SQLite: whose it is, what happens when somebody else writes, when it is full, and when it is none.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(unused_macros, dead_code, unused_imports, reason = "other tests use the rest")]
mod databases;

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use databases::{Place, SET_UP_MAX, until};
use tollgate_policy::Order;
use tollgate_records::{
    ApplyError, Author, Entry, NewOrder, Records, RecordsError, RecordsOptions, RecordsStatus, RuleSet,
    RuleSetChange,
};

#[expect(clippy::unnecessary_wraps, reason = "judges find mistakes")]
fn fine(_: &RuleSet) -> Result<(), String> {
    Ok(())
}

fn put(name: &str, text: &str) -> RuleSetChange {
    RuleSetChange { put_entries: vec![Entry::new(name, text)], ..RuleSetChange::default() }
}

fn kill_switch() -> NewOrder {
    NewOrder { order: Order::KillSwitch { rule: None }, reason: "fire".to_owned(), expires_at: None }
}

#[tokio::test]
async fn file_and_folder_are_for_their_owner_alone() {
    let place = Place::sqlite();
    let records = place.open().await;
    records.give_order(&kill_switch(), &Author::new("alice")).await.unwrap();
    let folder = place.path().parent().unwrap().to_owned();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let mut files = 0;
    for file in folder.read_dir().unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        files += 1;
    }
    // The database, its log, and the index of that.
    assert_eq!(files, 3);
}

#[tokio::test]
async fn a_second_writer_is_told_that_the_file_is_locked_and_readers_go_on() {
    let place = Place::sqlite();
    let mut options = RecordsOptions::default();
    options.busy_max = Duration::from_millis(50);
    let records = place.open_with(options).await;
    let alice = Author::new("alice");
    records.apply(0, &put("login", "one"), &alice, "", fine).await.unwrap();
    let mut hand = place.hand().await;
    hand.sql("INSERT INTO tollgate_entries (name, text) VALUES ('other', 'by hand')").await.unwrap();
    hand.sql("BEGIN IMMEDIATE").await.unwrap();
    let locked = RecordsError::Locked { waited: Duration::from_millis(50) };
    assert_eq!(
        records.apply(2, &put("login", "two"), &alice, "", fine).await,
        Err(ApplyError::Records(locked.clone()))
    );
    assert_eq!(records.give_order(&kill_switch(), &alice).await, Err(locked.clone()));
    assert!(
        locked.to_string().starts_with("the database is locked: somebody else has been writing for 50ms")
    );
    // In force, though it cannot be made a version.
    let rules = records.rule_set().await.unwrap();
    assert_eq!((rules.version, rules.is_unversioned, rules.entries.len()), (1, true, 2));
    assert!(records.status().is_ready());
    hand.sql("ROLLBACK").await.unwrap();
    let rules = records.rule_set().await.unwrap();
    assert_eq!((rules.version, rules.is_unversioned), (2, false));
    records.apply(2, &put("login", "two"), &alice, "", fine).await.unwrap();
}

#[tokio::test]
async fn whoever_starts_while_somebody_else_writes_reads() {
    let place = Place::sqlite();
    place.open().await.apply(0, &put("login", "one"), &Author::new("alice"), "", fine).await.unwrap();
    let mut hand = place.hand().await;
    hand.sql("BEGIN IMMEDIATE").await.unwrap();
    assert_eq!(place.open().await.rule_set().await.unwrap().entries[0].text, "one");
    hand.sql("ROLLBACK").await.unwrap();
}

#[tokio::test]
async fn a_full_file_says_so_and_still_answers() {
    let place = Place::sqlite();
    place.open().await.close().await;
    let mut options = RecordsOptions::default();
    options.sqlite_pages_max = Some(100);
    let records = place.open_with(options).await;
    let alice = Author::new("alice");
    let mut version = 0;
    let full = loop {
        // Each time another 10 pages, twice: as an entry and in its version.
        let more = put(&format!("entry {version}"), &"x".repeat(40_000));
        match records.apply(version, &more, &alice, "", fine).await {
            Ok(made) => version = made.version,
            Err(error) => break error,
        }
        assert!(version < 100, "never full");
    };
    assert_eq!(full, ApplyError::Records(RecordsError::Full));
    assert!(full.to_string().starts_with("the database is full; make room"), "{full}");
    assert!(version > 0 && records.status().is_ready());
    let rules = records.rule_set().await.unwrap();
    assert_eq!((rules.version, i64::try_from(rules.entries.len()).unwrap()), (version, version));
    records.close().await;
    // With room again everything goes on.
    let records = place.open().await;
    records.apply(version, &put("after", "x"), &alice, "", fine).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_no_database_is_told_and_left_alone() {
    let place = Place::sqlite();
    std::fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    let letter = "Dear Sir or Madam, ".repeat(100);
    std::fs::write(place.path(), &letter).unwrap();
    let records = Records::open(&place.url(), RecordsOptions::default()).unwrap();
    until("it is told", || async { matches!(records.status(), RecordsStatus::Failing { .. }) }).await;
    assert!(records.status().to_string().contains("not a database"), "{}", records.status());
    assert_eq!(std::fs::read_to_string(place.path()).unwrap(), letter);
    // Somebody moves it away: the next attempt makes the tables.
    std::fs::remove_file(place.path()).unwrap();
    records.ready_within(SET_UP_MAX).await.unwrap();
    assert_eq!(records.rule_set().await.unwrap().version, 0);
}

/// How soon a file that was removed or replaced is seen, on a busy machine.
const SEEN_MAX: Duration = Duration::from_secs(5);

/// Another file, which nobody has open, with this entry.
async fn elsewhere(text: &str) -> Place {
    let place = Place::sqlite();
    let records = place.open().await;
    records.apply(0, &put("login", text), &Author::new("alice"), "", fine).await.unwrap();
    records.close().await;
    assert!(!beside(&place, "-wal").exists());
    place
}

/// The log of the file, or its index.
fn beside(place: &Place, ending: &str) -> std::path::PathBuf {
    format!("{}{ending}", place.path().display()).into()
}

/// The texts of the entries.
async fn texts(records: &Records) -> Vec<String> {
    let rules = records.rule_set().await.map(|rules| rules.entries).unwrap_or_default();
    rules.into_iter().map(|entry| entry.text).collect()
}

#[tokio::test]
async fn a_file_that_is_replaced_is_in_force_at_once_and_what_sql_says_of_it_too() {
    let (place, copy) = (Place::sqlite(), elsewhere("restored").await);
    let records = place.open().await;
    let alice = Author::new("alice");
    records.apply(0, &put("login", "lost"), &alice, "", fine).await.unwrap();
    assert_eq!(texts(&records).await, ["lost"]);
    // The revision is the same, and is news nevertheless.
    let mut news = records.news();
    news.mark_unchanged();
    std::fs::rename(copy.path(), place.path()).unwrap();
    let seen = until("the other file is in force", || async { texts(&records).await == ["restored"] });
    tokio::time::timeout(SEEN_MAX, seen).await.unwrap();
    assert!(news.has_changed().unwrap());
    let mut hand = place.hand().await;
    hand.sql("INSERT INTO tollgate_entries (name, text) VALUES ('other', 'by hand')").await.unwrap();
    until("SQL is in force", || async { texts(&records).await == ["restored", "by hand"] }).await;
    records.apply(2, &put("login", "changed"), &alice, "", fine).await.unwrap();
    assert_eq!(hand.number("SELECT count(*) FROM tollgate_entries WHERE text = 'changed'").await, 1);
}

#[tokio::test]
async fn what_the_log_of_a_replaced_file_holds_is_not_put_into_the_other() {
    let (place, copy) = (Place::sqlite(), elsewhere("restored").await);
    let records = place.open().await;
    let (alice, mut version) = (Author::new("alice"), 0);
    for text in 0..20 {
        let more = put(&format!("entry {text}"), &"x".repeat(5_000));
        version = records.apply(version, &more, &alice, "", fine).await.unwrap().version;
    }
    assert!(beside(&place, "-wal").metadata().unwrap().len() > 100_000);
    std::fs::rename(copy.path(), place.path()).unwrap();
    until("the other file is in force", || async { texts(&records).await == ["restored"] }).await;
    let mut hand = place.hand().await;
    assert_eq!(
        hand.number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'").await,
        1
    );
    assert_eq!(hand.number("SELECT count(*) FROM tollgate_entries").await, 1);
}

#[tokio::test]
async fn a_file_that_is_removed_is_told_and_made_anew_and_takes_what_is_written_after() {
    let place = Place::sqlite();
    let records = place.open().await;
    let alice = Author::new("alice");
    records.apply(0, &put("login", "lost"), &alice, "", fine).await.unwrap();
    let mut status = records.watch_status();
    for ending in ["", "-wal", "-shm"] {
        std::fs::remove_file(beside(&place, ending)).unwrap();
    }
    let told = status.wait_for(|status| !status.is_ready());
    let told = tokio::time::timeout(SEEN_MAX, told).await.unwrap().unwrap().to_string();
    assert!(told.contains("its file was removed or replaced"), "{told}");
    records.ready_within(SEEN_MAX).await.unwrap();
    assert_eq!(records.rule_set().await.unwrap().version, 0);
    let order = records.give_order(&kill_switch(), &alice).await.unwrap();
    let mut hand = place.hand().await;
    assert_eq!(hand.number("SELECT order_id FROM tollgate_orders").await, order.order_id);
}

#[tokio::test]
async fn instances_that_share_a_file_follow_it_together() {
    let (place, copy) = (Place::sqlite(), elsewhere("restored").await);
    let (one, other) = (place.open().await, place.open().await);
    let alice = Author::new("alice");
    one.apply(0, &put("login", "lost"), &alice, "", fine).await.unwrap();
    std::fs::rename(copy.path(), place.path()).unwrap();
    for records in [&one, &other] {
        until("the other file is in force", || async { texts(records).await == ["restored"] }).await;
    }
    for (version, writer, reader) in [(1, &one, &other), (2, &other, &one)] {
        let text = format!("version {version}");
        writer.apply(version, &put("login", &text), &alice, "", fine).await.unwrap();
        assert_eq!(texts(reader).await, [text]);
    }
}
