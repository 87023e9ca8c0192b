//! A policy that is changed while the store is away is in force here at once: shares are of its limits, not of those before.

use std::time::Duration;

use tollgate::StoreMode;

use crate::fleet::{FaultProxy, RedisServer, until};
use crate::instance::{Instance, SOON};

fn policy(limit: &str) -> String {
    format!("{{store: {{deadline: 50ms, instances_max: 1}}, rules: [{{name: client, scope: ip, {limit}}}]}}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_that_is_lowered_while_the_store_is_away_is_kept_by_the_share_of_the_new_one() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), &policy("rate: 1/d, burst: 100"), &["/"]).await;
    server.kill();
    instance.is_cut_off("/").await;
    instance.swap(&policy("rate: 1/d, burst: 2"));
    let told = instance.peek("/").await;
    assert_eq!(told.mode(), StoreMode::Fallback);
    assert_eq!(instance.admitted("/", 50).await, 2, "the policy in force says two");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_is_kept_here_already_follows_a_lowered_limit() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), &policy("rate: 1/d, burst: 100"), &["/"]).await;
    server.kill();
    instance.is_cut_off("/").await;
    assert_eq!(instance.admitted("/", 10).await, 10);
    instance.swap(&policy("rate: 1/d, burst: 2"));
    assert_eq!(instance.admitted("/", 50).await, 2, "a smaller burst clamps");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_that_is_raised_is_room_to_refill_into_at_once_and_no_gift() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let instance = Instance::start(&server.url(), &policy("rate: 1/d, burst: 10"), &["/"]).await;
    server.kill();
    instance.is_cut_off("/").await;
    instance.swap(&policy("rate: 1/d, burst: 20"));
    assert_eq!(instance.admitted("/", 20).await, 10, "it was full of ten");
    instance.swap(&policy("rate: 100/s, burst: 50"));
    let _ = instance.check("/").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let admitted = instance.admitted("/", 9).await;
    assert_eq!(admitted, 9, "20 were minted by the new rate, of which the old one would have minted none");
    instance.swap(&policy("rate: 1/d, burst: 5000"));
    assert!(instance.left("/").await <= 50, "a larger burst is not tokens");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_spent_under_a_limit_that_was_changed_in_an_outage_is_charged_when_the_store_is_back() {
    needs_redis!();
    for (path, burst, left) in [("/", 4, 1), ("/", 100, 7), ("/window", 4, 1), ("/window", 100, 7)] {
        let server = RedisServer::start("").await;
        let proxy = FaultProxy::before(server.port).await;
        let both = |burst: u32| {
            format!(
                "{{store: {{deadline: 50ms, instances_max: 1}}, rules: [\
                 {{name: client, scope: ip, path: /, rate: 1/d, burst: {burst}}}, \
                 {{name: window, scope: ip, path: /window, algorithm: fixed_window, quota: {burst}, window: month}}]}}"
            )
        };
        let instance = Instance::start(&proxy.url(), &both(10), &[path]).await;
        proxy.cut(true);
        instance.is_cut_off(path).await;
        instance.swap(&both(burst));
        assert_eq!(instance.admitted(path, 3).await, 3, "{path} {burst}");
        proxy.cut(false);
        proxy.hang_up();
        instance.is_exact(path).await;
        assert!(instance.ledger.agreed(SOON).await);
        assert_eq!(instance.left(path).await, left, "{path}: {burst} less 3, and a larger burst is no gift");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_store_answers_what_another_instance_has_declared_since_governs_and_shares_are_of_it() {
    needs_redis!();
    let mut server = RedisServer::start("").await;
    let old = Instance::start(&server.url(), &policy("rate: 1/d, burst: 10"), &["/"]).await;
    let new = Instance::start(&server.url(), &policy("rate: 1/d, burst: 4"), &["/"]).await;
    let followed = || async { old.left("/").await == 4 };
    until("the old one follows", SOON, followed).await;
    server.kill();
    old.is_cut_off("/").await;
    assert_eq!(old.admitted("/", 20).await, 4);
    drop(new);
}
