//! What was last fetched and built, so that neither is done again for nothing.
//!
//! Stamps lie in `web/node_modules`: fetching packages empties that folder, after which the page is built anew.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::problem::Problem;

use super::files_below;

/// What of `web/` is no source of the page.
const NO_SOURCES: [&str; 3] = ["node_modules", "dist", "tests"];

/// A file that tells one state of sources from any other.
pub(super) struct Stamp {
    path: PathBuf,
    text: String,
}

impl Stamp {
    /// Of the packages that the lock file names.
    pub(super) fn of_packages(web: &Path) -> Result<Self, Problem> {
        let lock = web.join("package-lock.json");
        let text = fs::read_to_string(&lock).map_err(|error| cannot("read", &lock, &error))?;
        Ok(Self { path: web.join("node_modules/.tollgate-packages"), text })
    }

    /// Of every source of the page, by size and time of change.
    pub(super) fn of_sources(web: &Path) -> Result<Self, Problem> {
        let mut text = String::new();
        for path in files_below(web, &NO_SOURCES)? {
            let file = web.join(&path);
            let about = file.metadata().map_err(|error| cannot("read", &file, &error))?;
            let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let changed = changed.unwrap_or_default().as_nanos();
            let _ = writeln!(text, "{} {} {changed}", path.display(), about.len());
        }
        Ok(Self { path: web.join("node_modules/.tollgate-sources"), text })
    }

    /// Whether this state is the one that was put last.
    pub(super) fn is_there(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|text| text == self.text)
    }

    /// Notes that this state has been dealt with.
    pub(super) fn put(&self) -> Result<(), Problem> {
        fs::write(&self.path, &self.text).map_err(|error| cannot("write", &self.path, &error))
    }
}

fn cannot(verb: &str, path: &Path, error: &std::io::Error) -> Problem {
    Problem::failed(format!("cannot {verb} '{}': {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{Path, Stamp, fs};

    /// A folder like `web/`.
    fn scratch(name: &str) -> std::path::PathBuf {
        let web = std::env::temp_dir().join(format!("tollgate-stamp-{name}-{}", std::process::id()));
        for folder in ["src/lib", "tests", "node_modules", "dist"] {
            fs::create_dir_all(web.join(folder)).unwrap();
        }
        for file in ["package-lock.json", "src/main.ts", "src/lib/api.ts", "tests/a.test.ts"] {
            fs::write(web.join(file), file).unwrap();
        }
        web
    }

    /// Whether a change is noticed by the stamp of sources.
    fn notices(web: &Path, change: impl FnOnce()) -> bool {
        Stamp::of_sources(web).unwrap().put().unwrap();
        assert!(Stamp::of_sources(web).unwrap().is_there());
        change();
        !Stamp::of_sources(web).unwrap().is_there()
    }

    #[test]
    fn a_source_that_is_edited_added_or_removed_is_noticed_and_a_test_is_not() {
        let web = scratch("sources");
        assert!(!Stamp::of_sources(&web).unwrap().is_there());
        assert!(notices(&web, || fs::write(web.join("src/main.ts"), "edited").unwrap()));
        assert!(notices(&web, || fs::write(web.join("src/lib/new.ts"), "").unwrap()));
        assert!(notices(&web, || fs::remove_file(web.join("src/lib/api.ts")).unwrap()));
        assert!(!notices(&web, || fs::write(web.join("tests/a.test.ts"), "edited").unwrap()));
        assert!(!notices(&web, || fs::write(web.join("dist/index.html"), "built").unwrap()));
        fs::remove_dir_all(web).unwrap();
    }

    #[test]
    fn packages_are_fetched_again_when_the_lock_file_changes() {
        let web = scratch("packages");
        Stamp::of_packages(&web).unwrap().put().unwrap();
        assert!(Stamp::of_packages(&web).unwrap().is_there());
        fs::write(web.join("package-lock.json"), "another").unwrap();
        assert!(!Stamp::of_packages(&web).unwrap().is_there());
        fs::remove_dir_all(web).unwrap();
    }
}
