//! The link to the store: one handle, whether there is one server, a master that sentinels name, or a cluster.
//!
//! It promises that no call outlives its deadline, that no more than a named number are under way, and that whatever happens to the
//! store, the link is whole again within a second of the store's return, by itself. It does not know what a check is, and
//! never sends a call twice that may have been done.

mod back_off;
mod cluster;
mod coalescer;
mod counters;
mod dial;
mod dial_error;
mod line;
mod link_error;
mod link_options;
mod link_watch;
mod sentinels;
mod slot;
mod slot_map;
mod store_url;
mod survey;
mod target;
mod tls;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use coalescer::{AskError, Coalescer, CoalescerCounts, CoalescerOptions, Pending};
pub use counters::LinkCounts;
pub use dial_error::DialError;
pub use link_error::LinkError;
pub use link_options::LinkOptions;
pub use link_watch::LinkWatch;
pub use slot::{SLOTS, slot_of};
pub use store_url::{
    ADDRESSES_MAX, Address, DATABASE_MAX, Login, Secret, StoreUrl, StoreUrlError, TlsWish, Topology,
    URL_BYTES_MAX,
};
pub use survey::{Finding, Role, ServerKind, ServerSeen, Severity, Survey};
pub use tls::TlsError;

use crate::{Call, Reply};
use cluster::{Cluster, MapState};
use counters::Counters;
use dial::Dialer;
use line::Line;
use link_watch::Source;
use sentinels::Sentinels;
use target::Target;
use wire::{State, Wire};

/// A link to the store. Clones are the same link; with the last one the connections are closed.
#[derive(Clone)]
pub struct Link(Arc<Inner>);

struct Inner {
    url: StoreUrl,
    route: Route,
    calls: Arc<Semaphore>,
    calls_max: usize,
    counters: Arc<Counters>,
}

enum Route {
    One(Wire),
    Cluster(Cluster),
}

/// Whether the store can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkStatus {
    /// The first attempt, or the first after a loss, is under way.
    Connecting,
    /// It can: the server, or the masters of the cluster.
    Connected(Vec<Address>),
    /// It cannot, and why; attempts go on.
    Down(Arc<DialError>),
}

impl Link {
    /// Begins to connect, and returns at once: the store need not be there. Must be called within a Tokio runtime. Fails only if
    /// the files that TLS needs cannot be read.
    pub fn open(url: &StoreUrl, options: &LinkOptions) -> Result<Link, TlsError> {
        let tls = url.tls.as_ref().map(tls::connector).transpose()?;
        let options = &options.bounded();
        let counters = Arc::new(Counters::default());
        let dialer =
            Arc::new(Dialer::new(url.login.as_ref(), url.database, tls.clone(), options.dial_timeout));
        let one =
            |target| Route::One(Wire::open(Arc::clone(&dialer), target, options, Arc::clone(&counters)));
        let route = match &url.topology {
            Topology::Standalone(address) => one(Target::Fixed(address.clone())),
            Topology::Sentinel { sentinels, service, login } => {
                let asking = Arc::new(Dialer::new(login.as_ref(), 0, tls, options.dial_timeout));
                one(Target::Master(Sentinels::new(asking, service, sentinels, options.poll)))
            }
            Topology::Cluster { seeds } => {
                Route::Cluster(Cluster::open(Arc::clone(&dialer), seeds, options, Arc::clone(&counters)))
            }
        };
        let calls_max = options.calls_max;
        let calls = Arc::new(Semaphore::new(calls_max));
        Ok(Link(Arc::new(Inner { url: url.clone(), route, calls, calls_max, counters })))
    }

    /// Calls a script, and waits for the reply until `within` is over. A call that was sent goes on without its caller: it
    /// counts as under way until the answer comes or the connection ends.
    pub async fn call(&self, call: Call, within: Duration) -> Result<Reply, LinkError> {
        let permit = self.permit()?;
        let link = self.clone();
        let task = tokio::spawn(async move { link.call_patiently(&call, true, permit).await });
        match tokio::time::timeout(within, task).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(LinkError::Closed),
            Err(_) => Err(LinkError::TimedOut),
        }
    }

    /// Leave to send one call; refused if too many are under way.
    pub(crate) fn permit(&self) -> Result<OwnedSemaphorePermit, LinkError> {
        Arc::clone(&self.0.calls).try_acquire_owned().map_err(|_| {
            Counters::count(&self.0.counters.overloads);
            LinkError::Overloaded { calls_max: self.0.calls_max }
        })
    }

    /// Calls a script, however long it takes: until the answer comes, or the connection is found to be dead. Where the keys are on two nodes,
    /// since their slot is moving, it is tried again a few times, or not.
    pub(crate) async fn call_patiently(
        &self,
        call: &Call,
        tries_again: bool,
        permit: OwnedSemaphorePermit,
    ) -> Result<Reply, LinkError> {
        let answer = match &self.0.route {
            Route::One(wire) => wire.call(call, false).await,
            Route::Cluster(cluster) => cluster.call(call, tries_again).await,
        };
        drop(permit);
        answer
    }

    /// The connections to every server that stores; waits for those that are about to be made.
    async fn lines(&self) -> Result<Vec<Line>, LinkError> {
        match &self.0.route {
            Route::One(wire) => Ok(vec![wire.line().await?]),
            Route::Cluster(cluster) => cluster.masters().await,
        }
    }

    /// Where it leads. Shows no password.
    pub fn url(&self) -> &StoreUrl {
        &self.0.url
    }

    /// Whether the keys of one call must be in one slot.
    pub fn is_cluster(&self) -> bool {
        matches!(self.0.route, Route::Cluster(_))
    }

    /// In Cluster: the number of the node that has a slot, as far as is known. Numbers change with the nodes.
    pub(crate) fn node_number(&self, slot: u16) -> Option<usize> {
        match &self.0.route {
            Route::One(_) => None,
            Route::Cluster(cluster) => cluster.owner_number(slot),
        }
    }

    /// Whether the store can be asked now.
    pub fn status(&self) -> LinkStatus {
        match &self.0.route {
            Route::One(wire) => status_of_wire(&wire.states().borrow()),
            Route::Cluster(cluster) => status_of_cluster(cluster),
        }
    }

    /// Follows the status, without keeping the link open.
    pub fn watch(&self) -> LinkWatch {
        let source = match &self.0.route {
            Route::One(wire) => Source::One(wire.states()),
            Route::Cluster(cluster) => Source::Cluster(cluster.maps()),
        };
        LinkWatch { link: Arc::downgrade(&self.0), source, last: None }
    }

    /// What happened since it was opened.
    pub fn counts(&self) -> LinkCounts {
        self.0.counters.read()
    }
}

fn status_of_wire(state: &State) -> LinkStatus {
    match state {
        State::Dialing => LinkStatus::Connecting,
        State::Live(line) => LinkStatus::Connected(vec![line.address.as_ref().clone()]),
        State::Down(cause) => LinkStatus::Down(Arc::clone(cause)),
    }
}

fn status_of_cluster(cluster: &Cluster) -> LinkStatus {
    match &*cluster.maps().borrow() {
        MapState::Asking => LinkStatus::Connecting,
        MapState::Unknown(cause) => LinkStatus::Down(Arc::clone(cause)),
        MapState::Known(map) => {
            let mut live: Vec<Address> =
                cluster.lines().iter().map(|line| line.address.as_ref().clone()).collect();
            live.sort();
            match (live.is_empty(), map.masters().first()) {
                (true, Some(address)) => {
                    LinkStatus::Down(Arc::new(DialError::Closed { address: address.clone() }))
                }
                _ => LinkStatus::Connected(live),
            }
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("url", &self.0.url)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
