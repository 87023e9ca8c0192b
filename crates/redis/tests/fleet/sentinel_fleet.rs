//! A master, a replica, and three sentinels that watch them.

use std::time::Duration;

use super::{RedisServer, SET_UP_MAX, free_port, until};

/// How long a sentinel waits before it takes the master for dead.
const DOWN_AFTER_MS: u32 = 500;

/// A master with a replica and sentinels, under the service `ledger`.
pub(crate) struct SentinelFleet {
    pub(crate) servers: [RedisServer; 2],
    pub(crate) sentinels: Vec<RedisServer>,
}

impl SentinelFleet {
    pub(crate) async fn start() -> SentinelFleet {
        let master = RedisServer::start("").await;
        let replica = RedisServer::start(&format!("--replicaof 127.0.0.1 {}", master.port)).await;
        let port = master.port;
        let replicates = || async {
            replica
                .ask::<String>("INFO replication")
                .await
                .is_ok_and(|info| info.contains("master_link_status:up"))
        };
        until("the replica follows", SET_UP_MAX, replicates).await;
        let sentinels: Vec<RedisServer> = (0..3).map(|_| spawn_sentinel(port)).collect();
        for sentinel in &sentinels {
            sentinel.wait().await;
        }
        let fleet = SentinelFleet { servers: [master, replica], sentinels };
        let knows_all = || async {
            for sentinel in &fleet.sentinels {
                let info: String = sentinel.ask("INFO sentinel").await.unwrap_or_default();
                if !info.contains("slaves=1,sentinels=3") {
                    return false;
                }
            }
            true
        };
        until("the sentinels know each other", SET_UP_MAX, knows_all).await;
        fleet
    }

    pub(crate) fn url(&self) -> String {
        let hosts: Vec<String> =
            self.sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port)).collect();
        format!("redis+sentinel://{}/ledger", hosts.join(","))
    }

    /// Waits until the second server takes writes.
    pub(crate) async fn promoted(&self, within: Duration) {
        let is_master = || async {
            self.servers[1]
                .ask::<String>("INFO replication")
                .await
                .is_ok_and(|info| info.contains("role:master"))
        };
        until("the replica is promoted", within, is_master).await;
    }

    /// Waits until every sentinel names the second server.
    pub(crate) async fn agreed(&self, within: Duration) {
        let port = self.servers[1].port.to_string();
        let is_agreed = || async {
            for sentinel in &self.sentinels {
                let named: Vec<String> =
                    sentinel.ask("SENTINEL GET-MASTER-ADDR-BY-NAME ledger").await.unwrap_or_default();
                if named.get(1) != Some(&port) {
                    return false;
                }
            }
            true
        };
        until("the sentinels agree", within, is_agreed).await;
    }
}

fn spawn_sentinel(master: u16) -> RedisServer {
    let port = free_port();
    let mut sentinel = RedisServer::prepare(port, "--sentinel");
    let file = format!(
        "port {port}\nbind 127.0.0.1\nsentinel monitor ledger 127.0.0.1 {master} 2\n\
         sentinel down-after-milliseconds ledger {DOWN_AFTER_MS}\nsentinel failover-timeout ledger 2000\n"
    );
    std::fs::write(sentinel.folder.join("sentinel.conf"), file).unwrap();
    sentinel.launch();
    sentinel
}
