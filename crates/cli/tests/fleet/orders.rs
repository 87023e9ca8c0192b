//! Standing orders, at every instance, until they are revoked or expire.

use serde_json::{Value, json};

use crate::databases::{Place, until};
use crate::instance::{Instance, POLICY};

on_both!(orders_given_at_one_instance_stand_at_all_until_revoked, orders_that_expire_end_at_all_instances);

/// Waits until something is so everywhere.
async fn everywhere(instances: &[Instance; 2], what: &str, is_so: impl Fn(&Instance) -> bool) {
    until(what, || async { instances.iter().all(&is_so) }).await;
}

fn limit(instance: &Instance, user: &str) -> Value {
    instance.peek(user).json()["limit"].clone()
}

async fn orders_given_at_one_instance_stand_at_all_until_revoked(place: Place) {
    let instances = Instance::two(&place, POLICY).await;
    let [one, other] = &instances;
    let revoke = |order: i64| {
        one.done("DELETE", &format!("orders/{order}?reason=over"), &json!({}));
    };
    for instance in &instances {
        assert_eq!(instance.admits_of(3, "vic"), 2);
    }

    let block = one.order(&json!({ "kind": "block", "who": "user:eve", "reason": "scraper" }));
    everywhere(&instances, "eve is blocked", |instance| !instance.would_admit("eve")).await;
    assert!(other.would_admit("42"));
    revoke(block);
    everywhere(&instances, "eve is not blocked", |instance| instance.would_admit("eve")).await;

    let allow = other.order(&json!({ "kind": "allow", "who": "user:vic", "reason": "partner" }));
    everywhere(&instances, "vic is allowed", |instance| instance.would_admit("vic")).await;
    assert_eq!(one.admits_of(5, "vic"), 5);
    revoke(allow);
    everywhere(&instances, "vic is not allowed", |instance| !instance.would_admit("vic")).await;

    let more = json!({ "kind": "override", "rule": "api", "who": "user:big", "rate": 0.001, "burst": 7, "reason": "launch" });
    let more = one.order(&more);
    everywhere(&instances, "big has more", |instance| limit(instance, "big") == 7).await;
    assert_eq!(limit(other, "42"), 2);
    revoke(more);
    everywhere(&instances, "big has as much as others", |instance| limit(instance, "big") == 2).await;

    let shadow = other.order(&json!({ "kind": "mode", "rule": "api", "mode": "shadow", "reason": "watch" }));
    everywhere(&instances, "api watches", |instance| instance.would_admit("vic")).await;
    revoke(shadow);
    everywhere(&instances, "api is enforced", |instance| !instance.would_admit("vic")).await;

    let kill = one.order(&json!({ "kind": "kill_switch", "reason": "broken" }));
    everywhere(&instances, "everything is refused", |instance| !instance.would_admit("42")).await;
    revoke(kill);
    everywhere(&instances, "everything goes on", |instance| instance.would_admit("42")).await;
    assert_eq!(one.told("orders")["orders"], json!([]));
    assert_eq!(other.told("orders?past=true")["orders"].as_array().unwrap().len(), 5);
}

async fn orders_that_expire_end_at_all_instances(place: Place) {
    let instances = Instance::two(&place, POLICY).await;
    let [one, other] = &instances;
    for instance in &instances {
        assert_eq!(instance.admits_of(3, "vic"), 2);
    }
    one.order(&json!({ "kind": "block", "who": "user:eve", "reason": "scraper", "expires": "3s" }));
    other.order(&json!({ "kind": "allow", "who": "user:vic", "reason": "partner", "expires": "3s" }));
    let is_standing = |instance: &Instance| !instance.would_admit("eve") && instance.would_admit("vic");
    everywhere(&instances, "the orders stand", is_standing).await;
    let is_over = |instance: &Instance| instance.would_admit("eve") && !instance.would_admit("vic");
    everywhere(&instances, "the orders are over", is_over).await;
}
