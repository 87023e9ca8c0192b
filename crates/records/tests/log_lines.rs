//! What the log is told: one line for an outage, one for its end, and no password.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(unused_macros, dead_code, unused_imports, reason = "other tests use the rest")]
mod databases;

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use databases::{Place, SET_UP_MAX, until};
use tollgate_records::{Records, RecordsOptions, RecordsStatus, RecordsUrl};
use tracing_subscriber::fmt::MakeWriter;

/// Keeps what is logged on this thread, where the keeper runs too.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

fn listen() -> (Log, tracing::subscriber::DefaultGuard) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(log.clone())
        .with_ansi(false)
        .with_max_level(tracing::Level::TRACE);
    (log, tracing::subscriber::set_default(subscriber.finish()))
}

#[tokio::test]
async fn an_outage_is_one_line_however_often_the_database_is_asked() {
    let (log, _listening) = listen();
    let url = RecordsUrl::parse("postgres://tollgate:secret@127.0.0.1:1/limits").unwrap();
    let records = Records::open(&url, RecordsOptions::default()).unwrap();
    until("it is told", || async { matches!(records.status(), RecordsStatus::Failing { .. }) }).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let text = log.text();
    assert_eq!(text.matches("does not answer; it is asked again until it does").count(), 1, "{text}");
    assert!(
        text.contains("postgres://tollgate:***@127.0.0.1:1/limits") && !text.contains("secret"),
        "{text}"
    );
}

#[tokio::test]
async fn the_end_of_an_outage_is_one_line_and_the_next_outage_soon_after_is_none() {
    let (log, _listening) = listen();
    let place = Place::sqlite();
    std::fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    std::fs::write(place.path(), "no database, ".repeat(100)).unwrap();
    let records = Records::open(&place.url(), RecordsOptions::default()).unwrap();
    until("it is told", || async { matches!(records.status(), RecordsStatus::Failing { .. }) }).await;
    std::fs::remove_file(place.path()).unwrap();
    records.ready_within(SET_UP_MAX).await.unwrap();
    let mut hand = place.hand().await;
    for _ in 0..3 {
        hand.sql("ALTER TABLE tollgate_revision RENAME TO elsewhere").await.unwrap();
        until("it is told", || async { matches!(records.status(), RecordsStatus::Failing { .. }) }).await;
        hand.sql("ALTER TABLE elsewhere RENAME TO tollgate_revision").await.unwrap();
        records.ready_within(SET_UP_MAX).await.unwrap();
    }
    let text = log.text();
    assert_eq!(text.matches("does not answer").count(), 1, "{text}");
    assert_eq!(text.matches("the database of the records is back").count(), 1, "{text}");
}
