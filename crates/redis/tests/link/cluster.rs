//! A cluster: slots that move under load, nodes that are lost, keys of several slots.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tollgate_redis::{Call, LinkError, Script, slot_of};

use crate::asking::{PATIENCE, RECOVERY_MAX, batch_of, check, left, open};
use crate::fleet::{ClusterFleet, RedisServer, until};

/// What a busy machine does to the servers of a test: one gets no turn until the others have given up its handshake.
#[tokio::test]
async fn a_fleet_becomes_whole_though_a_node_is_slow_to_meet_the_others() {
    needs_redis!();
    let fleet = ClusterFleet::strangers().await;
    fleet.nodes[1].signal("STOP");
    let wakes = async {
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        fleet.nodes[1].signal("CONT");
    };
    tokio::join!(fleet.meet(), wakes);
}

#[tokio::test]
async fn keys_are_found_wherever_they_are_and_in_one_round_trip() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let link = open(&fleet.url());
    for key in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(left(&link, key).await, 999);
    }
    let before = link.counts();
    for key in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(left(&link, key).await, 998);
    }
    assert_eq!(link.counts().round_trips - before.round_trips, 6);
    assert_eq!(link.counts().redirects, 0);
    let call =
        Call { script: Script::decide(), keys: vec![b"a".to_vec(), b"b".to_vec()], arguments: Vec::new() };
    assert_eq!(link.call(call, PATIENCE).await.unwrap_err(), LinkError::CrossSlot);
}

/// Every check is answered while the slot moves, and each is charged once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_moves_under_load_loses_no_check_and_no_charge() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let link = open(&fleet.url());
    let key = "ann";
    let slot = slot_of(batch_of(key).call().keys[0].as_slice());
    let from = ClusterFleet::owner(slot);
    let to = (from + 1) % 3;
    assert_eq!(left(&link, key).await, 999);
    let (is_over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let load: Vec<_> = (0..4)
        .map(|_| {
            let (link, is_over, answered) = (link.clone(), Arc::clone(&is_over), Arc::clone(&answered));
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    check(&link, "ann", PATIENCE).await.unwrap_or_else(|error| panic!("{error}"));
                    answered.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            })
        })
        .collect();
    fleet.begin_move(slot, from, to).await;
    // New keys of the slot are asked for at the new place already, and the old one is still at the old.
    assert_eq!(left(&link, "{tg:*:ann}").await, 999);
    tokio::time::sleep(Duration::from_millis(200)).await;
    fleet.move_keys(slot, from, to).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    fleet.end_move(slot, to).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    is_over.store(true, Ordering::Relaxed);
    for task in load {
        task.await.unwrap();
    }
    let expected = 1_000 - 1 - i64::try_from(answered.load(Ordering::Relaxed)).unwrap() - 1;
    assert_eq!(left(&link, key).await, expected, "each answer is one charge");
    assert!(link.counts().redirects > 0);
    let before = link.counts();
    left(&link, key).await;
    assert_eq!(link.counts().redirects, before.redirects, "the new place is known");
}

#[tokio::test]
async fn the_loss_of_a_node_is_told_at_once_touches_no_other_and_is_over_when_it_returns() {
    needs_redis!();
    let mut fleet = ClusterFleet::start().await;
    let link = open(&fleet.url());
    let place = |key: &str| ClusterFleet::owner(slot_of(batch_of(key).call().keys[0].as_slice()));
    let keys: Vec<&str> = ["a", "b", "c", "d", "e", "f", "g", "h"].to_vec();
    for key in &keys {
        left(&link, key).await;
    }
    let lost = place(keys[0]);
    fleet.nodes[lost].kill();
    let is_noticed = || async {
        matches!(check(&link, keys[0], Duration::from_millis(50)).await, Err(LinkError::NotConnected(_)))
    };
    until("the loss is noticed", Duration::from_millis(500), is_noticed).await;
    for key in keys.iter().filter(|key| place(key) != lost) {
        assert_eq!(left(&link, key).await, 998);
    }
    fleet.nodes[lost].restart().await;
    let is_back = || async { check(&link, keys[0], Duration::from_millis(50)).await.is_ok() };
    // Its own view of the cluster takes a moment more than its first answer.
    until("the node is back", RECOVERY_MAX * 3, is_back).await;
}

#[tokio::test]
async fn a_replica_that_takes_a_lost_nodes_place_is_found_within_a_second() {
    needs_redis!();
    let mut fleet = ClusterFleet::start().await;
    let lost = ClusterFleet::owner(slot_of(batch_of("ann").call().keys[0].as_slice()));
    fleet.add_replica(lost).await;
    let link = open(&fleet.url());
    assert_eq!(left(&link, "ann").await, 999);
    let has_it = || async { fleet.nodes[3].ask::<u64>("DBSIZE").await.is_ok_and(|keys| keys == 1) };
    until("the charge is replicated", Duration::from_secs(5), has_it).await;
    fleet.nodes[lost].kill();
    let replica = &fleet.nodes[3];
    let is_promoted = || async {
        replica.ask::<String>("INFO replication").await.is_ok_and(|info| info.contains("role:master"))
    };
    until("the replica is promoted", Duration::from_secs(15), is_promoted).await;
    let is_back = || async { check(&link, "ann", Duration::from_millis(50)).await.is_ok() };
    until("its slots are answered", RECOVERY_MAX, is_back).await;
    assert_eq!(left(&link, "ann").await, 997, "what was replicated is still charged");
}

#[tokio::test]
async fn a_server_that_is_no_cluster_is_said_to_be_none() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let url = server.url().replace("redis://", "redis+cluster://");
    let refused = check(&open(&url), "ann", PATIENCE).await.unwrap_err();
    assert!(refused.to_string().contains("is no node of a cluster; use redis://"), "{refused}");
}
