//! Watches the folders on the way to the files, and tells of changes that matter.
//!
//! Folders, since editors and deployments replace files and links rather than writing into them. A file that is being written is not
//! told of before it is closed, where the machine says so (Linux). It may miss changes; those are seen by looking again.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::way::Way;

/// Whether the machine tells that a file was closed by whoever wrote it.
const TELLS_CLOSED: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// The folders that are watched.
pub(super) struct Watch {
    watcher: Option<RecommendedWatcher>,
    watched: Vec<Folder>,
    matter: Arc<Mutex<Matter>>,
}

/// A folder, and which one of that name: device and inode, if it can be watched.
#[derive(Debug, PartialEq, Eq)]
struct Folder {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

/// What matters of all that is told.
#[derive(Debug, Default)]
struct Matter {
    names: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    /// Those of the names that somebody writes into.
    written: Vec<PathBuf>,
}

impl Watch {
    /// Watches what [`Watch::refresh`] is given, and `tell`s.
    pub(super) fn new(tell: mpsc::Sender<()>) -> Watch {
        let matter = Arc::new(Mutex::new(Matter::default()));
        let noted = Arc::clone(&matter);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.map_or(true, |event| lock(&noted).note(&event)) {
                let _ = tell.try_send(());
            }
        });
        let watcher = watcher.inspect_err(|error| {
            tracing::warn!(%error, "changes of the policy are not told; its file is looked at now and then");
        });
        Watch { watcher: watcher.ok(), watched: Vec::new(), matter }
    }

    /// Whether somebody writes into one of the files.
    pub(super) fn is_being_written(&self) -> bool {
        !lock(&self.matter).written.is_empty()
    }

    /// Watches every folder on these ways, and no other.
    pub(super) fn refresh(&mut self, ways: &[Way]) {
        let Some(watcher) = &mut self.watcher else { return };
        let mut names: Vec<PathBuf> = ways.iter().flat_map(Way::names).cloned().collect();
        names.sort();
        names.dedup();
        let mut folders: Vec<PathBuf> = ways.iter().flat_map(Way::folders).map(Path::to_owned).collect();
        folders.sort();
        folders.dedup();
        lock(&self.matter).is_now(names, folders.clone());
        let mut before = std::mem::take(&mut self.watched);
        before.retain(|old| {
            let is_kept = folders.contains(&old.path) && old.identity == identity(&old.path);
            if !is_kept && old.identity.is_some() {
                let _ = watcher.unwatch(&old.path);
            }
            is_kept || old.identity.is_none()
        });
        for path in folders {
            let identity = identity(&path);
            // Again, even if it was watched: the watcher forgets a folder of which it is told late that it went.
            let result = watcher.watch(&path, RecursiveMode::NonRecursive);
            let folder = Folder { identity: identity.filter(|_| result.is_ok()), path };
            if let Err(error) = result
                && !before.contains(&folder)
            {
                let folder = folder.path.display();
                tracing::warn!(%folder, %error, "cannot watch for changes of the policy; its file is looked at now and then");
            }
            self.watched.push(folder);
        }
    }
}

impl Matter {
    /// From now on, these matter.
    fn is_now(&mut self, names: Vec<PathBuf>, folders: Vec<PathBuf>) {
        self.written.retain(|name| names.contains(name));
        (self.names, self.folders) = (names, folders);
    }

    /// Whether to read the files after this event.
    fn note(&mut self, event: &Event) -> bool {
        let is_of_name = |path: &PathBuf| self.names.contains(path);
        let Some(name) = event.paths.iter().find(|path| is_of_name(path)).cloned() else {
            let folder = event.paths.iter().find(|path| self.folders.contains(path));
            let folder = folder.filter(|_| !event.kind.is_access());
            // Whoever writes into a file of a folder that went does not write into ours.
            self.written.retain(|name| folder.is_none_or(|folder| name.parent() != Some(folder)));
            return event.need_rescan() || folder.is_some();
        };
        let is_written = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
            EventKind::Access(_) => return false,
            EventKind::Create(_) => TELLS_CLOSED && is_begun(&name),
            EventKind::Modify(ModifyKind::Data(_)) => TELLS_CLOSED,
            EventKind::Modify(ModifyKind::Metadata(_)) => return true,
            _ => false,
        };
        self.written.retain(|written| *written != name);
        if is_written {
            self.written.push(name);
        }
        !is_written
    }
}

/// Whether the new file waits for its text, unlike one that was linked here.
fn is_begun(name: &Path) -> bool {
    name.symlink_metadata().is_ok_and(|found| found.is_file() && found.nlink() == 1 && found.len() == 0)
}

fn identity(folder: &Path) -> Option<(u64, u64)> {
    folder.metadata().ok().map(|found| (found.dev(), found.ino()))
}

fn lock(matter: &Mutex<Matter>) -> MutexGuard<'_, Matter> {
    matter.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, DataChange, RemoveKind, RenameMode};

    #[test]
    fn what_matters_is_told_and_what_is_being_written_when_it_is_closed() {
        let mut matter = Matter::default();
        matter.is_now(vec!["/conf/p.yaml".into()], vec!["/conf".into()]);
        let mut told = |kind, path: &str| {
            let is_told = matter.note(&Event::new(kind).add_path(path.into()));
            (is_told, !matter.written.is_empty())
        };
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
        let opened = EventKind::Access(AccessKind::Open(AccessMode::Any));
        let moved = EventKind::Modify(ModifyKind::Name(RenameMode::To));
        for kind in [data, closed, moved, EventKind::Create(CreateKind::File)] {
            assert_eq!(told(kind, "/conf/server.log"), (false, false), "{kind:?}");
        }
        assert_eq!(told(opened, "/conf/p.yaml"), (false, false));
        assert_eq!(told(moved, "/conf/p.yaml"), (true, false));
        if TELLS_CLOSED {
            assert_eq!(told(data, "/conf/p.yaml"), (false, true));
            assert_eq!(told(closed, "/conf/p.yaml"), (true, false));
            assert_eq!(told(data, "/conf/p.yaml"), (false, true));
            assert_eq!(told(EventKind::Remove(RemoveKind::Folder), "/conf"), (true, false));
        }
    }
}
