//! Instances learn how many they are, and what limits the others have declared.

use std::time::Duration;

use crate::fleet::{FaultProxy, RedisServer, until};
use crate::instance::{Instance, SOON};

/// Without `instances_max`.
const TEN: &str =
    "{store: {deadline: 50ms}, rules: [{name: client, scope: ip, path: /client, rate: 1/d, burst: 10}]}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_share_is_by_the_largest_number_of_instances_that_was_ever_learned() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let mut instances = Vec::new();
    for _ in 0..5 {
        instances.push(Instance::start(&server.url(), TEN, &["/client"]).await);
    }
    let five = || async { instances.iter().all(|instance| instance.ledger.counts().instances_most == 5) };
    until("all know of five", SOON, five).await;
    // Four go, and one that was never there with them hears of five all the same.
    instances.truncate(1);
    let late = Instance::start(&server.url(), TEN, &["/client"]).await;
    assert!(late.ledger.counts().instances_most >= 5, "it is learned with the first reply");
    server.kill();
    instances[0].is_cut_off("/client").await;
    late.is_cut_off("/client").await;
    assert_eq!(instances[0].admitted("/client", 20).await, 2, "a fifth of ten");
    let share = 10 / usize::try_from(late.ledger.counts().instances_most).unwrap();
    assert_eq!(late.admitted("/client", 20).await, share);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_census_takes_one_bounded_key_that_does_not_stay_for_ever() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), TEN, &["/client"]).await;
    let counted = || async { instance.ledger.counts().instances == 1 };
    until("it is counted", SOON, counted).await;
    assert_eq!(server.ask::<u64>("ZCARD tg:&").await.unwrap(), 2, "itself, and the largest number");
    assert_eq!(server.ask::<u64>("ZSCORE tg:& most").await.unwrap(), 1);
    assert!(server.ask::<i64>("PTTL tg:&").await.unwrap() > 0);
    // Whoever is silent is not counted any more; `most` stays.
    server.tell("ZADD tg:& 1000000000000000 somebody-gone").await;
    server.tell("ZADD tg:& 7 most").await;
    let seven = || async {
        let counts = instance.ledger.counts();
        (counts.instances, counts.instances_most) == (1, 7)
    };
    until("the silent one is forgotten", SOON, seven).await;
}

fn limit(burst: u32) -> String {
    format!(
        "{{store: {{deadline: 50ms, instances_max: 1}}, rules: [\
         {{name: client, scope: ip, path: /client, rate: 1/d, burst: {burst}}}]}}"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_declares_last_is_right_and_the_others_follow_within_two_seconds() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let old = Instance::start(&proxy.url(), &limit(10), &["/client"]).await;
    assert_eq!(old.admitted("/client", 1).await, 1);
    let new = Instance::start(&server.url(), &limit(4), &["/client"]).await;
    assert_eq!(new.left("/client").await, 4, "a smaller burst clamps");
    let followed = || async { old.peek("/client").await.is_admitted() && old.left("/client").await == 4 };
    until("the old one follows", Duration::from_secs(2), followed).await;
    assert_eq!(old.admitted("/client", 9).await, 4);
    assert_eq!(new.admitted("/client", 9).await, 0);

    // An outage does not make the old one declare its limit again.
    proxy.cut(true);
    proxy.hang_up();
    let _ = old.check("/client").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    proxy.cut(false);
    proxy.hang_up();
    old.is_exact("/client").await;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let records: Vec<Vec<u8>> = server.ask("KEYS *=").await.unwrap();
    let record: String = server.ask(&format!("GET {}", String::from_utf8_lossy(&records[0]))).await.unwrap();
    let limits = record.lines().filter(|line| line.starts_with("s ")).count();
    assert_eq!(limits, 2, "10, then 4, and nothing since:\n{record}");

    // Nor is a store that was emptied left without.
    server.tell("FLUSHALL").await;
    let declared = || async { !server.ask::<Vec<Vec<u8>>>("KEYS *=").await.unwrap().is_empty() };
    until("somebody declares anew", Duration::from_secs(3), declared).await;
}
