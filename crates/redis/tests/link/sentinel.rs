//! A master that sentinels name: failover is followed without restart.

use std::time::Duration;

use tollgate_redis::{Address, DialError, LinkError, LinkStatus};

use crate::asking::{PATIENCE, RECOVERY_MAX, answers_again, check, left, open};
use crate::fleet::{SentinelFleet, until};

#[tokio::test]
async fn a_killed_master_is_followed_by_its_replica_within_a_second_of_the_promotion() {
    needs_redis!();
    let mut fleet = SentinelFleet::start().await;
    let link = open(&fleet.url());
    assert_eq!(left(&link, "ann").await, 999);
    let has_it = || async { fleet.servers[1].ask::<u64>("DBSIZE").await.is_ok_and(|keys| keys == 1) };
    until("the charge is replicated", Duration::from_secs(5), has_it).await;
    fleet.servers[0].kill();
    fleet.promoted(Duration::from_secs(15)).await;
    answers_again(&link, RECOVERY_MAX).await;
    let new = Address::Tcp("127.0.0.1".to_owned(), fleet.servers[1].port);
    assert_eq!(link.status(), LinkStatus::Connected(vec![new]));
    assert_eq!(left(&link, "ann").await, 998, "what was replicated is still charged");
}

#[tokio::test]
async fn a_master_that_steps_down_alive_is_left_within_a_second_and_one_sentinel_is_enough() {
    needs_redis!();
    let mut fleet = SentinelFleet::start().await;
    let link = open(&fleet.url());
    assert_eq!(left(&link, "ann").await, 999);
    fleet.sentinels[0].tell("SENTINEL FAILOVER ledger").await;
    // Until the sentinels agree, the old master is one, and takes writes.
    fleet.agreed(Duration::from_secs(15)).await;
    let new = LinkStatus::Connected(vec![Address::Tcp("127.0.0.1".to_owned(), fleet.servers[1].port)]);
    until("the link leads to the new master", RECOVERY_MAX, || async { link.status() == new }).await;
    answers_again(&link, RECOVERY_MAX).await;
    fleet.sentinels[0].kill();
    fleet.sentinels[1].kill();
    assert_eq!(left(&open(&fleet.url()), "ann").await, 998);
    assert_eq!(link.status(), new);
}

#[tokio::test]
async fn a_service_that_no_sentinel_watches_is_named() {
    needs_redis!();
    let fleet = SentinelFleet::start().await;
    let url = fleet.url().replace("/ledger", "/other");
    let refused = check(&open(&url), "ann", PATIENCE).await.unwrap_err();
    let expected = DialError::UnknownService { service: "other".to_owned() };
    assert!(matches!(&refused, LinkError::NotConnected(cause) if **cause == expected), "{refused:?}");
    assert!(refused.to_string().contains("`SENTINEL MASTERS` shows"), "{refused}");
}
