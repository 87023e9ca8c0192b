//! A store that replies with errors instead of decisions: what is admitted meanwhile is charged when it decides again.

use std::time::Duration;

use crate::fleet::RedisServer;
use crate::instance::Instance;

const PATHS: [&str; 2] = ["/client", "/window"];

fn policy(instances_max: u32) -> String {
    format!(
        "{{store: {{deadline: 50ms, instances_max: {instances_max}}}, rules: [\
         {{name: client, scope: ip, path: /client, rate: 1/h, burst: 10}}, \
         {{name: window, scope: ip, path: /window, algorithm: fixed_window, quota: 10, window: month}}]}}"
    )
}

/// Commands that make a server reply with errors, and those that end it.
const FAULTS: [[&str; 2]; 2] =
    [["CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"], ["REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"]];

/// The instance stays silent after its checks, so that no check makes the store unreachable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_error_outage_loses_no_charge() {
    needs_redis!();
    for ([begin, end], path) in FAULTS.into_iter().zip(["/client"; 2]).chain([(FAULTS[0], "/window")]) {
        let server = RedisServer::start("").await;
        let instance = Instance::start(&server.url(), &policy(1), &PATHS).await;
        assert_eq!(instance.admitted(path, 5).await, 5);
        server.tell(begin).await;
        assert_eq!(instance.admitted(path, 5).await, 5, "{begin}: 5 were left");
        tokio::time::sleep(Duration::from_secs(1)).await;
        server.tell(end).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        instance.is_exact(path).await;
        assert_eq!(instance.admitted(path, 10).await, 0, "{begin}: all 10 of {path} were spent");
    }
}

/// Checks go on, so that the instance keeps the bucket by its share.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_error_outage_loses_no_charge() {
    needs_redis!();
    for [begin, end] in FAULTS {
        let server = RedisServer::start("").await;
        let instance = Instance::start(&server.url(), &policy(1), &PATHS).await;
        assert_eq!(instance.admitted("/client", 3).await, 3);
        server.tell(begin).await;
        assert_eq!(instance.admitted("/client", 3).await, 3);
        instance.is_cut_off("/client").await;
        assert_eq!(instance.admitted("/client", 10).await, 4, "{begin}: 6 of 10 were spent");
        tokio::time::sleep(Duration::from_millis(500)).await;
        server.tell(end).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        instance.is_exact("/client").await;
        assert_eq!(instance.admitted("/client", 10).await, 0, "{begin}: all 10 were spent");
    }
}

/// More than this instance's share was admitted before the store counted as unreachable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn error_outage_charges_more_than_a_share() {
    needs_redis!();
    let [begin, end] = FAULTS[0];
    let server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), &policy(2), &PATHS).await;
    assert_eq!(instance.admitted("/client", 1).await, 1);
    server.tell(begin).await;
    assert_eq!(instance.admitted("/client", 7).await, 7, "9 were left");
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.tell(end).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    instance.is_exact("/client").await;
    assert_eq!(instance.admitted("/client", 10).await, 2, "8 of 10 were spent");
}
