//! Buckets that operators look at, fill and give tokens to: in memory at every instance, in a shared store once for all.

use std::time::Duration;

use serde_json::json;

use crate::component::is_skipped;
use crate::databases::{Place, until};
use crate::instance::{Instance, POLICY};
use crate::redis_server::Redis;

on_both!(a_reset_and_a_grant_reach_the_buckets_of_every_instance);

/// The same with a store that may take its time, so that nothing falls back because the machine is slow; and for whoever waits.
const SHARED: &str = "\
store: {deadline: 1s, instances_max: 2}
rules:
  - {name: api, scope: user, rate: 1/h, burst: 2}
  - {name: waits, path: /waits, scope: ip, rate: 30/m, burst: 1}
";

async fn a_reset_and_a_grant_reach_the_buckets_of_every_instance(place: Place) {
    let instances = Instance::two(&place, POLICY).await;
    let [one, other] = &instances;
    let reached = |instance: &Instance| instance.would_admit("42");
    for instance in &instances {
        assert_eq!(instance.admits_of(5, "42"), 2);
    }
    let reset =
        one.done("POST", "buckets/reset", &json!({ "rule": "api", "key": "user:42", "reason": "ours" }));
    assert_eq!((&reset["done"], &reset["buckets"][0]["balance"]), (&json!(true), &json!(2)), "{reset}");
    until("it is full", || async { instances.iter().all(reached) }).await;
    for instance in &instances {
        assert_eq!(instance.admits_of(5, "42"), 2);
    }
    let grant = json!({ "rule": "api", "key": "user:42", "tokens": 1, "reason": "ours" });
    other.done("POST", "buckets/grant", &grant);
    until("it has a token", || async { instances.iter().all(reached) }).await;
    for instance in &instances {
        assert_eq!(instance.admits_of(5, "42"), 1, "once, and not again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_shared_store_a_reset_and_a_grant_are_done_once_for_all_and_blocks_stand_at_all() {
    if is_skipped("redis") {
        return;
    }
    let (redis, place) = (Redis::start(), Place::sqlite());
    let flags = ["--store", &redis.url()];
    let instances = [
        Instance::start_with(&place, SHARED, &flags).await,
        Instance::start_with(&place, SHARED, &flags).await,
    ];
    let [one, other] = &instances;
    let is_exact = |instance: &Instance| instance.peek("nobody").json()["mode"] == "exact";
    until("the store decides", || async { instances.iter().all(is_exact) }).await;
    // Without an address, so that only users count.
    let admitted = |user: &str| {
        let body = json!({ "method": "GET", "path": "/a", "user": user }).to_string();
        let admitted = |instance: &&Instance| instance.server.post("/v1/check", &body).status == 200;
        [one, other, one, other, one].iter().filter(|instance| admitted(instance)).count()
    };
    assert_eq!(admitted("42"), 2);
    let reset = json!({ "rule": "api", "key": "user:42", "reason": "ours" });
    let done = other.done("POST", "buckets/reset", &reset);
    assert_eq!((&done["done"], &done["buckets"][0]["balance"]), (&json!(true), &json!(2)), "{done}");
    assert_eq!(one.bucket("api", "user:42")["balance"], 2);
    assert_eq!(admitted("42"), 2);
    let grant = json!({ "rule": "api", "key": "user:42", "tokens": 1, "reason": "ours" });
    one.done("POST", "buckets/grant", &grant);
    assert_eq!(admitted("42"), 1, "once for all");
    let audit = one.told("audit");
    let line = |action: &str| {
        let lines = audit["lines"].as_array().unwrap();
        lines.iter().find(|line| line["action"] == action).unwrap_or_else(|| panic!("{audit}"))
    };
    // It refills by one an hour meanwhile.
    let is_about = |text: &serde_json::Value, whole: &str| {
        text.as_str().is_some_and(|text| text.starts_with(whole) && text.ends_with(" of 2 tokens"))
    };
    let (reset, grant) = (line("bucket.reset"), line("bucket.grant"));
    assert!(is_about(&reset["before"], "0") && reset["after"] == "2 of 2 tokens", "{reset}");
    assert!(is_about(&grant["before"], "0") && is_about(&grant["after"], "+1: "), "{grant}");

    one.order(&json!({ "kind": "block", "who": "user:eve", "reason": "scraper" }));
    until("eve is blocked", || async { instances.iter().all(|instance| !instance.would_admit("eve")) }).await;
    a_look_is_true(&instances).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_memory_a_look_at_a_bucket_says_what_is_so() {
    let place = Place::sqlite();
    let instance = Instance::start(&place, SHARED).await;
    a_look_is_true(std::slice::from_ref(&instance)).await;
}

/// What it holds, and when it can pay again: no sooner than it says, and no later (A6).
async fn a_look_is_true(instances: &[Instance]) {
    let check =
        |instance: &Instance| instance.server.post("/v1/check", r#"{"path": "/waits", "ip": "192.0.2.9"}"#);
    let (first, last) = (&instances[0], &instances[instances.len() - 1]);
    let whole = first.bucket("waits", "192.0.2.9");
    assert_eq!((&whole["balance"], &whole["next_admit_ms"]), (&json!(1), &json!(0)), "{whole}");
    assert_eq!(check(first).status, 200);
    let wait_ms = |denied: &serde_json::Value| denied["retry_after_ms"].as_u64().unwrap();
    let before = wait_ms(&check(first).json());
    let look = last.bucket("waits", "192.0.2.9");
    let told_ms = look["next_admit_ms"].as_u64().unwrap();
    let after = wait_ms(&check(first).json());
    assert!(before >= told_ms && told_ms >= after && after > 0, "{before} {look} {after}");
    let balance = look["balance"].as_f64().unwrap();
    let said_ms = (1.0 - balance) * 2_000.0;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let differs_ms = (said_ms - told_ms as f64).abs();
    assert!(differs_ms <= 1.0, "the balance and the wait are of one moment: {look}");
    tokio::time::sleep(Duration::from_millis(told_ms)).await;
    assert_eq!(check(last).status, 200, "when the time has come, it is admitted");
}
