//! A cluster of three masters without replicas.

use std::time::Duration;

use redis::RedisResult;

use super::{RedisServer, until};

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
        for node in &nodes[1..] {
            nodes[0].tell(&format!("CLUSTER MEET 127.0.0.1 {}", node.port)).await;
        }
        let fleet = ClusterFleet { nodes };
        let is_whole = || async {
            for node in &fleet.nodes {
                let info: String = node.ask("CLUSTER INFO").await.unwrap_or_default();
                if !(info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384")) {
                    return false;
                }
            }
            true
        };
        until("the cluster is whole", Duration::from_secs(15), is_whole).await;
        fleet
    }

    /// Adds a node that follows one of the masters, and takes its place should it fail. Waits until it could.
    pub(crate) async fn add_replica(&mut self, master: usize) {
        let replica = RedisServer::start(SETTINGS).await;
        let id = self.id(master).await;
        replica.tell(&format!("CLUSTER MEET 127.0.0.1 {}", self.nodes[master].port)).await;
        let knows = |node: RedisResult<String>| {
            node.is_ok_and(|info| {
                info.contains("cluster_known_nodes:4") && info.contains("cluster_slots_ok:16384")
            })
        };
        let all_know = || async {
            for node in self.nodes.iter().chain([&replica]) {
                if !knows(node.ask("CLUSTER INFO").await) {
                    return false;
                }
            }
            true
        };
        until("all know each other", Duration::from_secs(10), all_know).await;
        replica.tell(&format!("CLUSTER REPLICATE {id}")).await;
        let follows = || async {
            replica
                .ask::<String>("INFO replication")
                .await
                .is_ok_and(|info| info.contains("master_link_status:up"))
        };
        until("the replica follows", Duration::from_secs(10), follows).await;
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
        until("all know whom it follows", Duration::from_secs(10), all_agree).await;
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
        self.nodes[node].ask("CLUSTER MYID").await.unwrap()
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
            let keys: Vec<Vec<u8>> =
                self.nodes[from].ask(&format!("CLUSTER GETKEYSINSLOT {slot} 100")).await.unwrap();
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
