//! The file of a start's viewer token: `STATE_DIR/admin-PORT.token`, for commands of the user that runs the server.
//!
//! The file appears whole, since it is written under another name and renamed. A file that a killed process left behind is replaced. The
//! file is removed with its [`TokenFile`]. Only its owner can read it, and [`read`] refuses a file that others could have written.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
/// Longest file, in bytes.
const FILE_BYTES_MAX: u64 = 512;

/// Returns the path of the file for an admin listener at this TCP port.
pub fn path(state_dir: &Path, port: u16) -> PathBuf {
    state_dir.join(format!("admin-{port}.token"))
}

/// A file that was written; dropping it removes the file, unless another process replaced it meanwhile.
#[derive(Debug)]
pub(crate) struct TokenFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl TokenFile {
    /// Writes the token to `path`, whose folder is made if it is missing.
    pub(crate) fn write(path: &Path, token: &str) -> io::Result<TokenFile> {
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
        }
        let unfinished = path.with_extension(format!("token.{}", std::process::id()));
        // A killed process of the same number may have left one; `create_new` follows no link and opens no file of another user.
        if let Err(error) = fs::remove_file(&unfinished)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&unfinished)?;
        let written = writeln!(file, "{token}").and_then(|()| fs::rename(&unfinished, path));
        if let Err(error) = written {
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        let metadata = file.metadata()?;
        Ok(TokenFile { path: path.to_owned(), identity: (metadata.dev(), metadata.ino()) })
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.identity) {
            // A file that cannot be removed holds a token that ends with this process.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns the token in the file, or `None` if there is no file. The error says why the file is not used, and the fix.
pub fn read(path: &Path) -> Result<Option<String>, String> {
    // Without O_NONBLOCK a pipe of this name would block.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{error}; run the command as the user that runs the server")),
    };
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    let (owner, user, mode) = (metadata.uid(), rustix::process::geteuid().as_raw(), metadata.mode() & 0o7777);
    if !metadata.is_file() {
        return Err("it is not a regular file; remove it, and start the server again".to_owned());
    }
    if owner != user {
        return Err(format!(
            "it belongs to user {owner} and this command runs as user {user}; run it as the user that runs the server"
        ));
    }
    if mode != FILE_MODE {
        return Err(format!(
            "its mode is {mode:04o} and not {FILE_MODE:04o}, so others may have written it; remove it, and start the server again"
        ));
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(Some(text.trim_end_matches('\n').to_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    static NEXT: AtomicU32 = AtomicU32::new(1);

    /// A folder that does not exist yet.
    fn folder() -> PathBuf {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        std::env::temp_dir().join(format!("tollgate-token-file-{}-{number}", std::process::id()))
    }

    #[test]
    fn token_file_is_its_owners_and_ends_with_its_guard() {
        let folder = folder();
        let file = path(&folder.join("state"), 8082);
        assert_eq!(read(&file), Ok(None));
        let kept = TokenFile::write(&file, "tg_start_1").unwrap();
        assert_eq!(read(&file), Ok(Some("tg_start_1".to_owned())));
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        let names: Vec<_> =
            fs::read_dir(folder.join("state")).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(names, ["admin-8082.token"]);
        drop(kept);
        assert_eq!(read(&file), Ok(None));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn stale_token_file_is_replaced_and_others_stay() {
        let folder = folder();
        let (file, other) = (path(&folder, 1), path(&folder, 2));
        // A killed process left the first.
        std::mem::forget(TokenFile::write(&file, "stale").unwrap());
        let kept = [TokenFile::write(&file, "first").unwrap(), TokenFile::write(&other, "other").unwrap()];
        assert_eq!(read(&file), Ok(Some("first".to_owned())));
        let newer = TokenFile::write(&file, "newer").unwrap();
        drop(kept);
        assert_eq!((read(&file), read(&other)), (Ok(Some("newer".to_owned())), Ok(None)));
        drop(newer);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn token_file_follows_no_link() {
        let folder = folder();
        fs::create_dir_all(&folder).unwrap();
        let (file, elsewhere) = (path(&folder, 1), folder.join("elsewhere"));
        fs::write(&elsewhere, "of another").unwrap();
        symlink(&elsewhere, &file).unwrap();
        assert!(read(&file).is_err());
        let kept = TokenFile::write(&file, "token").unwrap();
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "of another");
        assert_eq!(read(&file), Ok(Some("token".to_owned())));
        drop(kept);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn token_file_that_others_may_write_is_refused() {
        let folder = folder();
        let file = path(&folder, 1);
        let kept = TokenFile::write(&file, "token").unwrap();
        for mode in [0o644, 0o620, 0o666, 0o700] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let why = read(&file).unwrap_err();
            assert!(why.contains(&format!("{mode:04o}")) && why.contains("start the server again"), "{why}");
        }
        drop(kept);
        fs::remove_dir_all(folder).unwrap();
    }
}
