//! The folder of one demo, which only its owner can read and which goes away with it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use crate::problem::Problem;

/// How many names are tried: of demos that run, or were killed.
const NAMES_MAX: u32 = 1_000;

/// It is there while this is.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// A new one among the machine's temporary files.
    pub(super) fn new() -> Result<Folder, Problem> {
        let place = std::env::temp_dir();
        let names = (0..NAMES_MAX).map(|n| place.join(format!("tollgate-demo-{}-{n}", std::process::id())));
        for path in names {
            // Somebody else's folder of that name is not taken over.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Folder(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Problem::Unwritten { what: "the demo's files", path, error }),
            }
        }
        let error = io::Error::from(io::ErrorKind::AlreadyExists);
        Err(Problem::Unwritten { what: "the demo's files", path: place, error })
    }

    /// Where a file of this name is, or would be.
    pub(super) fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    /// Puts a file there.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Problem> {
        let path = self.0.join(name);
        fs::write(&path, text).map_err(|error| Problem::Unwritten { what: "the demo's files", path, error })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is among temporary files all the same.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::Folder;

    #[test]
    fn it_is_its_owners_alone_and_goes_away() {
        let (first, second) = (Folder::new().unwrap(), Folder::new().unwrap());
        assert_ne!(first.0, second.0);
        first.write("policy.yaml", "x").unwrap();
        assert_eq!(std::fs::read_to_string(first.path("policy.yaml")).unwrap(), "x");
        assert_eq!(first.0.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let path = first.0.clone();
        drop(first);
        assert!(!path.exists());
    }
}
