//! Follows the database: its rules and orders are in force within a second of a change (R2).
//!
//! ```text
//!  news: the revision ──┐
//!  an order expires   ──┼──► read rule set and orders ──► Engine::file ──► Engine::reload
//!  the last read failed ┘
//! ```
//! Checks never wait for any of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};
use tollgate_records::{OrderMistake, Records, RecordsError, RecordsStatus, Timestamp};

use crate::engine::Engine;
use crate::filed::{Filed, FiledRules, standing_order};
use crate::reload::reload;

/// How long the doors stay shut for rules and orders that are to be there from the first request on.
const FIRST_MAX: Duration = Duration::from_secs(1);
/// How soon a read that failed is tried again.
const AGAIN: Duration = Duration::from_millis(500);
/// Versions that are tried at a start, newest first, where the rules on record cannot be in force.
const VERSIONS_MAX: usize = 20;
/// Most lines of what could not be read.
const UNREAD_MAX: usize = 20;
/// How far off an expiry may be waited for at a time: the wall clock may be set meanwhile.
const EXPIRY_MAX: Duration = Duration::from_mins(1);

/// Goes on until `end`.
pub(crate) struct Filing(JoinHandle<()>);

impl Filing {
    /// Begins to follow, and waits a moment for what is to be in force from the start. Nothing, if nothing is on record.
    pub(crate) async fn begin(engine: &Arc<Engine>) -> Option<Filing> {
        let (tell, first) = oneshot::channel();
        let following = tokio::spawn(follow(Arc::clone(engine), engine.records.clone()?, tell));
        let _ = timeout(FIRST_MAX, first).await;
        Some(Filing(following))
    }

    /// Follows no more.
    pub(crate) async fn end(self) {
        self.0.abort();
        let _ = self.0.await;
    }
}

async fn follow(engine: Arc<Engine>, records: Records, tell_first: oneshot::Sender<()>) {
    let mut tell_first = Some(tell_first);
    records.ready().await;
    let mut news = records.news();
    loop {
        news.mark_unchanged();
        let (filed, is_read) = read(&records, &engine.filed()).await;
        engine.file(filed);
        let reloaded = Arc::clone(&engine);
        // A large policy takes a while to compile. Orders expire whether or not the database is there.
        let _ = spawn_blocking(move || reload(&reloaded, false)).await;
        if is_read && let Some(tell) = tell_first.take() {
            stand_in(&engine, &records).await;
            let _ = tell.send(());
        }
        let again = (!is_read).then_some(AGAIN);
        let pause = [again, until_expiry(&engine)].into_iter().flatten().min();
        let expiry = async {
            match pause {
                Some(pause) => sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // The sender lives as long as the records do, which we hold.
            _ = news.changed() => {}
            () = expiry => {}
        }
    }
}

/// At the start, where the rules on record cannot be in force: those of the newest version that can be.
async fn stand_in(engine: &Arc<Engine>, records: &Records) {
    let loaded = engine.loaded();
    if loaded.refused.is_none() || !loaded.parts.rules.is_empty() {
        return;
    }
    for version in records.versions(None, VERSIONS_MAX).await.unwrap_or_default() {
        let Ok(stored) = records.version(version.version).await else { continue };
        let (standing, rules) = (Arc::clone(engine), FiledRules::from(&stored));
        if !rules.is_empty() && spawn_blocking(move || standing.stand_in(rules)).await.unwrap_or(false) {
            tracing::warn!(version = version.version, "rules of an earlier version are in force");
            return;
        }
    }
}

/// How long until an order expires; not for ever, since the wall clock may be set.
fn until_expiry(engine: &Engine) -> Option<Duration> {
    let expiry = Timestamp::from_unix_seconds(engine.loaded().next_expiry_unix_s?);
    let micros = expiry.unix_micros().saturating_sub(Timestamp::now().unix_micros());
    Some(Duration::from_micros(u64::try_from(micros).unwrap_or(0)).min(EXPIRY_MAX))
}

/// What the database says, and whether it could be asked. What cannot be read is as it was `before`, and said.
async fn read(records: &Records, before: &Filed) -> (Filed, bool) {
    let mut unread: Vec<String> = Vec::new();
    let mut is_read = true;
    let mut note = |what: &str, error: &RecordsError| {
        is_read &= !error.is_outage();
        if !error.is_outage() {
            unread.push(format!("{what} on record cannot be read: {error}"));
        }
    };
    let rules = records.rule_set().await.map(|rules| Arc::new(FiledRules::from(&rules)));
    let rules = rules.inspect_err(|error| note("the rules", error));
    let orders = records.orders(false).await.inspect_err(|error| note("the orders", error));
    if !is_read {
        return (before.clone(), false);
    }
    let orders = orders.map(|orders| {
        let mut sound = Vec::new();
        for order in &orders {
            match standing_order(order) {
                Ok(order) => sound.push(order),
                // It is nothing, and told of.
                Err(OrderMistake { order_id, field, why }) => {
                    unread.push(format!("order {order_id} is passed over: `{field}` {why}"));
                }
            }
        }
        Arc::new(sound)
    });
    unread.truncate(UNREAD_MAX);
    let filed = Filed {
        rules: rules.unwrap_or_else(|_| Arc::clone(&before.rules)),
        orders: orders.unwrap_or_else(|_| Arc::clone(&before.orders)),
        unread: (!unread.is_empty()).then(|| unread.join("\n")),
    };
    (filed, true)
}

/// How the database is, in a word or two.
pub(crate) fn standing(status: &RecordsStatus) -> &'static str {
    match status {
        RecordsStatus::Connecting => "connecting",
        RecordsStatus::Ready { .. } => "ready",
        RecordsStatus::Failing { .. } => "failing",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use sqlx::{Connection, SqliteConnection};
    use tollgate::policy::{Order, Who};
    use tollgate_records::{Author, Entry, NewOrder, RecordsOptions, RecordsUrl, RuleSetChange, Timestamp};

    use super::*;
    use crate::policy_source::PolicySource;

    /// Longest that anything may take.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// A database in a folder of its own.
    struct Room {
        folder: std::path::PathBuf,
        records: Records,
    }

    impl Room {
        async fn new() -> Room {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let name =
                format!("tollgate-filing-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let folder = std::env::temp_dir().join(name);
            let url = RecordsUrl::sqlite(folder.join("tollgate.db"));
            let records = Records::open(&url, RecordsOptions::default()).unwrap();
            records.ready().await;
            Room { folder, records }
        }

        /// An instance that starts with this database.
        async fn instance(&self) -> (Arc<Engine>, Filing) {
            let mut engine =
                Engine::new(PolicySource::Embedded, tollgate::Limiter::builder().keys_max(1_000), None)
                    .unwrap();
            engine.records = Some(self.records.clone());
            let engine = Arc::new(engine);
            let filing = Filing::begin(&engine).await.unwrap();
            (engine, filing)
        }

        /// Puts an entry on record, whatever it says.
        async fn put(&self, base: i64, name: &str, text: &str) {
            let change =
                RuleSetChange { put_entries: vec![Entry::new(name, text)], ..RuleSetChange::default() };
            self.records.apply(base, &change, &Author::new("test"), "a test", |_| Ok(())).await.unwrap();
        }

        async fn block(&self, user: &str, expires_at: Option<Timestamp>) {
            let order = Order::Block { who: Who::User(user.to_owned()) };
            let new = NewOrder { order, reason: "abuse".to_owned(), expires_at };
            self.records.give_order(&new, &Author::new("test")).await.unwrap();
        }
    }

    impl Drop for Room {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    #[track_caller]
    fn has_rule(engine: &Engine, name: &str) -> bool {
        engine.limiter.policy().rules.iter().any(|rule| &*rule.name == name)
    }

    /// Waits until it is so.
    async fn until(is_so: impl Fn() -> bool) {
        let waiting = async {
            while !is_so() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, waiting).await.expect("it is so in time");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rules_and_orders_are_in_force_from_the_start_and_followed() {
        let room = Room::new().await;
        room.put(0, "search", "{name: search, path: /search, scope: ip, rate: 1, burst: 1}").await;
        let (engine, filing) = room.instance().await;
        assert!(has_rule(&engine, "search"));
        room.block("eve", None).await;
        until(|| has_rule(&engine, "order-1")).await;
        filing.end().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_start_with_a_broken_rule_on_record_takes_the_rules_of_the_version_before() {
        let room = Room::new().await;
        room.put(0, "search", "{name: search, path: /search, scope: ip, rate: 1, burst: 1}").await;
        room.put(1, "broken", "{name: broken, nonsense: 1}").await;
        room.block("eve", None).await;
        let (engine, filing) = room.instance().await;
        assert!(has_rule(&engine, "search") && has_rule(&engine, "order-1"));
        let loaded = engine.loaded();
        assert!(loaded.refused.as_ref().is_some_and(|why| why.contains("nonsense")), "{:?}", loaded.refused);
        assert_eq!(loaded.parts.rules.version, 1);
        filing.end().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_order_expires_while_the_database_is_away() {
        let room = Room::new().await;
        let soon = Timestamp::from_unix_seconds(Timestamp::now().unix_seconds() + 2);
        room.block("eve", Some(soon)).await;
        let (engine, filing) = room.instance().await;
        assert!(has_rule(&engine, "order-1"));
        room.records.close().await;
        until(|| !has_rule(&engine, "order-1")).await;
        filing.end().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_rule_on_record_that_is_no_text_is_told_and_keeps_nobody_from_being_blocked() {
        let room = Room::new().await;
        let (engine, filing) = room.instance().await;
        let url = format!("sqlite:{}", room.folder.join("tollgate.db").display());
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        let insert =
            "INSERT INTO tollgate_entries (name, text, is_active) VALUES ('x', CAST(x'ff41' AS TEXT), TRUE)";
        sqlx::query(insert).execute(&mut connection).await.unwrap();
        until(|| engine.loaded().refused.is_some()).await;
        room.block("eve", None).await;
        until(|| has_rule(&engine, "order-1")).await;
        filing.end().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rules_that_were_wrong_and_are_no_text_now_are_told_of_as_they_are() {
        let room = Room::new().await;
        let (engine, filing) = room.instance().await;
        room.put(0, "x", "{name: x, nonsense: 1}").await;
        let told = |word: &str| engine.loaded().refused.as_ref().is_some_and(|why| why.contains(word));
        until(|| told("nonsense")).await;
        let url = format!("sqlite:{}", room.folder.join("tollgate.db").display());
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        sqlx::query("UPDATE tollgate_entries SET text = x'ff'").execute(&mut connection).await.unwrap();
        until(|| told("\u{fffd}")).await;
        assert!(!told("nonsense"));
        filing.end().await;
    }
}
