//! The file of SQLite: readable by its owner alone, in a folder that is made if it is missing, and known again when it is looked at.
//!
//! ```text
//!  tollgate.db       what connections hold is this very file, whatever its name means later
//!  tollgate.db-wal   changes that are not in it yet; found by name, so that they would be put into a file that stands in for it
//!  tollgate.db-shm   the index of those
//! ```

use std::fs::{DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::RecordsError;

/// For whoever owns it, and nobody else. SQLite gives its other files the same.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
/// How the names of the files beside it end.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// Which file a name means, and which are beside it: device and inode of each, none where there is no such file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Seen {
    file: Option<(u64, u64)>,
    beside: [Option<(u64, u64)>; 2],
}

impl Seen {
    /// Looks. A file that cannot be looked at is none.
    pub(crate) fn at(path: &Path) -> Seen {
        // Those beside it first: as long as the file is the same afterwards they are its own.
        let beside = beside(path).map(|path| identity(&path));
        Seen { file: identity(path), beside }
    }

    /// Whether the name means the file that it did.
    pub(crate) fn is_same_file(&self, before: &Seen) -> bool {
        self.file.is_some() && self.file == before.file
    }

    /// Where this file is gone or another stands in for it: removes what is left beside it. SQLite would put it into the other.
    pub(crate) fn clear_away(&self, path: &Path) {
        let now = Seen::at(path);
        if self.file.is_none() || now.is_same_file(self) {
            return;
        }
        for (path, (left, is)) in beside(path).iter().zip(self.beside.iter().zip(now.beside)) {
            if left.is_some() && *left == is {
                // If it cannot be removed, neither can the database be written, which is told.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

fn beside(path: &Path) -> [PathBuf; 2] {
    BESIDE.map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        name.into()
    })
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|file| (file.dev(), file.ino()))
}

/// Makes folder and file if they are missing. An existing file keeps its mode.
pub(crate) fn prepare(path: &Path) -> Result<(), RecordsError> {
    let refused = |what: &Path, error: std::io::Error| RecordsError::Unavailable {
        why: format!("cannot make '{}': {error}; make its folder writable, or name another", what.display()),
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder);
        made.map_err(|error| refused(folder, error))?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(refused(path, error)),
        _ => Ok(()),
    }
}
