//! A filing room in a temporary folder, with a thread of its own, as a service would have it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::runtime::Runtime;
use tollgate_records::{Records, RecordsOptions, RecordsUrl, ViolationLog, ViolationSettings};

use crate::problem::Problem;

/// SQLite in a folder that goes with it, and a log that writes there.
pub(crate) struct FilingRoom {
    runtime: Runtime,
    records: Records,
    log: ViolationLog,
    folder: PathBuf,
}

impl FilingRoom {
    /// Opens it, and waits until it has its tables.
    pub(crate) fn open() -> Result<FilingRoom, Problem> {
        static OPENED: AtomicU32 = AtomicU32::new(0);
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tollgate-bench-{}-{number}", std::process::id()));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .map_err(|error| Problem::failed(error.to_string()))?;
        let url = RecordsUrl::parse(&format!("sqlite:{}/tollgate.db", folder.display()))
            .map_err(|error| Problem::failed(error.to_string()))?;
        let entered = runtime.enter();
        let records = Records::open(&url, RecordsOptions::default());
        let records = records.ok_or_else(|| Problem::failed("no filing room was opened".to_owned()))?;
        runtime.block_on(records.ready());
        let log = ViolationLog::new(Some(records.clone()), ViolationSettings::default());
        drop(entered);
        Ok(FilingRoom { runtime, records, log, folder })
    }

    pub(crate) fn log(&self) -> ViolationLog {
        self.log.clone()
    }

    /// Files what was noted so far.
    pub(crate) fn settle(&self) {
        // What the database did not take is dropped at the end, and refused there.
        let _ = self.runtime.block_on(self.log.flush());
    }

    /// Files the rest. Refuses figures of a log that lost count, or rows.
    pub(crate) fn close(&self, denied: u64) -> Result<(), Problem> {
        let counts = self.runtime.block_on(self.log.close());
        self.runtime.block_on(self.records.close());
        eprintln!("records: {counts:?}");
        let adds_up =
            counts.denied == denied && counts.stored + counts.sampled_out + counts.dropped == denied;
        // A log that lost rows had less to do.
        if adds_up && counts.stored > 0 && counts.dropped == 0 {
            return Ok(());
        }
        Err(Problem::failed(format!(
            "{denied} checks were denied and the log says {counts:?}; mend crates/records"
        )))
    }
}

impl Drop for FilingRoom {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
