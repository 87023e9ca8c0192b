//! The pulse of the program: once a second, what was done since the last time, for everybody who wants to know.
//!
//! ```text
//!  counters ─► Tally ─► difference ─► Beat ─┬─► subscribers of /admin/v1/events, as one text
//!                       (once a second)     └─► History: the last 900 seconds
//! ```
//! Promises that it is worked out once, however many listen, that checks are not slowed down by it (they count as they always do), and that the
//! history is bounded. A beat that is late covers more than a second, and says so.

mod beat;
mod history;
mod ring;
mod store;
mod tally;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use self::history::{History, Past};
pub(crate) use self::ring::SECONDS_MAX;
use self::tally::Tally;
use crate::engine::Engine;

/// How often.
const EVERY: Duration = Duration::from_secs(1);
/// Most rules of one beat, and of the history; of the others it is said how many there are.
const RULES_MAX: usize = 200;

/// What is told of the last second, as a JSON object: the same for all.
pub(crate) type Told = Arc<str>;

/// The pulse.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// Empty before the first beat.
    told: watch::Sender<Told>,
    history: Mutex<History>,
}

impl Default for Pulse {
    fn default() -> Pulse {
        Pulse { told: watch::Sender::new(Told::from("")), history: Mutex::default() }
    }
}

impl Pulse {
    /// Beats for as long as the program runs.
    pub(crate) async fn beat(&self, engine: &Engine) {
        let mut tick = interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        // The first is at once.
        tick.tick().await;
        let mut last = Tally::of(engine);
        self.lock().begin(last.at);
        loop {
            tick.tick().await;
            last = self.once(engine, &last);
        }
    }

    /// One beat: what was done since `last`.
    fn once(&self, engine: &Engine, last: &Tally) -> Tally {
        let now = Tally::of(engine);
        let beat = now.since(last, engine);
        self.lock().note(&beat, now.at);
        // Texts and numbers: nothing in it can fail to be written.
        self.told.send_replace(serde_json::to_string(&beat).unwrap_or_default().into());
        now
    }

    /// Whoever wants to be told.
    pub(crate) fn listen(&self) -> watch::Receiver<Told> {
        let mut told = self.told.subscribe();
        told.mark_unchanged();
        told
    }

    /// The last so many seconds.
    pub(crate) fn past(&self, seconds: usize) -> Past {
        self.lock().past(seconds)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
