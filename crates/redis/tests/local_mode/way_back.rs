//! The way back into the store, where it goes away again.

use std::time::Duration;

use tollgate_core::BreakerState;

use crate::fleet::{FaultProxy, RedisServer, until};
use crate::instance::{Instance, SOON};

const TEN: &str = "{store: {deadline: 50ms, away_after: 100ms, instances_max: 2}, rules: [\
                   {name: client, scope: ip, path: /client, rate: 1/d, burst: 10}, \
                   {name: other, scope: ip, path: /other, rate: 1/d, burst: 100, on_store_failure: open}]}";

/// How often a machine may be too slow to bring about what is tested: that the breaker opens before the bucket has settled.
const TRIES_MAX: usize = 5;

/// A bucket that has settled while nobody may ask the store must stay: whoever forgot it would begin with a fresh share.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_goes_away_again_before_all_is_settled_gives_no_second_share() {
    needs_redis!();
    for _ in 0..TRIES_MAX {
        if goes_away_again().await.is_some() {
            return;
        }
    }
    panic!("the breaker was never open before the bucket had settled, so this shows nothing");
}

/// `None` if the breaker did not open in time.
async fn goes_away_again() -> Option<()> {
    let server = RedisServer::start("").await;
    let proxy = FaultProxy::before(server.port).await;
    let instance = Instance::start(&proxy.url(), TEN, &["/client", "/other"]).await;
    proxy.cut(true);
    instance.is_cut_off("/client").await;
    assert_eq!(instance.admitted("/client", 20).await, 5, "its share");
    proxy.cut(false);
    proxy.hang_up();
    // The node has taken its share out of the store as soon as that has a bucket.
    let is_taken = || async {
        let keys: Vec<Vec<u8>> = server.ask("KEYS *").await.unwrap();
        keys.iter().any(|key| is_bucket(key))
    };
    until("the share is taken out", SOON, is_taken).await;
    // And hears of it: from now on it settles.
    tokio::time::sleep(Duration::from_millis(50)).await;
    proxy.cut(true);
    proxy.hang_up();
    // Whoever asks finds out, and the breaker opens, before it has settled.
    let is_open = || async {
        instance.admitted_at_once("/other", 8).await;
        instance.ledger.counts().breaker != BreakerState::Closed
    };
    let opens = async { while !is_open().await {} };
    tokio::time::timeout(Duration::from_millis(400), opens).await.ok()?;
    // Until long after it would have settled. Others take every leave to ask that there is.
    for _ in 0..100 {
        assert!(instance.check("/other").await.is_admitted());
        assert_eq!(instance.admitted("/client", 3).await, 0, "it was spent already");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    proxy.cut(false);
    proxy.hang_up();
    instance.is_exact("/client").await;
    assert_eq!(instance.left("/client").await, 5, "what was spent is charged, and the rest was put back");
    Some(())
}

/// Whether a key is a bucket of a rule, and not the record of its limits or something else.
fn is_bucket(key: &[u8]) -> bool {
    let after_rule = "tg:".len() + 8;
    key.get(after_rule).is_some_and(|kind| *kind != b'=')
}
