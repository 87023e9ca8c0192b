//! The violation log as doors hold it: denials are noted, and nobody waits.

use std::fmt;
use std::sync::Arc;

use siphasher::sip::SipHasher13;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::back_room::{BackRoom, INTAKE_MAX};
use super::filing::{self, Flush};
use super::retention;
use super::row_budget::RowBudget;
use super::rule_counts::{Fate, RuleCounts};
use super::sampler::{Sample, Sampler};
use super::violation_row::{ViolationRow, hour_of};
use super::{
    Identifiers, Violation, ViolationCounts, ViolationFilter, ViolationRecord, ViolationSettings,
    ViolationStatus,
};
use crate::{Records, RecordsError, Timestamp};

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

/// A denial that is to be stored, and of which the log waits to be told. Dropped, it is counted as dropped.
#[must_use = "a violation that is not told is dropped"]
pub struct Sampled<'l> {
    /// Taken when it is told.
    place: Option<mpsc::Permit<'l, ViolationRow>>,
    counts: &'l RuleCounts,
    hour: i64,
    stands_for: u64,
    back_room: &'l BackRoom,
}

impl Sampled<'_> {
    /// Tells all of it. The rule is the one that it was sampled for.
    #[cold]
    pub fn store(mut self, violation: &Violation<'_>) {
        let Some(place) = self.place.take() else { return };
        let row = ViolationRow::new(violation, &self.counts.stored_as, self.stands_for);
        // Counted before it can be stored, so that no sum ever shows it stored and not denied.
        self.counts.count(Fate::Queued, self.hour);
        place.send(row);
        self.back_room.wake();
    }
}

impl Drop for Sampled<'_> {
    fn drop(&mut self) {
        if self.place.is_some() {
            self.counts.count(Fate::Dropped, self.hour);
        }
    }
}

impl fmt::Debug for Sampled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sampled(for {})", self.stands_for)
    }
}

impl ViolationLog {
    /// A log that writes to the filing room; without one it counts, and tells those who subscribed.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(records: Option<Records>, settings: ViolationSettings) -> ViolationLog {
        let (intake, taken) = mpsc::channel(INTAKE_MAX);
        let (flushes, asked) = mpsc::channel(FLUSHES_MAX);
        let sampler = Sampler::new(settings.rows_per_key_per_second, settings.rows_per_second);
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
        let counts = self.0.back_room.book.counts_of(violation.rule);
        let key = self.0.hash(counts.number, violation.key.as_bytes());
        if let Some(sampled) = self.0.sample(counts, key, violation.at) {
            sampled.store(&violation);
        }
    }

    /// Counts a denial, and says whether it is to be stored: for those to whom telling all of it is work. `key` is a number that is the same for the
    /// same key, and that no client can choose, such as a keyed hash; those of one rule are sampled apart. Never waits, never blocks.
    #[inline]
    pub fn sample(&self, rule: &str, key: u64, at: Timestamp) -> Option<Sampled<'_>> {
        let counts = self.0.back_room.book.counts_of(rule);
        let key = self.0.mixed(counts.number, key);
        self.0.sample(counts, key, at)
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

    /// Whether clients stand in this log as they are: unless they do, the database is to know nobody's name.
    pub fn names_clients_plainly(&self) -> bool {
        matches!(self.0.back_room.settings.identifiers, Identifiers::Plain)
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
    #[inline]
    fn sample<'l>(&'l self, counts: &'l RuleCounts, key: u64, at: Timestamp) -> Option<Sampled<'l>> {
        let (second, hour) = (at.unix_seconds(), hour_of(at));
        match self.sampler.sample(key, second, || self.budget.take(second)) {
            Sample::Out => {
                counts.count(Fate::SampledOut, hour);
                None
            }
            Sample::Stored { sampled_for } => self.reserve(counts, hour, sampled_for),
        }
    }

    /// A place in the queue, or one more that was dropped.
    #[cold]
    fn reserve<'l>(&'l self, counts: &'l RuleCounts, hour: i64, stands_for: u64) -> Option<Sampled<'l>> {
        let Ok(place) = self.intake.try_reserve() else {
            counts.count(Fate::Dropped, hour);
            return None;
        };
        Some(Sampled { place: Some(place), counts, hour, stands_for, back_room: &self.back_room })
    }

    /// The number of a key of a rule, spread over all bits.
    #[inline]
    fn mixed(&self, rule: u64, key: u64) -> u64 {
        let word = key ^ self.secret.0 ^ rule.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        word ^ (word >> 32)
    }

    /// 64 bits that nobody can foretell without the secret.
    #[inline]
    fn hash(&self, rule: u64, key: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.secret.0 ^ rule, self.secret.1).hash(key)
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
