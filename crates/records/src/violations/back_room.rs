//! What lies between those who note and those who file: the queue, the counts, the live stream.
//!
//! It promises that whatever was queued is kept up to the bound, then counted, and that those who listen are told whether or not the database is there.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, broadcast, mpsc};

use super::batch::{BATCH_LINES_MAX, BATCH_ROWS_MAX, Batch};
use super::pending_totals::PendingTotals;
use super::rule_counts::RuleBook;
use super::violation_row::ViolationRow;
use super::{ViolationCounts, ViolationFailure, ViolationRecord, ViolationSettings, ViolationStatus};
use crate::{RecordsError, Timestamp};

/// Violations that one who subscribed may lag behind; beyond it the oldest are missed, and how many is told.
pub const LIVE_MAX: usize = 1_024;
/// Violations that are noted between two times that they are taken in; further ones are dropped, and counted.
pub(crate) const INTAKE_MAX: usize = 4_096;
/// Violations come together for so long before they are taken in.
const INTAKE_PAUSE: Duration = Duration::from_millis(20);

/// What is known of denials that were noted.
#[derive(Debug)]
pub(crate) struct BackRoom {
    pub(crate) settings: ViolationSettings,
    pub(crate) book: RuleBook,
    pub(crate) live: broadcast::Sender<Arc<ViolationRecord>>,
    /// Rows as they are noted.
    intake: Mutex<mpsc::Receiver<ViolationRow>>,
    backlog: Mutex<Backlog>,
    totals: Mutex<PendingTotals>,
    failing: Mutex<Option<ViolationFailure>>,
    has_database: bool,
    /// Whether the next one who notes a row has to wake us.
    is_asleep: AtomicBool,
    has_ended: AtomicBool,
    woken: Notify,
    /// There is something to file.
    pub(crate) filled: Notify,
}

/// Rows on their way to the database: no more than [`ViolationSettings::queued_max`].
#[derive(Debug, Default)]
struct Backlog {
    /// Oldest first.
    rows: VecDeque<ViolationRow>,
    /// How many are in the batch that is being filed.
    held: usize,
}

impl BackRoom {
    pub(crate) fn new(
        intake: mpsc::Receiver<ViolationRow>,
        has_database: bool,
        settings: ViolationSettings,
    ) -> BackRoom {
        BackRoom {
            settings,
            book: RuleBook::new(),
            live: broadcast::Sender::new(LIVE_MAX),
            intake: Mutex::new(intake),
            backlog: Mutex::default(),
            totals: Mutex::default(),
            failing: Mutex::default(),
            has_database,
            is_asleep: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            woken: Notify::new(),
            filled: Notify::new(),
        }
    }

    /// A row was noted. Wakes nobody who is awake.
    #[inline]
    pub(crate) fn wake(&self) {
        // Between the row and the flag: either we see that it sleeps, or it sees the row before it does.
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::Relaxed) && self.is_asleep.swap(false, Ordering::Relaxed) {
            self.woken.notify_one();
        }
    }

    /// Takes in what was noted, whenever something was.
    pub(crate) async fn take_in_for_ever(self: Arc<BackRoom>) {
        loop {
            self.is_asleep.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.take_in() == 0 {
                self.woken.notified().await;
            }
            tokio::time::sleep(INTAKE_PAUSE).await;
            self.take_in();
        }
    }

    /// Moves rows from the intake to the backlog, and tells those who subscribed. How many there were.
    pub(crate) fn take_in(&self) -> usize {
        let mut intake = lock(&self.intake);
        let mut taken = 0;
        while taken < INTAKE_MAX
            && let Ok(row) = intake.try_recv()
        {
            taken += 1;
            let row = row.named_by(&self.settings.identifiers);
            if self.live.receiver_count() > 0 {
                // Whoever listened may be gone since.
                let _ = self.live.send(Arc::new(ViolationRecord::live(&row)));
            }
            self.keep(row);
        }
        if taken > 0 {
            self.filled.notify_one();
        }
        taken
    }

    fn keep(&self, row: ViolationRow) {
        if !self.has_database {
            return lock(&self.totals).sample_out_one(&row.rule, row.hour());
        }
        let mut backlog = lock(&self.backlog);
        if backlog.rows.len() + backlog.held < self.settings.queued_max {
            return backlog.rows.push_back(row);
        }
        drop(backlog);
        lock(&self.totals).drop_one(&row.rule, row.hour());
    }

    /// What is filed next: the oldest rows, and counts. `None` if there is nothing.
    pub(crate) fn next_batch(&self, number: i64) -> Option<Batch> {
        let rows: Vec<ViolationRow> = {
            let mut backlog = lock(&self.backlog);
            backlog.held = backlog.rows.len().min(BATCH_ROWS_MAX);
            let held = backlog.held;
            backlog.rows.drain(..held).collect()
        };
        let lines = self.gathered().take(BATCH_LINES_MAX);
        (!rows.is_empty() || !lines.is_empty()).then_some(Batch { number, rows, lines })
    }

    /// So many batches there are at most, counting from now.
    pub(crate) fn batches(&self) -> usize {
        let rows = lock(&self.backlog).rows.len().div_ceil(BATCH_ROWS_MAX);
        rows.max(self.gathered().lines().div_ceil(BATCH_LINES_MAX))
    }

    /// A batch is in the database.
    pub(crate) fn stored(&self, batch: &Batch) {
        lock(&self.backlog).held = 0;
        lock(&self.totals).store(u64::try_from(batch.rows.len()).unwrap_or(u64::MAX));
        if let Some(failure) = lock(&self.failing).take() {
            let ViolationCounts { dropped, .. } = self.counts();
            tracing::info!(since = %failure.since, dropped, "violations are stored again");
        }
    }

    /// The database did not take a batch; it is tried again. One line of the log for an outage, and one for its end.
    pub(crate) fn failed(&self, error: &RecordsError) {
        let why = error.to_string();
        let mut failing = lock(&self.failing);
        if let Some(failure) = &mut *failing {
            failure.why = why;
        } else {
            tracing::warn!(
                why,
                "violations cannot be stored; they are kept while there is room, then counted"
            );
            *failing = Some(ViolationFailure { why, since: Timestamp::now() });
        }
    }

    /// The database will never take a batch.
    pub(crate) fn refused(&self, batch: Batch, error: &RecordsError) {
        tracing::error!(rows = batch.rows.len(), why = %error, "violations were refused by the database and are dropped");
        lock(&self.backlog).held = 0;
        let mut totals = lock(&self.totals);
        totals.put_back(batch.lines);
        for row in batch.rows {
            totals.drop_one(&row.rule, row.hour());
        }
    }

    pub(crate) fn counts(&self) -> ViolationCounts {
        let mut totals = self.gathered();
        if self.has_ended.load(Ordering::Relaxed) {
            totals.drop_rest();
        }
        totals.counts()
    }

    pub(crate) fn status(&self) -> ViolationStatus {
        let failing = lock(&self.failing).clone();
        ViolationStatus { counts: self.counts(), has_database: self.has_database, failing }
    }

    /// Whatever is noted from now on is dropped.
    pub(crate) fn close(&self) {
        lock(&self.intake).close();
    }

    /// Whatever is queued is dropped, now and for ever.
    pub(crate) fn drop_rest(&self) -> ViolationCounts {
        self.has_ended.store(true, Ordering::Relaxed);
        self.counts()
    }

    /// The totals, with everything that was counted up to now.
    fn gathered(&self) -> MutexGuard<'_, PendingTotals> {
        let mut totals = lock(&self.totals);
        self.book.gather(|rule, hour, noted| totals.note(rule, hour, noted));
        if !self.has_database {
            totals.forget_lines();
        }
        totals
    }
}

/// A lock that whoever noted never waits for.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
