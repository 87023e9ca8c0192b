//! The way to a file: every link that is followed, and the file at its end.
//!
//! Follows links one by one as the machine does, so that a link in the middle is known too. Reads names and stamps, never a text.

use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Most links on a way; Linux follows no more either.
const LINKS_MAX: usize = 40;

/// What is on the way to a file. Two that are equal lead to the same file, which has not changed between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Way {
    /// The links in their order, then the file, or the first name that is missing. They are absolute, and no folder in them is a link.
    names: Vec<PathBuf>,
    /// Unless a name is missing.
    end: Option<Stamp>,
}

/// Tells whether a file is another one or has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    /// When the text changed, in seconds and nanoseconds.
    modified: (i64, i64),
    /// When anything did, such as who may read it.
    changed: (i64, i64),
}

impl Way {
    /// The way to this file, as it is now.
    pub(super) fn to(path: &Path) -> Way {
        let mut way = Way { names: Vec::new(), end: None };
        let mut here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let mut ahead = Vec::new();
        push_parts(&mut ahead, path);
        while let Some(part) = ahead.pop() {
            if part == ".." {
                here.pop();
                continue;
            }
            let name = here.join(part);
            let found = name.symlink_metadata().ok();
            let is_link = found.as_ref().is_some_and(Metadata::is_symlink);
            if is_link && way.names.len() < LINKS_MAX {
                if let Ok(target) = name.read_link() {
                    push_parts(&mut ahead, &target);
                }
                way.names.push(name);
            } else if found.is_some() && !ahead.is_empty() {
                here = name;
            } else {
                way.names.push(name);
                way.end = found.map(Stamp::from);
                break;
            }
        }
        way
    }

    /// The names whose change may lead elsewhere.
    pub(super) fn names(&self) -> &[PathBuf] {
        &self.names
    }

    /// The folders of these names; none is a link.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.names.iter().filter_map(|name| name.parent())
    }
}

/// Puts the parts of the path on top, the first one uppermost. A root among them begins anew, since joining it does.
fn push_parts(ahead: &mut Vec<OsString>, path: &Path) {
    let parts = path.components().rev().map(|part| part.as_os_str().to_owned());
    ahead.extend(parts.filter(|part| part != "."));
}

impl From<Metadata> for Stamp {
    fn from(found: Metadata) -> Stamp {
        Stamp {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_link_is_on_the_way_and_the_end_is_where_they_lead() {
        let root = std::env::temp_dir().join(format!("tollgate-way-{}", std::process::id()));
        for folder in ["a", "b", "c1"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let root = root.canonicalize().unwrap();
        std::fs::write(root.join("c1/p"), "text").unwrap();
        symlink(root.join("c1"), root.join("b/current")).unwrap();
        symlink("../b/./current/p", root.join("a/p")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let names = |path: &str| {
            let way = Way::to(&root.join(path));
            let names = way.names.iter().map(|name| name.strip_prefix(&root).unwrap().to_owned());
            (names.collect::<Vec<_>>(), way.end.is_some())
        };
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(names("a/p"), (paths(&["a/p", "b/current", "c1/p"]), true));
        assert_eq!(names("a/../c1/p"), (paths(&["c1/p"]), true));
        assert_eq!(names("none/of/these"), (paths(&["none"]), false), "the first that is missing");
        assert_eq!(names("round").0.len(), LINKS_MAX + 1, "a circle ends");
        let before = Way::to(&root.join("a/p"));
        assert_eq!(before, Way::to(&root.join("a/p")));
        std::fs::write(root.join("c1/p"), "another text").unwrap();
        assert_ne!(before, Way::to(&root.join("a/p")));
        std::fs::remove_dir_all(root).unwrap();
    }
}
