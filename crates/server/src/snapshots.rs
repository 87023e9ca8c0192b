//! The tables on disk (S7): read before the doors open, written while they are open and once more when they are shut.
//!
//! Promises that a start is never refused for what a snapshot says: one that is no use is kept beside, counted and logged, and
//! every bucket is full. Checks go on while a snapshot is written. It does not know what is in one.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tollgate::{LimiterBuilder, PolicyLimiter};

use crate::engine::Engine;
use crate::metrics::{Metrics, SnapshotEvent};
use crate::policy_source::PolicyFault;
use crate::stopping::Signals;

/// What is appended to the name of a file that is no use.
const BAD: &str = ".bad";
/// What is appended to find out whether files can be made there.
const PROBE: &str = ".probe";

/// Where the snapshot is. Files can be made there.
#[derive(Debug)]
pub(crate) struct SnapshotFile(PathBuf);

/// Why there can be no snapshot.
#[derive(Debug)]
pub struct SnapshotPlaceError {
    path: PathBuf,
    why: String,
}

impl SnapshotFile {
    /// The file at `path`, which need not be there yet. Removes what writers that were killed have left beside it.
    pub(crate) fn at(path: &Path) -> Result<SnapshotFile, SnapshotPlaceError> {
        let refuse = |why: String| SnapshotPlaceError { path: path.to_owned(), why };
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                return Err(refuse("it is a directory; name a file in it".to_owned()));
            }
            Ok(found) if !found.is_file() => {
                return Err(refuse("it is no plain file; name another".to_owned()));
            }
            _ => {}
        }
        let cure = "let this user make files in a folder that is there, or name another file";
        let probe = beside(path, PROBE);
        // One that was left behind, or put there to lead us elsewhere.
        let _ = fs::remove_file(&probe);
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&probe);
        made.and_then(|_| fs::remove_file(&probe)).map_err(|error| refuse(format!("{error}; {cure}")))?;
        tollgate::sweep_unfinished_saves(path).map_err(|error| refuse(format!("{error}; {cure}")))?;
        Ok(SnapshotFile(path.to_owned()))
    }

    /// A limiter that continues from the file; with full buckets if there is none, or if it is no use.
    pub(crate) fn restore(
        &self,
        settings: LimiterBuilder,
        metrics: &Metrics,
        build: impl Fn(LimiterBuilder) -> Result<PolicyLimiter, PolicyFault>,
    ) -> Result<PolicyLimiter, PolicyFault> {
        let (path, is_there) = (&self.0, self.0.exists());
        match build(settings.clone().restore(path)) {
            Ok(limiter) if is_there => {
                let stats = limiter.limiter().stats();
                let buckets = stats.slots_taken + stats.explicit.slots_taken;
                tracing::info!(file = %path.display(), buckets, "continues from the snapshot");
                metrics.note_snapshot(SnapshotEvent::Restored);
                Ok(limiter)
            }
            Ok(limiter) => {
                tracing::info!(file = %path.display(), "there is no snapshot yet; every bucket starts full");
                Ok(limiter)
            }
            Err(fault) => {
                // If it is not the snapshot's fault, it stays where it is.
                let limiter = build(settings)?;
                metrics.note_snapshot(SnapshotEvent::Refused);
                self.set_aside(&fault);
                Ok(limiter)
            }
        }
    }

    fn set_aside(&self, fault: &PolicyFault) {
        let (path, bad) = (&self.0, beside(&self.0, BAD));
        let kept = match fs::rename(path, &bad) {
            Ok(()) => format!(
                "It is kept as '{}': put right what is wrong and move it back to go on from it, or delete it",
                bad.display()
            ),
            Err(error) => {
                format!("It cannot be kept as '{}' ({error}) and will be overwritten", bad.display())
            }
        };
        // Here one setting is the size of both tables.
        let fault = fault
            .to_string()
            .replace("`explicit_keys_max`", "`max_keys`")
            .replace("`keys_max`", "`max_keys`");
        tracing::error!("every bucket starts full, since the snapshot is no use. {kept}. {fault}");
    }
}

/// Saves again and again, never twice at the same time.
pub(crate) struct Saving {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Saving {
    /// Begins to save every so often, from the end of one save to the begin of the next.
    pub(crate) fn begin(engine: &Arc<Engine>, file: SnapshotFile, every: Duration) -> Saving {
        let (end, ended) = oneshot::channel();
        Saving { end, task: tokio::spawn(run(Arc::clone(engine), file.0, every, ended)) }
    }

    /// Saves a last time, within `longest` and unless told to end once more.
    pub(crate) async fn end(self, longest: Duration, signals: &Signals) {
        let Saving { end, task } = self;
        drop(end);
        tokio::select! {
            _ = task => {}
            () = tokio::time::sleep(longest) => {
                tracing::error!("the last snapshot was not written in time; the one before is kept");
            }
            () = signals.stop() => {
                tracing::warn!("the last snapshot is not written, as told once more; the one before is kept");
            }
        }
    }
}

async fn run(engine: Arc<Engine>, path: PathBuf, every: Duration, mut ended: oneshot::Receiver<()>) {
    let (path, mut failures) = (Arc::new(path), 0_u64);
    loop {
        let is_last = tokio::select! {
            _ = &mut ended => true,
            () = tokio::time::sleep(every) => false,
        };
        failures = save(&engine, &path, failures).await;
        if is_last {
            if failures == 0 {
                tracing::info!(file = %path.display(), "the snapshot is written");
            }
            return;
        }
    }
}

/// Saves once, away from the threads that serve. How often it has failed in a row.
async fn save(engine: &Arc<Engine>, path: &Arc<PathBuf>, failures: u64) -> u64 {
    let (saved, to) = (Arc::clone(engine), Arc::clone(path));
    let result = spawn_blocking(move || saved.limiter.limiter().save(to.as_path())).await;
    let fault = match result {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    engine.metrics.note_snapshot(if fault.is_none() { SnapshotEvent::Saved } else { SnapshotEvent::Failed });
    match fault {
        None if failures > 0 => {
            tracing::info!(failures, file = %path.display(), "snapshots are written again");
            0
        }
        None => 0,
        Some(fault) => {
            let failures = failures + 1;
            // Each time in a row is half as worth telling.
            if failures.is_power_of_two() {
                tracing::error!(failures, "cannot save, and will try again: {fault}");
            }
            failures
        }
    }
}

/// The file of this name and more.
fn beside(path: &Path, more: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(more);
    PathBuf::from(name)
}

impl fmt::Display for SnapshotPlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot keep a snapshot at '{}': {}; see --snapshot", self.path.display(), self.why)
    }
}

impl std::error::Error for SnapshotPlaceError {}
