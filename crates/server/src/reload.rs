//! Keeps the policy fresh (P10), and the keys in files that it names: they are read again when a file or a link on the way to it
//! changes, and on SIGHUP.
//!
//! What is watched are directories, since editors and deployments replace files and links rather than writing into them. A bad
//! file leaves the old policy in force.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::engine::{Engine, Reload};
use crate::service_manager::ServiceManager;

/// How long to wait after a change for those that come with it.
const SETTLE: Duration = Duration::from_millis(50);
/// Changes that wait to be noticed; more say nothing new.
const CHANGES_MAX: usize = 1;

/// Goes on until `end`.
pub(crate) struct Following(JoinHandle<()>);

impl Following {
    /// Follows no more: when this is done, the manager is told nothing further of the policy.
    pub(crate) async fn end(self) {
        self.0.abort();
        let _ = self.0.await;
    }
}

/// Begins to follow the policy's file: from now on no change is missed, nor is one since it was read.
pub(crate) fn follow(engine: &Arc<Engine>, manager: &Arc<ServiceManager>) -> io::Result<Following> {
    let hangup = signal(SignalKind::hangup())?;
    let (tell, changes) = mpsc::channel(CHANGES_MAX);
    let watch = Watch::new(&engine.files(), tell.clone());
    // It may have changed before it was watched.
    let _ = tell.try_send(());
    let (engine, manager) = (Arc::clone(engine), Arc::clone(manager));
    Ok(Following(tokio::spawn(run(engine, manager, hangup, changes, watch))))
}

async fn run(
    engine: Arc<Engine>,
    manager: Arc<ServiceManager>,
    mut hangup: Signal,
    mut changes: mpsc::Receiver<()>,
    mut watch: Watch,
) {
    loop {
        let is_asked = tokio::select! {
            _ = hangup.recv() => true,
            _ = changes.recv() => {
                tokio::time::sleep(SETTLE).await;
                while changes.try_recv().is_ok() {}
                false
            }
        };
        // Links may lead elsewhere now.
        watch.refresh(&engine.files());
        if is_asked {
            manager.reloading();
            engine.tokens.want_fresh();
        }
        let (before, reloaded) = (engine.summary(), Arc::clone(&engine));
        // A large policy takes a while to compile.
        let _ = tokio::task::spawn_blocking(move || reload(&reloaded, is_asked)).await;
        // Another policy names other files, which may have changed before they were watched.
        if watch.refresh(&engine.files()) {
            let _ = watch.tell.try_send(());
        }
        let after = engine.summary();
        if is_asked {
            manager.ready(&after);
        } else if after != before {
            manager.status(&after);
        }
    }
}

fn reload(engine: &Engine, is_asked: bool) {
    match engine.reload() {
        Ok(Reload::Swapped) => {
            let loaded = engine.loaded();
            tracing::info!(version = loaded.version, hash = loaded.hash, "another policy is in force");
        }
        Ok(Reload::OtherKeys) => tracing::info!("other keys for tokens are in force"),
        Ok(Reload::Unchanged) if is_asked => tracing::info!("the policy has not changed"),
        Ok(Reload::Unchanged) => {}
        Err(fault) => tracing::error!("the policy is refused, and the one before stays in force:\n{fault}"),
    }
}

/// The directories that are watched.
struct Watch {
    watcher: Option<RecommendedWatcher>,
    watched: Vec<PathBuf>,
    /// The channel stays open while nothing is watched.
    tell: mpsc::Sender<()>,
}

impl Watch {
    /// Watches these files, and those that [`Watch::refresh`] is given later; without any, nothing for good.
    fn new(files: &[PathBuf], tell: mpsc::Sender<()>) -> Watch {
        let kept = tell.clone();
        let told = move |event: notify::Result<notify::Event>| {
            let is_read = matches!(&event, Ok(event) if event.kind.is_access());
            if !is_read {
                let _ = tell.try_send(());
            }
        };
        let watcher = files.first().and_then(|_| match notify::recommended_watcher(told) {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                tracing::warn!(%error, "cannot watch the policy's file; send SIGHUP when it has changed");
                None
            }
        });
        let mut watch = Watch { watcher, watched: Vec::new(), tell: kept };
        watch.refresh(files);
        watch
    }

    /// Watches every directory on the way to the files, and no other. Whether some were not watched before.
    fn refresh(&mut self, files: &[PathBuf]) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        let mut wanted: Vec<PathBuf> = files.iter().flat_map(|file| directories(file)).collect();
        wanted.sort();
        wanted.dedup();
        for directory in self.watched.iter().filter(|directory| !wanted.contains(directory)) {
            let _ = watcher.unwatch(directory);
        }
        for directory in &wanted {
            // Again, even if it was watched: it may be another one of the same name.
            if let Err(error) = watcher.watch(directory, RecursiveMode::NonRecursive) {
                tracing::warn!(directory = %directory.display(), %error, "cannot watch for changes of the policy");
            }
        }
        let is_more = wanted.iter().any(|directory| !self.watched.contains(directory));
        self.watched = wanted;
        is_more
    }
}

/// Where the file is, where each link on the way to it is, and where it truly is.
fn directories(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut add = |directory: Option<&Path>| {
        let directory = match directory {
            Some(directory) if !directory.as_os_str().is_empty() => directory.to_owned(),
            Some(_) => PathBuf::from("."),
            None => return,
        };
        if !found.contains(&directory) {
            found.push(directory);
        }
    };
    add(path.parent());
    let links = path.ancestors().skip(1).filter(|ancestor| ancestor.is_symlink());
    links.for_each(|link| add(link.parent()));
    if let Ok(target) = path.canonicalize() {
        add(target.parent());
    }
    found
}
