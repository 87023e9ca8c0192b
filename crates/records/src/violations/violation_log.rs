//! The violation log as doors hold it: denials are noted, and nobody waits.

use std::fmt;
use std::hash::Hasher as _;
use std::sync::Arc;

use siphasher::sip::SipHasher13;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::back_room::{BackRoom, INTAKE_MAX};
use super::filing::{self, Flush};
use super::retention;
use super::row_budget::RowBudget;
use super::rule_counts::Fate;
use super::sampler::{Sample, Sampler};
use super::violation_row::{ViolationRow, hour_of};
use super::{
    Violation, ViolationCounts, ViolationFilter, ViolationRecord, ViolationSettings, ViolationStatus,
};
use crate::{Records, RecordsError};

/// Calls of [`ViolationLog::flush`] that wait at the same time; further ones wait for those.
const FLUSHES_MAX: usize = 64;

/// The violation log. A clone is the same one.
///
/// [`ViolationLog::note`] waits for nothing and allocates only for what will be stored. Everything else happens in tasks of the runtime that the log was
/// made in.
#[derive(Clone)]
pub struct ViolationLog(Arc<Handle>);

/// Ends the tasks with the last clone.
struct Handle {
    sampler: Sampler,
    budget: RowBudget,
    /// What keys are hashed with, so that nobody can choose keys that share a slot.
    secret: (u64, u64),
    intake: mpsc::Sender<ViolationRow>,
    back_room: Arc<BackRoom>,
    flushes: mpsc::Sender<Flush>,
    tasks: Vec<AbortHandle>,
}

impl ViolationLog {
    /// A log that writes to the filing room; without one it counts, and tells those who subscribed.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(records: Option<Records>, settings: ViolationSettings) -> ViolationLog {
        let (intake, taken) = mpsc::channel(INTAKE_MAX);
        let (flushes, asked) = mpsc::channel(FLUSHES_MAX);
        let sampler = Sampler::new(settings.rows_per_key_per_second);
        let budget = RowBudget::new(settings.rows_per_second);
        let back_room = Arc::new(BackRoom::new(taken, records.is_some(), settings));
        let mut tasks = vec![tokio::spawn(Arc::clone(&back_room).take_in_for_ever()).abort_handle()];
        if let Some(records) = records {
            tasks.push(
                tokio::spawn(filing::run(Arc::clone(&back_room), records.clone(), asked)).abort_handle(),
            );
            tasks.push(tokio::spawn(retention::run(records, back_room.settings.clone())).abort_handle());
        }
        let secret = secret();
        ViolationLog(Arc::new(Handle { sampler, budget, secret, intake, back_room, flushes, tasks }))
    }

    /// Notes a denial. Never waits, never blocks.
    #[inline]
    pub fn note(&self, violation: Violation<'_>) {
        let log = &*self.0;
        let hour = hour_of(violation.at);
        let counts = log.back_room.book.counts_of(violation.rule);
        let second = violation.at.unix_seconds();
        let hash = log.hash(counts.number, violation.key);
        match log.sampler.sample(hash, second, || log.budget.take(second)) {
            Sample::Out => counts.count(Fate::SampledOut, hour),
            Sample::Stored { sampled_for } => {
                let Ok(place) = log.intake.try_reserve() else { return counts.count(Fate::Dropped, hour) };
                let row = ViolationRow::new(&violation, &counts.stored_as, sampled_for);
                // Counted before it can be stored, so that no sum ever shows it stored and not denied.
                counts.count(Fate::Queued, hour);
                place.send(row);
                log.back_room.wake();
            }
        }
    }

    /// What was counted since the start. Exact at any time.
    pub fn totals(&self) -> ViolationCounts {
        self.0.back_room.counts()
    }

    /// What was counted, and whether it can be stored.
    pub fn status(&self) -> ViolationStatus {
        self.0.back_room.status()
    }

    /// Tells of every violation that is to be stored, within a twentieth of a second, whether or not the database is there. Who lags behind by more than
    /// [`LIVE_MAX`](super::LIVE_MAX) is told how many it missed.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<ViolationRecord>> {
        self.0.back_room.live.subscribe()
    }

    /// The filter with users and addresses as they stand in this log.
    pub fn named(&self, filter: ViolationFilter) -> ViolationFilter {
        filter.named_by(&self.0.back_room.settings.identifiers)
    }

    /// Waits until everything that was noted before is stored or dropped, totals included. Says why not as soon as the database refuses; then it is
    /// tried again in the background. Without a database there is nothing to wait for.
    pub async fn flush(&self) -> Result<(), RecordsError> {
        self.0.back_room.take_in();
        let (told, answer) = oneshot::channel();
        // Nobody listens where there is no database, and after the end.
        if self.0.flushes.send(told).await.is_err() {
            return Ok(());
        }
        answer.await.unwrap_or(Ok(()))
    }

    /// Takes no more, and waits until all is stored, but no longer than [`ViolationSettings::close_max`]. What was not stored then is dropped, and counted.
    pub async fn close(&self) -> ViolationCounts {
        let back_room = &self.0.back_room;
        back_room.close();
        let stored = async {
            while self.flush().await.is_err() {
                tokio::time::sleep(filing::CLOSING_PAUSE).await;
            }
        };
        // Whatever the deadline left is counted below.
        let _ = timeout(back_room.settings.close_max, stored).await;
        for task in &self.0.tasks {
            task.abort();
        }
        back_room.drop_rest()
    }
}

impl Handle {
    /// 64 bits that nobody can foretell without the secret.
    #[inline]
    fn hash(&self, rule: u64, key: &str) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.secret.0 ^ rule, self.secret.1);
        hasher.write(key.as_bytes());
        hasher.finish()
    }
}

/// Random, and different in every process.
fn secret() -> (u64, u64) {
    use std::hash::{BuildHasher as _, RandomState};
    (RandomState::new().hash_one(1_u64), RandomState::new().hash_one(2_u64))
}

impl fmt::Debug for ViolationLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ViolationLog({:?})", self.status())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}
