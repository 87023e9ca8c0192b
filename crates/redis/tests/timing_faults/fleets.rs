//! Failovers and migrations.

use std::time::Duration;

use crate::fleet::{ClusterFleet, SentinelFleet, until};
use crate::monotonic;
use crate::trial::{Memory, Way, survives};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_master_that_is_killed_under_sentinels() {
    needs_redis!();
    let mut fleet = SentinelFleet::start().await;
    let url = fleet.url();
    survives("Sentinel failover", (Way::BySentinels, &url), Memory::Lost, async {
        fleet.servers[0].kill();
        fleet.promoted(Duration::from_secs(15)).await;
        monotonic::now()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_of_a_cluster_that_is_lost() {
    needs_redis!();
    let mut fleet = ClusterFleet::start().await;
    fleet.add_replica(0).await;
    let url = fleet.url();
    survives("Cluster node loss", (Way::ToACluster, &url), Memory::Lost, async {
        fleet.nodes[0].kill();
        let replica = &fleet.nodes[3];
        let takes_writes = || async {
            let role = replica.ask::<String>("INFO replication").await;
            let state = replica.ask::<String>("CLUSTER INFO").await;
            role.is_ok_and(|info| info.contains("role:master"))
                && state.is_ok_and(|info| info.contains("cluster_state:ok"))
        };
        until("the replica takes writes", Duration::from_secs(15), takes_writes).await;
        monotonic::now()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn slots_of_a_cluster_that_move() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let url = fleet.url();
    survives("Cluster slot migration", (Way::ToACluster, &url), Memory::Kept, async {
        // Every slot of the first node in which there is a bucket.
        let keys: Vec<Vec<u8>> = fleet.nodes[0].ask("KEYS tg:*").await.unwrap();
        let mut slots: Vec<u16> = keys.iter().map(|key| tollgate_redis::slot_of(key)).collect();
        slots.sort_unstable();
        slots.dedup();
        assert!(!slots.is_empty());
        for slot in slots {
            fleet.begin_move(slot, 0, 1).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            fleet.move_keys(slot, 0, 1).await;
            fleet.end_move(slot, 1).await;
        }
        monotonic::now()
    })
    .await;
}
