//! A cluster of three masters without replicas.

use super::{RedisServer, SET_UP_MAX, until};

/// A node's settings: what is lost is taken for lost after a second, and costs no other slot.
const SETTINGS: &str = "--cluster-enabled yes --cluster-node-timeout 1000 --cluster-require-full-coverage no";
/// The slots of a cluster.
const SLOTS: u16 = 16_384;

/// Three masters with a third of the slots each.
pub(crate) struct ClusterFleet {
    pub(crate) nodes: Vec<RedisServer>,
}

impl ClusterFleet {
    pub(crate) async fn start() -> ClusterFleet {
        let fleet = ClusterFleet::strangers().await;
        fleet.meet().await;
        fleet
    }

    /// The masters with their slots, none of which knows another yet.
    pub(crate) async fn strangers() -> ClusterFleet {
        let mut nodes = Vec::new();
        for _ in 0..3 {
            nodes.push(RedisServer::start(SETTINGS).await);
        }
        let third = SLOTS / 3 + 1;
        for (index, node) in nodes.iter().enumerate() {
            let first = u16::try_from(index).unwrap() * third;
            let slots: Vec<String> =
                (first..(first + third).min(SLOTS)).map(|slot| slot.to_string()).collect();
            node.tell(&format!("CLUSTER ADDSLOTS {}", slots.join(" "))).await;
            node.tell(&format!("CLUSTER SET-CONFIG-EPOCH {}", index + 1)).await;
        }
        ClusterFleet { nodes }
    }

    /// Waits until all know each other, and whose every slot is.
    pub(crate) async fn meet(&self) {
        acquaint(&self.nodes.iter().collect::<Vec<_>>()).await;
    }

    /// Adds a node that follows one of the masters, and takes its place should it fail. Waits until it could.
    pub(crate) async fn add_replica(&mut self, master: usize) {
        let replica = RedisServer::start(SETTINGS).await;
        let id = self.id(master).await;
        acquaint(&self.nodes.iter().chain([&replica]).collect::<Vec<_>>()).await;
        replica.tell(&format!("CLUSTER REPLICATE {id}")).await;
        let follows = || async {
            replica
                .ask::<String>("INFO replication")
                .await
                .is_ok_and(|info| info.contains("master_link_status:up"))
        };
        until("the replica follows", SET_UP_MAX, follows).await;
        let all_agree = || async {
            for node in self.nodes.iter().chain([&replica]) {
                let nodes: String = node.ask("CLUSTER NODES").await.unwrap_or_default();
                let is_replica = |line: &str| line.contains("slave") && line.contains(&id);
                if !nodes.lines().any(is_replica) || nodes.contains("disconnected") {
                    return false;
                }
            }
            true
        };
        until("all know whom it follows", SET_UP_MAX, all_agree).await;
        self.nodes.push(replica);
    }

    pub(crate) fn url(&self) -> String {
        let hosts: Vec<String> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    /// Which node had a slot when the cluster began.
    pub(crate) fn owner(slot: u16) -> usize {
        let third = SLOTS / 3 + 1;
        usize::from(slot / third)
    }

    async fn id(&self, node: usize) -> String {
        self.nodes[node].ask_words(&[b"CLUSTER", b"MYID"]).await.unwrap()
    }

    /// Begins to move a slot: keys that are there stay until they are moved, new ones are asked for at the new place.
    pub(crate) async fn begin_move(&self, slot: u16, from: usize, to: usize) {
        let (from_id, to_id) = (self.id(from).await, self.id(to).await);
        self.nodes[to].tell(&format!("CLUSTER SETSLOT {slot} IMPORTING {from_id}")).await;
        self.nodes[from].tell(&format!("CLUSTER SETSLOT {slot} MIGRATING {to_id}")).await;
    }

    /// Moves the keys of the slot.
    pub(crate) async fn move_keys(&self, slot: u16, from: usize, to: usize) {
        loop {
            let slot = slot.to_string();
            let words: [&[u8]; 4] = [b"CLUSTER", b"GETKEYSINSLOT", slot.as_bytes(), b"100"];
            let keys: Vec<Vec<u8>> = self.nodes[from].ask_words(&words).await.unwrap();
            if keys.is_empty() {
                return;
            }
            let port = self.nodes[to].port.to_string();
            // The empty word says that the keys come at the end.
            let words = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
            let mut words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            words.extend(keys.iter().map(Vec::as_slice));
            self.nodes[from].ask_words::<redis::Value>(&words).await.unwrap();
        }
    }

    /// The slot has moved: everybody is told.
    pub(crate) async fn end_move(&self, slot: u16, to: usize) {
        let id = self.id(to).await;
        self.nodes[to].tell(&format!("CLUSTER SETSLOT {slot} NODE {id}")).await;
        for node in &self.nodes {
            node.tell(&format!("CLUSTER SETSLOT {slot} NODE {id}")).await;
        }
    }
}

/// Waits until all know each other, and whose every slot is.
///
/// `CLUSTER MEET` is said once and may come to nothing: a handshake that takes longer than the node timeout is given up, and by one side
/// alone, so that one knows the other and is not known to it, for good. So whoever does not list another meets it, as often as it takes.
async fn acquaint(nodes: &[&RedisServer]) {
    let is_whole = || async {
        let mut is_whole = true;
        for node in nodes {
            // Those that it shakes hands with are listed as well.
            let Ok(listed) = node.ask::<String>("CLUSTER NODES").await else { return false };
            let missed = nodes.iter().filter(|other| !listed.contains(&format!("127.0.0.1:{}@", other.port)));
            for other in missed.filter(|other| other.port != node.port) {
                node.tell(&format!("CLUSTER MEET 127.0.0.1 {}", other.port)).await;
            }
            let info: String = node.ask("CLUSTER INFO").await.unwrap_or_default();
            let known = format!("cluster_known_nodes:{}\r", nodes.len());
            is_whole &= [known.as_str(), "cluster_state:ok", "cluster_slots_ok:16384"]
                .iter()
                .all(|line| info.contains(line));
        }
        is_whole
    };
    until("the cluster is whole", SET_UP_MAX, is_whole).await;
}
