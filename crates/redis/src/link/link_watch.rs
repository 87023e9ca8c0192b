//! How the status of a link changes: for readiness, and one line of the log for each change.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;

use super::cluster::MapState;
use super::wire::State;
use super::{DialError, Inner, Link, LinkStatus};

/// How often a cluster is looked at besides: its nodes come and go without a word.
const CLUSTER_PERIOD: Duration = Duration::from_millis(500);

/// Follows the status of a link, and does not keep it open.
pub struct LinkWatch {
    pub(super) link: Weak<Inner>,
    pub(super) source: Source,
    pub(super) last: Option<LinkStatus>,
}

pub(super) enum Source {
    One(watch::Receiver<State>),
    Cluster(watch::Receiver<MapState>),
}

impl LinkWatch {
    /// The status, at once the first time, then whenever it is another one. Changes that are undone before anybody looks are left out.
    /// `None` when the link is closed.
    pub async fn next(&mut self) -> Option<LinkStatus> {
        loop {
            let status = Link(self.link.upgrade()?).status();
            if !self.last.as_ref().is_some_and(|last| is_same(last, &status)) {
                self.last = Some(status.clone());
                return Some(status);
            }
            match &mut self.source {
                Source::One(line) => line.changed().await.ok()?,
                Source::Cluster(maps) => {
                    if let Ok(changed) = tokio::time::timeout(CLUSTER_PERIOD, maps.changed()).await {
                        changed.ok()?;
                    }
                }
            }
        }
    }
}

/// Whether a log would say the same again: that the link is down for the same kind of reason, or connected to the same servers.
fn is_same(last: &LinkStatus, status: &LinkStatus) -> bool {
    let kind = |cause: &Arc<DialError>| std::mem::discriminant(cause.as_ref());
    match (last, status) {
        (LinkStatus::Down(before), LinkStatus::Down(now)) => kind(before) == kind(now),
        (before, now) => before == now,
    }
}

impl std::fmt::Debug for LinkWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkWatch").field("last", &self.last).finish_non_exhaustive()
    }
}
