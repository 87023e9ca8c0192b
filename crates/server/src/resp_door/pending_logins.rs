//! Connections that have not sent the password yet. They share a quota, so that they cannot fill the listener.
//!
//! ```text
//!  accept ─► admit ─┬─ quota free ─────► pending, with its own connection permit
//!                   ├─ quota or listener full: a pending connection is evicted, the new one takes its permit
//!                   └─ listener full of authenticated connections ─► shed
//!  AUTH ───► succeed: the connection keeps its permit and leaves the quota
//! ```
//! The evicted connection is the oldest one of the network with the most pending connections, so a flood from one network evicts its
//! own. If every network has as many, it is the oldest of all: a new connection then has the time that the quota takes to turn over. At
//! 10,000 new connections a second and a quota of 2,500 that is a quarter of a second.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// Pending connections are at most one of this many of the listener's connections.
const QUOTA_DIVISOR: usize = 4;

/// All pending connections of one listener.
#[derive(Debug)]
pub(crate) struct PendingLogins {
    quota: usize,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    next_number: u64,
    /// By number, so the oldest is the first.
    entries: BTreeMap<u64, Entry>,
    /// Number of entries of each network that has any.
    counts: HashMap<Network, usize>,
}

/// The network of a peer: an IPv4 address, or the prefix of an IPv6 /64. `None` for a Unix socket.
type Network = Option<IpAddr>;

#[derive(Debug)]
struct Entry {
    network: Network,
    permit: OwnedSemaphorePermit,
    /// Dropped with the entry, which wakes [`PendingLogin::evicted`].
    _evict: oneshot::Sender<()>,
}

/// One pending connection. Dropping it ends the entry and frees the permit.
#[derive(Debug)]
pub(crate) struct PendingLogin {
    logins: Arc<PendingLogins>,
    number: u64,
    evicted: oneshot::Receiver<()>,
}

impl PendingLogins {
    /// Creates the list of a listener with `connections_max` connections. The quota is at least one.
    pub(crate) fn new(connections_max: usize) -> Arc<PendingLogins> {
        let quota = (connections_max / QUOTA_DIVISOR).max(1);
        Arc::new(PendingLogins { quota, list: Mutex::default() })
    }

    /// Admits a connection. Without a permit of its own, or beyond the quota, it takes the permit of a pending connection.
    ///
    /// Returns `None` if there is neither a permit nor a pending connection.
    pub(crate) fn admit(
        self: &Arc<Self>,
        permit: Option<OwnedSemaphorePermit>,
        peer: Option<IpAddr>,
    ) -> Option<PendingLogin> {
        let mut list = self.list();
        let permit = match permit {
            Some(permit) if list.entries.len() < self.quota => permit,
            _ => list.evict()?.permit,
        };
        let (evict, evicted) = oneshot::channel();
        let number = list.next_number;
        list.next_number += 1;
        let network = network_of(peer);
        *list.counts.entry(network).or_default() += 1;
        list.entries.insert(number, Entry { network, permit, _evict: evict });
        Some(PendingLogin { logins: Arc::clone(self), number, evicted })
    }

    /// Only a panic inside of a few lines could poison it, and they have no invariant to break.
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    /// Removes the oldest entry of the network with the most entries.
    fn evict(&mut self) -> Option<Entry> {
        let most = *self.counts.values().max()?;
        let is_busiest = |entry: &Entry| self.counts.get(&entry.network) == Some(&most);
        let number = *self.entries.iter().find(|(_, entry)| is_busiest(entry))?.0;
        self.remove(number)
    }

    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.entries.remove(&number)?;
        if let Some(count) = self.counts.get_mut(&entry.network) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&entry.network);
            }
        }
        Some(entry)
    }
}

fn network_of(peer: Option<IpAddr>) -> Network {
    peer.map(|address| match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    })
}

impl PendingLogin {
    /// Waits until a newer connection has taken the place of this one.
    pub(crate) async fn evicted(&mut self) {
        let _ = (&mut self.evicted).await;
    }

    /// Takes the connection out of the quota: the password was right. Returns `None` if the connection was evicted meanwhile.
    pub(crate) fn succeed(self) -> Option<OwnedSemaphorePermit> {
        self.logins.list().remove(self.number).map(|entry| entry.permit)
    }
}

impl Drop for PendingLogin {
    fn drop(&mut self) {
        self.logins.list().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    /// A listener with so many connections.
    struct Listener(Arc<Semaphore>, Arc<PendingLogins>);

    impl Listener {
        fn new(connections_max: usize) -> Listener {
            Listener(Arc::new(Semaphore::new(connections_max)), PendingLogins::new(connections_max))
        }

        fn accept(&self) -> Option<PendingLogin> {
            self.accept_from("192.0.2.1")
        }

        fn accept_from(&self, peer: &str) -> Option<PendingLogin> {
            self.1.admit(Arc::clone(&self.0).try_acquire_owned().ok(), Some(peer.parse().unwrap()))
        }

        fn free(&self) -> usize {
            self.0.available_permits()
        }
    }

    fn is_evicted(login: &mut PendingLogin) -> bool {
        !matches!(login.evicted.try_recv(), Err(oneshot::error::TryRecvError::Empty))
    }

    #[test]
    fn pending_connections_hold_a_quarter_and_the_oldest_goes_first() {
        let listener = Listener::new(100);
        let mut pending: Vec<_> = (0..100).map(|_| listener.accept().unwrap()).collect();
        assert_eq!(listener.free(), 75);
        let evicted: Vec<bool> = pending.iter_mut().map(is_evicted).collect();
        assert_eq!(evicted, [[true; 75].as_slice(), &[false; 25]].concat());
        assert!(pending.remove(0).succeed().is_none(), "an evicted connection has no permit");
        drop(pending);
        assert_eq!(listener.free(), 100);
    }

    #[test]
    fn flood_of_one_network_evicts_its_own_connections() {
        let listener = Listener::new(100);
        let mut others = ["192.0.2.2", "2001:db8:0:1::1"].map(|peer| listener.accept_from(peer).unwrap());
        let flood: Vec<_> =
            (0..500).map(|number| listener.accept_from(&format!("2001:db8::{number:x}")).unwrap()).collect();
        assert_eq!(others.each_mut().map(is_evicted), [false; 2]);
        assert_eq!(listener.1.list().entries.len(), 25);
        drop((flood, others));
        assert!(listener.1.list().counts.is_empty());
        assert_eq!(listener.free(), 100);
    }

    #[test]
    fn a_right_password_leaves_the_quota_and_keeps_its_permit() {
        let listener = Listener::new(8);
        let permits: Vec<_> = (0..6).map(|_| listener.accept().unwrap().succeed().unwrap()).collect();
        let mut silent = [listener.accept().unwrap(), listener.accept().unwrap()];
        assert_eq!(listener.free(), 0);
        let seventh = listener.accept().unwrap().succeed();
        assert!(seventh.is_some() && is_evicted(&mut silent[0]) && !is_evicted(&mut silent[1]));
        let eighth = listener.accept().unwrap().succeed();
        assert!(eighth.is_some() && is_evicted(&mut silent[1]));
        assert!(listener.accept().is_none(), "eight authenticated connections fill the listener");
        drop((permits, seventh, eighth));
        assert_eq!(listener.free(), 8);
    }

    #[test]
    fn a_listener_of_one_connection_has_a_quota_of_one() {
        let listener = Listener::new(1);
        let mut silent = listener.accept().unwrap();
        let client = listener.accept().unwrap();
        assert!(is_evicted(&mut silent) && client.succeed().is_some());
        drop(silent);
        assert_eq!(listener.free(), 1);
    }
}
