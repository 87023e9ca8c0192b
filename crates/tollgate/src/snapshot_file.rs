//! Snapshots in files: written whole or not at all, readable by their owner alone.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use crate::identity::random_word;
use crate::snapshot::{Snapshot, SnapshotFault};

/// Largest snapshot that is read: a table of 500 million keys.
const SNAPSHOT_BYTES_MAX: u64 = 16 << 30;
/// What a snapshot may have besides buckets, in bytes: rules and their tiers.
const RULES_BYTES_MAX: u64 = 64 << 20;
/// Bytes for each key of a table, of the policy or with limits that come with the call, if every slot is taken and every window
/// crowded: above 8/5 · 24 + 8/5 and 8/6 · 40 + 24/6.
const KEY_BYTES_MAX: u64 = 64;
/// Bytes for each entry of a sliding log, if every log has one.
const LOG_ENTRY_BYTES_MAX: u64 = 56;

/// What the tables that a snapshot is for have room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "named as the settings are")]
pub(crate) struct Capacity {
    pub(crate) keys_max: usize,
    pub(crate) explicit_keys_max: usize,
    pub(crate) log_entries_max: usize,
}

impl Capacity {
    /// Bytes that no snapshot of such tables exceeds.
    fn bytes_max(self) -> u64 {
        let keys = (self.keys_max as u64).saturating_add(self.explicit_keys_max as u64);
        let logs = (self.log_entries_max as u64).saturating_mul(LOG_ENTRY_BYTES_MAX);
        let all = keys.saturating_mul(KEY_BYTES_MAX).saturating_add(logs).saturating_add(RULES_BYTES_MAX);
        all.min(SNAPSHOT_BYTES_MAX)
    }
}

/// Writes a snapshot beside `path` and then moves it there, so that a crash leaves the old one or the new one.
pub(crate) fn write(path: &Path, snapshot: &Snapshot) -> Result<(), SnapshotError> {
    let fault = |error: io::Error| SnapshotError::new(path, SnapshotProblem::Io(error.to_string()));
    let mut beside = path.as_os_str().to_owned();
    // A name of its own, so that two who save at once do not write into one file.
    beside.push(format!(".{:016x}", random_word()));
    let beside = PathBuf::from(beside);
    let mut file = private(&beside).map_err(fault)?;
    let written = snapshot.write_to(&mut file).and_then(|()| file.sync_all());
    let moved = written.and_then(|()| fs::rename(&beside, path));
    if moved.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    moved.map_err(fault)
}

/// Removes what saves to `path` have left beside it when their program was killed. Only where nobody is saving there: for a program
/// at its start. How many that were.
pub fn sweep_unfinished_saves(path: impl AsRef<Path>) -> io::Result<usize> {
    let path = path.as_ref();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_unfinished = |name: &OsStr| {
        let rest =
            path.file_name().and_then(|file| name.as_encoded_bytes().strip_prefix(file.as_encoded_bytes()));
        rest.is_some_and(|rest| {
            rest.len() == 17 && rest[0] == b'.' && rest[1..].iter().all(u8::is_ascii_hexdigit)
        })
    };
    let mut removed = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_unfinished(&entry.file_name()) && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Reads a snapshot; `None` if there is no such file, as on a first start. What does not begin like one, or is longer than one of such
/// tables can be, is refused before it is read.
pub(crate) fn read(path: &Path, capacity: Capacity) -> Result<Option<Snapshot>, SnapshotError> {
    let fault = |problem| SnapshotError::new(path, problem);
    let io_fault = |error: io::Error| fault(SnapshotProblem::Io(error.to_string()));
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_fault(error)),
    };
    let mut first = Vec::new();
    file.by_ref().take(Snapshot::FIRST_BYTES as u64).read_to_end(&mut first).map_err(io_fault)?;
    Snapshot::begins(&first).map_err(|reason| fault(SnapshotProblem::Fault(reason)))?;
    let (bytes_len, bytes_max) = (file.metadata().map_err(io_fault)?.len(), capacity.bytes_max());
    if bytes_len > bytes_max {
        return Err(fault(SnapshotProblem::TooLong { bytes_len, bytes_max, capacity }));
    }
    file.rewind().map_err(io_fault)?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).map_err(io_fault)?;
    Snapshot::decode(&bytes).map(Some).map_err(|reason| fault(SnapshotProblem::Fault(reason)))
}

/// A new file with mode 0600: a snapshot holds the secret that names buckets.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Why a snapshot could not be written or put in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotError {
    path: PathBuf,
    problem: SnapshotProblem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SnapshotProblem {
    Io(String),
    Fault(SnapshotFault),
    KeysMax { field: &'static str, saved: u64, asked: usize },
    TooLong { bytes_len: u64, bytes_max: u64, capacity: Capacity },
}

impl SnapshotError {
    pub(crate) fn new(path: &Path, problem: SnapshotProblem) -> SnapshotError {
        SnapshotError { path: path.to_owned(), problem }
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.problem {
            SnapshotProblem::Io(error) => {
                write!(f, "snapshot `{path}`: {error}; check the path and its permissions")
            }
            SnapshotProblem::Fault(fault) => {
                write!(f, "snapshot `{path}` {fault}; delete it to start with full buckets")
            }
            SnapshotProblem::KeysMax { field, saved, asked } => write!(
                f,
                "snapshot `{path}` is of a table with `{field}` {saved}, and this one has {asked}; set `{field}` to {saved}, \
                 or delete the file to start with full buckets"
            ),
            SnapshotProblem::TooLong { bytes_len, bytes_max, capacity } => write!(
                f,
                "snapshot `{path}` has {bytes_len} bytes, and one of tables with `keys_max` {} and `explicit_keys_max` {} has at \
                 most {bytes_max}; set those to what they were when it was written, or delete the file to start with full buckets",
                capacity.keys_max, capacity.explicit_keys_max
            ),
        }
    }
}

impl std::error::Error for SnapshotError {}
