//! A cluster: a wire to every master, and a map of who has which slot.
//!
//! The map is asked for every now and then, and at once when a node says that a slot has moved or does not answer. A call follows
//! where it is sent, a few times; a slot that is moving is tried again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::back_off::BackOff;
use super::counters::Counters;
use super::dial::Dialer;
use super::line::Line;
use super::slot::slot_of;
use super::slot_map::{NODES_MAX, SlotMap, read_redirect};
use super::target::Target;
use super::wire::Wire;
use super::{Address, DialError, LinkError, LinkOptions};
use crate::{Call, Reply, ServerError};

/// Nodes that one call is sent to, at most.
const HOPS_MAX: usize = 6;
/// Pause before a slot that is moving is tried again.
const TRY_AGAIN_PAUSE: Duration = Duration::from_millis(5);
/// Nodes that are asked for the map at once.
const ASKED_MAX: usize = 3;
/// Shortest pause between two askings.
const REFRESH_PAUSE: Duration = Duration::from_millis(20);

/// The nodes of a cluster.
pub(crate) struct Cluster {
    shared: Arc<Shared>,
    refresher: JoinHandle<()>,
}

struct Shared {
    dialer: Arc<Dialer>,
    options: LinkOptions,
    counters: Arc<Counters>,
    seeds: Vec<Address>,
    nodes: Mutex<HashMap<Address, Arc<Node>>>,
    map: watch::Sender<MapState>,
    refresh: Notify,
}

/// One node.
struct Node {
    address: Address,
    wire: Wire,
}

/// What is known of the slots.
#[derive(Clone)]
pub(crate) enum MapState {
    /// Nobody has been asked yet.
    Asking,
    /// Who has which. It may be old; then nodes say so.
    Known(Arc<SlotMap>),
    /// No node has ever told.
    Unknown(Arc<DialError>),
}

impl Cluster {
    pub(crate) fn open(
        dialer: Arc<Dialer>,
        seeds: &[Address],
        options: &LinkOptions,
        counters: Arc<Counters>,
    ) -> Cluster {
        let shared = Arc::new(Shared {
            dialer,
            options: options.clone(),
            counters,
            seeds: seeds.to_vec(),
            nodes: Mutex::default(),
            map: watch::Sender::new(MapState::Asking),
            refresh: Notify::new(),
        });
        Cluster { refresher: tokio::spawn(Arc::clone(&shared).keep_refreshing()), shared }
    }

    /// Calls a script where its keys are. While they are on two nodes it is tried again, if it `tries_again`.
    pub(crate) async fn call(&self, call: &Call, tries_again: bool) -> Result<Reply, LinkError> {
        let slot = slot_of_all(call.keys.iter().map(Vec::as_slice))?;
        let mut node = self.shared.owner(slot).await?;
        let mut is_asking = false;
        let mut last = LinkError::Uncovered { slot };
        for _ in 0..HOPS_MAX {
            last = match node.wire.call(call, is_asking).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            match &last {
                LinkError::Server(ServerError::Elsewhere(said)) => {
                    Counters::count(&self.shared.counters.redirects);
                    if let Some((is_ask, address)) = read_redirect(said, &node.address) {
                        is_asking = is_ask;
                        if !is_ask {
                            self.shared.refresh.notify_one();
                        }
                        node = self.shared.node(&address)?;
                    } else if tries_again && said.starts_with("TRYAGAIN") {
                        is_asking = false;
                        node = self.shared.owner(slot).await?;
                        tokio::time::sleep(TRY_AGAIN_PAUSE).await;
                    } else {
                        self.shared.refresh.notify_one();
                        return Err(last);
                    }
                }
                LinkError::NotConnected(_)
                | LinkError::Lost
                | LinkError::Server(ServerError::ReadOnly(_)) => {
                    self.shared.refresh.notify_one();
                    return Err(last);
                }
                _ => return Err(last),
            }
        }
        Err(last)
    }

    /// The connections to all masters; waits for those that are about to be made.
    pub(crate) async fn masters(&self) -> Result<Vec<Line>, LinkError> {
        let mut lines = Vec::new();
        for address in self.shared.known().await?.masters() {
            lines.push(self.shared.node(address)?.wire.line().await?);
        }
        Ok(lines)
    }

    /// What is known of the slots, and how it changes.
    pub(crate) fn maps(&self) -> watch::Receiver<MapState> {
        self.shared.map.subscribe()
    }

    /// The number of the node that has a slot, as far as is known.
    pub(crate) fn owner_number(&self, slot: u16) -> Option<usize> {
        match &*self.shared.map.borrow() {
            MapState::Known(map) => map.owner_number(slot),
            MapState::Asking | MapState::Unknown(_) => None,
        }
    }

    /// The connections to nodes that there are now.
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.shared.lock().values().filter_map(|node| node.wire.live()).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.refresher.abort();
    }
}

impl Shared {
    /// The map; waits for the first.
    async fn known(&self) -> Result<Arc<SlotMap>, LinkError> {
        let mut maps = self.map.subscribe();
        let is_told = |state: &MapState| !matches!(state, MapState::Asking);
        match &*maps.wait_for(is_told).await.map_err(|_| LinkError::Closed)? {
            MapState::Known(map) => Ok(Arc::clone(map)),
            MapState::Unknown(cause) => Err(LinkError::NotConnected(Arc::clone(cause))),
            MapState::Asking => Err(LinkError::Closed),
        }
    }

    async fn owner(&self, slot: u16) -> Result<Arc<Node>, LinkError> {
        if let Some(address) = self.known().await?.owner(slot) {
            return self.node(address);
        }
        self.refresh.notify_one();
        Err(LinkError::Uncovered { slot })
    }

    /// The node at an address; begins to connect if it is new.
    fn node(&self, address: &Address) -> Result<Arc<Node>, LinkError> {
        let mut nodes = self.lock();
        if let Some(node) = nodes.get(address) {
            return Ok(Arc::clone(node));
        }
        if nodes.len() >= NODES_MAX {
            return Err(LinkError::Overloaded { calls_max: NODES_MAX });
        }
        let target = Target::Fixed(address.clone());
        let wire = Wire::open(Arc::clone(&self.dialer), target, &self.options, Arc::clone(&self.counters));
        let node = Arc::new(Node { address: address.clone(), wire });
        nodes.insert(address.clone(), Arc::clone(&node));
        Ok(node)
    }

    async fn keep_refreshing(self: Arc<Self>) {
        let mut back_off = BackOff::new(&self.options);
        let mut turn = 0_usize;
        loop {
            turn = turn.wrapping_add(1);
            let pause = match self.ask_for_map(turn).await {
                Ok(map) => {
                    back_off.reset();
                    self.forget_others(&map);
                    let is_same = matches!(&*self.map.borrow(), MapState::Known(known) if **known == map);
                    if !is_same {
                        self.map.send_replace(MapState::Known(Arc::new(map)));
                    }
                    REFRESH_PAUSE
                }
                Err(error) => {
                    // An old map is better than none.
                    self.map.send_if_modified(|state| {
                        let is_known = matches!(state, MapState::Known(_));
                        if !is_known {
                            *state = MapState::Unknown(Arc::new(error));
                        }
                        !is_known
                    });
                    back_off.next()
                }
            };
            tokio::time::sleep(pause).await;
            if pause == REFRESH_PAUSE {
                let _ = tokio::time::timeout(self.options.poll, self.refresh.notified()).await;
            }
        }
    }

    /// Asks some that are connected, or all seeds if none is. The first answer counts.
    async fn ask_for_map(&self, turn: usize) -> Result<SlotMap, DialError> {
        let live: Vec<Arc<Node>> =
            self.lock().values().filter(|node| node.wire.live().is_some()).map(Arc::clone).collect();
        let asked: Vec<Arc<Node>> = if live.is_empty() {
            self.seeds.iter().filter_map(|seed| self.node(seed).ok()).collect()
        } else {
            let start = turn % live.len();
            live[start..].iter().chain(&live[..start]).take(ASKED_MAX).map(Arc::clone).collect()
        };
        let mut answers = JoinSet::new();
        for node in asked {
            let timeout = self.options.dial_timeout;
            answers.spawn(async move { ask_one(&node, timeout).await });
        }
        let mut failure = DialError::HungUp { address: self.seeds[0].clone() };
        while let Some(answer) = answers.join_next().await {
            match answer {
                Ok(Ok(map)) => return Ok(map),
                Ok(Err(error)) => failure = error,
                Err(_) => {}
            }
        }
        Err(failure)
    }

    /// Closes the connections to those that have no slots any more.
    fn forget_others(&self, map: &SlotMap) {
        self.lock().retain(|address, _| map.masters().contains(address));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Address, Arc<Node>>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ask_one(node: &Node, timeout: Duration) -> Result<SlotMap, DialError> {
    let address = || node.address.clone();
    let line = match node.wire.line().await {
        Ok(line) => line,
        Err(LinkError::NotConnected(cause)) => return Err(cause.as_ref().clone()),
        Err(_) => return Err(DialError::Closed { address: address() }),
    };
    match tokio::time::timeout(timeout, line.ask(&["CLUSTER", "SLOTS"])).await {
        Ok(Ok(Reply::Error(said))) if said.contains("cluster support disabled") => {
            Err(DialError::NotCluster { address: address() })
        }
        Ok(Ok(Reply::Error(said))) => {
            Err(DialError::Refused { address: address(), error: ServerError::of_message(&said) })
        }
        Ok(Ok(reply)) => SlotMap::read(&reply, &node.address).ok_or_else(|| DialError::NotRedis {
            address: address(),
            problem: "its answer to CLUSTER SLOTS is none".to_owned(),
        }),
        Ok(Err(_)) => Err(DialError::Closed { address: address() }),
        Err(_) => Err(DialError::TimedOut { address: address() }),
    }
}

/// The one slot of all keys.
pub(crate) fn slot_of_all<'k>(keys: impl IntoIterator<Item = &'k [u8]>) -> Result<u16, LinkError> {
    let mut slots = keys.into_iter().map(slot_of);
    let first = slots.next().unwrap_or(0);
    if slots.all(|slot| slot == first) { Ok(first) } else { Err(LinkError::CrossSlot) }
}
