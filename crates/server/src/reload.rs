//! Keeps the policy fresh (P10), and the keys in files that it names: they are read again when a file or a link on the way to it
//! changes, and on SIGHUP.
//!
//! Changes are told by the machine ([`watch`]), and seen by looking every [`LOOK_EVERY`] ([`looks`]) where it does not. A bad file
//! leaves the old policy in force.

mod looks;
mod watch;
mod way;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::engine::{Engine, Reload};
use crate::service_manager::ServiceManager;
use looks::Looks;
use watch::Watch;
use way::Way;

/// How long to wait after a change for those that come with it.
const SETTLE: Duration = Duration::from_millis(50);
/// How often to look at the files. What is seen twice is believed, so a change that is not told takes a second at most.
const LOOK_EVERY: Duration = Duration::from_millis(500);
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
    let (tell, told) = mpsc::channel(CHANGES_MAX);
    // It may have changed before it was watched.
    let _ = tell.try_send(());
    // The embedded policy has none, for good.
    let has_files = !engine.files().is_empty();
    let watch = has_files.then(|| Watch::new(tell.clone()));
    let changes = Changes { hangup, told, watch, looks: Looks::default(), tell };
    let (engine, manager) = (Arc::clone(engine), Arc::clone(manager));
    Ok(Following(tokio::spawn(run(engine, manager, changes))))
}

/// All that may say that the files have changed.
struct Changes {
    hangup: Signal,
    told: mpsc::Receiver<()>,
    /// Unless there are no files.
    watch: Option<Watch>,
    looks: Looks,
    /// The channel stays open while nothing is watched.
    tell: mpsc::Sender<()>,
}

async fn run(engine: Arc<Engine>, manager: Arc<ServiceManager>, mut changes: Changes) {
    loop {
        let is_asked = changes.next(&engine).await;
        let files = engine.files();
        changes.note_read(ways(&engine).await);
        if is_asked {
            manager.reloading();
            engine.tokens.want_fresh();
        }
        let (before, reloaded) = (engine.summary(), Arc::clone(&engine));
        // A large policy takes a while to compile.
        let _ = spawn_blocking(move || reload(&reloaded, is_asked)).await;
        // Another policy names other files, which may have changed before they were watched.
        if engine.files() != files {
            let _ = changes.tell.try_send(());
        }
        let after = engine.summary();
        if is_asked {
            manager.ready(&after);
        } else if after != before {
            manager.status(&after);
        }
    }
}

impl Changes {
    /// Waits until the files are to be read. Whether somebody asks for it.
    async fn next(&mut self, engine: &Arc<Engine>) -> bool {
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first is at once.
        look.tick().await;
        loop {
            let is_changed = tokio::select! {
                _ = self.hangup.recv() => return true,
                _ = self.told.recv() => {
                    sleep(SETTLE).await;
                    while self.told.try_recv().is_ok() {}
                    !self.is_being_written()
                }
                _ = look.tick(), if self.watch.is_some() => {
                    let ways = ways(engine).await;
                    self.looks.note_seen(ways, self.is_being_written())
                }
            };
            if is_changed {
                return false;
            }
        }
    }

    fn is_being_written(&self) -> bool {
        self.watch.as_ref().is_some_and(Watch::is_being_written)
    }

    /// The files are read now, and links may lead elsewhere.
    fn note_read(&mut self, ways: Vec<Way>) {
        if let Some(watch) = &mut self.watch {
            watch.refresh(&ways);
        }
        self.looks.note_read(ways);
    }
}

/// The ways to the files, as they are now.
async fn ways(engine: &Engine) -> Vec<Way> {
    let files = engine.files();
    // A file system may take its time.
    let look = spawn_blocking(move || files.iter().map(|file| Way::to(file)).collect());
    look.await.unwrap_or_default()
}

/// Reads the policy again, and says what came of it.
pub(crate) fn reload(engine: &Engine, is_asked: bool) {
    let before = engine.loaded().version;
    let result = engine.reload(is_asked);
    let loaded = engine.loaded();
    if loaded.version != before {
        tracing::info!(version = loaded.version, hash = loaded.hash, "another policy is in force");
        loaded.notes.iter().for_each(|note| tracing::info!("{note}"));
    }
    match result {
        Ok(Reload::OtherKeys) => tracing::info!("other keys for tokens are in force"),
        Ok(Reload::Unchanged) if is_asked => tracing::info!("the policy has not changed"),
        Ok(Reload::Swapped | Reload::Unchanged | Reload::StillRefused) => {}
        Err(fault) if loaded.version != before => {
            tracing::error!(
                "a part of the policy is refused, and what it was before stays in force:\n{fault}"
            );
        }
        Err(fault) => tracing::error!("the policy is refused, and the one before stays in force:\n{fault}"),
    }
}
