//! Who files: batch after batch, and again where the database was away. One task, which nobody waits for who did not ask for a flush.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use super::back_room::BackRoom;
use super::batch::Batch;
use crate::back_off::BackOff;
use crate::{Records, RecordsError, process_name};

/// Rows come together for so long before they are filed.
const FILING_PAUSE: Duration = Duration::from_millis(100);
/// Counts are filed at least so often.
const TOTALS_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause before a batch is tried again.
const RETRY_PAUSE_MAX: Duration = Duration::from_millis(500);
/// Pause between the attempts of who closes the log.
pub(crate) const CLOSING_PAUSE: Duration = Duration::from_millis(50);
/// A batch that is refused so often is dropped. The first refusal may be a quarrel with another writer.
const REFUSALS_MAX: u32 = 3;

/// Somebody wants to know when all is stored.
pub(crate) type Flush = oneshot::Sender<Result<(), RecordsError>>;

/// Runs until the log is forgotten.
pub(crate) async fn run(back_room: Arc<BackRoom>, records: Records, mut asked: mpsc::Receiver<Flush>) {
    let mut filer = Filer {
        back_room,
        records,
        writer: process_name(),
        number: 0,
        held: None,
        refusals: 0,
        back_off: BackOff::new(RETRY_PAUSE_MAX),
    };
    let mut is_failing = false;
    loop {
        let flush = filer.wait(&mut asked, is_failing).await;
        let outcome = filer.file_all().await;
        is_failing = outcome.is_err();
        if let Some(flush) = flush {
            // Whoever asked may have given up.
            let _ = flush.send(outcome);
        }
    }
}

struct Filer {
    back_room: Arc<BackRoom>,
    records: Records,
    /// How the database knows this process.
    writer: String,
    number: i64,
    /// A batch that was not filed yet, or of which we do not know.
    held: Option<Batch>,
    refusals: u32,
    back_off: BackOff,
}

impl Filer {
    /// Waits until there is something to file or to try again, or somebody asks.
    async fn wait(&mut self, asked: &mut mpsc::Receiver<Flush>, is_failing: bool) -> Option<Flush> {
        if is_failing {
            let pause = self.back_off.next();
            return tokio::select! {
                flush = asked.recv() => flush,
                () = sleep(pause) => None,
            };
        }
        self.back_off.reset();
        tokio::select! {
            flush = asked.recv() => return flush,
            () = sleep(TOTALS_PAUSE) => return None,
            () = self.back_room.filled.notified() => {}
        }
        tokio::select! {
            flush = asked.recv() => flush,
            () = sleep(FILING_PAUSE) => None,
        }
    }

    /// Files everything that is there now. What comes meanwhile is filed the next time, so that this ends.
    async fn file_all(&mut self) -> Result<(), RecordsError> {
        self.back_room.take_in();
        // One more for what was held, and one for what the refusal of another leaves behind.
        for _ in 0..self.back_room.batches() + 2 {
            let Some(batch) = self.next_batch() else { return Ok(()) };
            match batch.file(&self.records, &self.writer).await {
                Ok(()) => {
                    self.refusals = 0;
                    self.back_room.stored(&batch);
                }
                Err(error) if self.may_pass(&error) => {
                    self.held = Some(batch);
                    self.back_room.failed(&error);
                    return Err(error);
                }
                Err(error) => {
                    self.refusals = 0;
                    self.back_room.refused(batch, &error);
                }
            }
        }
        Ok(())
    }

    fn next_batch(&mut self) -> Option<Batch> {
        self.held.take().or_else(|| {
            let batch = self.back_room.next_batch(self.number + 1)?;
            self.number = batch.number;
            Some(batch)
        })
    }

    /// Whether the same batch may be taken later.
    fn may_pass(&mut self, error: &RecordsError) -> bool {
        let is_about_the_database = matches!(
            error,
            RecordsError::Unavailable { .. }
                | RecordsError::Unanswered { .. }
                | RecordsError::Locked { .. }
                | RecordsError::Full
                | RecordsError::ReadOnly
        );
        if !is_about_the_database {
            self.refusals += 1;
        }
        is_about_the_database || self.refusals < REFUSALS_MAX
    }
}
