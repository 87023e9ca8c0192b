//! What instances that share the records tell each other of who talks most: each writes a [`Sheet`] every other second, and reads those of the
//! others when it is asked. Nobody waits for it who did not ask, nobody waits for long, and whatever fails is as if nobody else were there: an outage
//! is told elsewhere. Unless the database may know clients by their names, nothing is written and nothing is read.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tollgate::{Moment, Span};
use tollgate_records::{Records, TALKER_SHEET_BYTES_MAX, Timestamp, ViolationLog, process_name};

use super::Operations;
use crate::talkers::Sheet;

/// How often a sheet is written.
const EVERY: Duration = Duration::from_secs(2);
/// Who has written nothing for so long has ended, or has nothing to tell.
const OLDEST: Duration = Duration::from_secs(10);
/// Longest that the sheets of others are waited for.
const READ_MAX: Duration = Duration::from_millis(500);
/// For how long what was read counts: however many ask, the database is asked once.
const READ_EVERY: Span = Span::from_secs(1);

/// The other instances.
#[derive(Debug)]
pub(super) struct Neighbours {
    /// What they know this one by.
    instance: String,
    /// What they told last, and when it was read. One reads at a time, so that no more than one answer of the database is held.
    pub(super) told: Mutex<(Option<Moment>, Arc<Vec<Sheet>>)>,
}

impl Default for Neighbours {
    fn default() -> Neighbours {
        Neighbours { instance: process_name(), told: Mutex::default() }
    }
}

impl Operations {
    /// Tells the others who talks most here, for as long as the program runs. Ends at once where there is nobody to tell.
    pub(super) async fn share_talkers(self: Arc<Operations>) {
        let Some(records) = self.shared_records() else { return };
        let mut tick = interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut has_told = false;
        loop {
            tick.tick().await;
            records.ready().await;
            let engine = Arc::clone(&self.engine);
            let compose = move || {
                let sheet = Sheet::of(&engine);
                (!sheet.rules.is_empty(), sheet.text(TALKER_SHEET_BYTES_MAX))
            };
            let Ok((has_any, text)) = spawn_blocking(compose).await else { continue };
            // Where nobody talks nothing is written but once, that nobody does.
            if (has_any || has_told) && records.share_talkers(&self.neighbours.instance, &text).await.is_ok()
            {
                has_told = has_any;
            }
        }
    }

    /// What the others told within the last seconds, as far as it is read in half a second.
    pub(super) async fn neighbours_sheets(&self) -> Arc<Vec<Sheet>> {
        let Some(records) = self.shared_records() else { return Arc::default() };
        timeout(READ_MAX, self.read_sheets(records)).await.unwrap_or_default()
    }

    async fn read_sheets(&self, records: &Records) -> Arc<Vec<Sheet>> {
        let mut told = self.neighbours.told.lock().await;
        let now = self.engine.limiter.limiter().now();
        if told.0.is_some_and(|read| now < read + READ_EVERY) {
            return Arc::clone(&told.1);
        }
        let not_before = Timestamp::now().before(OLDEST);
        let Ok(texts) = records.shared_talkers(&self.neighbours.instance, not_before).await else {
            return Arc::default();
        };
        let read = move || texts.iter().filter_map(|text| Sheet::read(text)).collect();
        let sheets = Arc::new(spawn_blocking(read).await.unwrap_or_default());
        *told = (Some(now), Arc::clone(&sheets));
        sheets
    }

    /// The records, if others may learn from them who our clients are.
    fn shared_records(&self) -> Option<&Records> {
        let may_name = self.violations.as_ref().is_some_and(ViolationLog::names_clients_plainly);
        self.records.as_ref().filter(|_| may_name)
    }
}
