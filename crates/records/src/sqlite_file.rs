//! The file of SQLite: readable by its owner alone, in a folder that is made if it is missing.

use std::fs::{DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::RecordsError;

/// For whoever owns it, and nobody else. SQLite gives its other files the same.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

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
