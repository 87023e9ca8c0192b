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
use tollgate_records::{OrderRecord, Records, RecordsError, RecordsStatus, Timestamp};

use crate::engine::Engine;
use crate::filed::{Filed, standing_order};
use crate::reload::reload;

/// How long the doors stay shut for rules and orders that are to be there from the first request on.
const FIRST_MAX: Duration = Duration::from_secs(1);
/// How soon a read that failed is tried again.
const AGAIN: Duration = Duration::from_millis(500);
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
        let pause = match read(&records).await {
            Ok(filed) => {
                engine.file(filed);
                let reloaded = Arc::clone(&engine);
                // A large policy takes a while to compile.
                let _ = spawn_blocking(move || reload(&reloaded, false)).await;
                tell_first.take().map(|tell| tell.send(()));
                until_expiry(&engine)
            }
            Err(error) => {
                tracing::debug!(%error, "the records were not read");
                Some(AGAIN)
            }
        };
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

/// How long until an order expires; not for ever, since the wall clock may be set.
fn until_expiry(engine: &Engine) -> Option<Duration> {
    let expiry = Timestamp::from_unix_seconds(engine.loaded().next_expiry_unix_s?);
    let micros = expiry.unix_micros().saturating_sub(Timestamp::now().unix_micros());
    Some(Duration::from_micros(u64::try_from(micros).unwrap_or(0)).min(EXPIRY_MAX))
}

async fn read(records: &Records) -> Result<Filed, RecordsError> {
    let rules = records.rule_set().await?;
    let orders = records.orders(false).await?;
    Ok(Filed {
        rules: Arc::new((&rules).into()),
        orders: Arc::new(orders.iter().filter_map(sound).collect()),
    })
}

/// An order that somebody has broken by hand is nothing, and is told of.
fn sound(order: &OrderRecord) -> Option<tollgate::policy::StandingOrder> {
    standing_order(order)
        .map_err(|mistake| {
            tracing::error!(
                order = mistake.order_id,
                "a standing order is passed over: `{}` {}",
                mistake.field,
                mistake.why
            );
        })
        .ok()
}

/// How the database is, in a word or two.
pub(crate) fn standing(status: &RecordsStatus) -> &'static str {
    match status {
        RecordsStatus::Connecting => "connecting",
        RecordsStatus::Ready { .. } => "ready",
        RecordsStatus::Failing { .. } => "failing",
    }
}
