//! Rules, orders and operations that are in force within a second.

use std::time::Duration;

use serde_json::{Value, json};

use crate::databases::{Place, until};
use crate::instance::{Instance, POLICY};
use crate::stopwatch::{in_force, now};

on_both!(
    four_rows_put_in_by_plain_sql_are_in_force_within_a_second,
    changes_at_one_instance_are_in_force_at_all_within_a_second,
);

/// The example of P5.
const FOUR_ROWS: &str = "INSERT INTO rate_limit_rules (key_pattern, scope, rate_per_second, burst_capacity, plan) VALUES \
    ('user:{user_id}', 'user', 10, 50, 'free'), ('user:{user_id}', 'user', 100, 500, 'pro'), \
    ('endpoint:/api/search', 'endpoint', 1000, 2000, NULL), ('global', 'global', 50000, 100000, NULL)";
/// Nothing that a test could use up.
const EMPTY_POLICY: &str = "rules: [{name: file, scope: user, rate: 1000000/s, burst: 1000000}]";

fn ask(instance: &Instance, path: &str, user: &str, plan: &str) -> (u16, Value) {
    let facts = json!({ "method": "GET", "path": path, "ip": "192.0.2.7", "user": user, "plan": plan });
    let answer = instance.server.post("/v1/check", &facts.to_string());
    (answer.status, answer.json())
}

/// How many checks a rule has admitted, at this instance.
fn admitted(instance: &Instance, rule: &str) -> u64 {
    instance.told(&format!("rules/{rule}"))["counts"]["admitted"].as_u64().unwrap()
}

async fn four_rows_put_in_by_plain_sql_are_in_force_within_a_second(place: Place) {
    let instances = Instance::two(&place, EMPTY_POLICY).await;
    let mut hand = place.hand().await;
    hand.sql(FOUR_ROWS).await.unwrap();
    let facts = r#"{"method": "GET", "path": "/api/search", "user": "new", "plan": "free"}"#;
    let is_so = |instance: &Instance| instance.server.post("/v1/peek", facts).json()["limit"] == 50;
    in_force(now(), "four rows by SQL", &instances, is_so).await;

    let instance = &instances[0];
    let (status, answer) = ask(instance, "/api/search", "one", "free");
    assert_eq!((status, &answer["limit"], &answer["remaining"]), (200, &json!(50), &json!(49)), "{answer}");
    for (rule, count) in [("user-1", 1), ("user-2", 0), ("endpoint-3", 1), ("global-4", 1)] {
        assert_eq!(admitted(instance, rule), count, "{rule}");
    }
    let denied = exhausted(instance, "free", "free", 50, 10);
    assert_eq!(
        (&denied["violated"][0]["rule"], &denied["violated"][0]["scope"]),
        (&json!("user-1"), &json!("user")),
        "{denied}"
    );
    let denied = exhausted(instance, "pro", "pro", 500, 100);
    assert_eq!(denied["violated"][0]["rule"], "user-2", "{denied}");
    let endpoint = admitted(instance, "endpoint-3");
    assert_eq!(ask(instance, "/elsewhere", "else", "free").0, 200);
    assert_eq!(admitted(instance, "endpoint-3"), endpoint, "another endpoint is none of its business");

    hand.sql("UPDATE rate_limit_rules SET is_active = FALSE WHERE rule_id = 1").await.unwrap();
    let is_so = |instance: &Instance| instance.server.post("/v1/peek", facts).json()["limit"] != 50;
    in_force(now(), "a row made inactive by SQL", &instances, is_so).await;
}

/// Asks for one user until it is denied: after its burst and what came in meanwhile. The denial.
fn exhausted(instance: &Instance, user: &str, plan: &str, burst: u32, per_second: u32) -> Value {
    let begun = now();
    let mut admitted = 0;
    loop {
        let (status, answer) = ask(instance, "/api/search", user, plan);
        if status == 429 {
            let minted = begun.elapsed().as_secs_f64() * f64::from(per_second);
            assert!(admitted >= burst && f64::from(admitted - burst) <= minted, "{admitted} {minted}");
            return answer;
        }
        admitted += 1;
    }
}

async fn changes_at_one_instance_are_in_force_at_all_within_a_second(place: Place) {
    let instances = Instance::two(&place, POLICY).await;
    let [one, other] = &instances;
    let limit = |limit: u32| move |instance: &Instance| instance.peek("new").json()["limit"] == limit;
    for instance in &instances {
        assert_eq!(instance.admits_of(3, "vic"), 2);
    }
    one.put_rule(&json!({ "name": "api", "scope": "user", "rate": "1/h", "burst": 5 }));
    in_force(now(), "a rule", &instances, limit(5)).await;
    other.done("POST", "rules/api/deactivate", &json!({ "base_version": 1 }));
    in_force(now(), "a rule that is off", &instances, limit(1_000_000)).await;
    one.done("POST", "versions/1/rollback", &json!({ "base_version": 2 }));
    in_force(now(), "an earlier version", &instances, limit(5)).await;
    other.done("DELETE", "rules/api", &json!({ "base_version": 3 }));
    in_force(now(), "the file's rule", &instances, limit(2)).await;

    let denies = |user: &'static str| move |instance: &Instance| !instance.would_admit(user);
    let admits = |user: &'static str| move |instance: &Instance| instance.would_admit(user);
    let revoke = |order: i64| drop(one.done("DELETE", &format!("orders/{order}?reason=x"), &json!({})));
    let block = one.order(&json!({ "kind": "block", "who": "user:eve", "reason": "x" }));
    in_force(now(), "a block", &instances, denies("eve")).await;
    revoke(block);
    in_force(now(), "no block", &instances, admits("eve")).await;
    let allow = one.order(&json!({ "kind": "allow", "who": "user:vic", "reason": "x" }));
    in_force(now(), "an allowance", &instances, admits("vic")).await;
    revoke(allow);
    in_force(now(), "no allowance", &instances, denies("vic")).await;
    let order = json!({ "kind": "override", "rule": "api", "who": "user:new", "rate": 0.001, "burst": 7, "reason": "x" });
    let order = one.order(&order);
    in_force(now(), "an override", &instances, limit(7)).await;
    revoke(order);
    in_force(now(), "no override", &instances, limit(2)).await;
    let shadow = one.order(&json!({ "kind": "mode", "rule": "api", "mode": "shadow", "reason": "x" }));
    in_force(now(), "a rule that watches", &instances, admits("vic")).await;
    revoke(shadow);
    in_force(now(), "a rule that is enforced again", &instances, denies("vic")).await;
    let kill = one.order(&json!({ "kind": "kill_switch", "reason": "x" }));
    in_force(now(), "a kill switch", &instances, denies("new")).await;
    revoke(kill);
    in_force(now(), "no kill switch", &instances, admits("new")).await;
    one.done("POST", "buckets/reset", &json!({ "rule": "api", "key": "user:vic", "reason": "x" }));
    in_force(now(), "a reset", &instances, admits("vic")).await;
    an_order_ends_within_a_second_of_its_expiry(&instances).await;
}

async fn an_order_ends_within_a_second_of_its_expiry(instances: &[Instance; 2]) {
    let order = json!({ "kind": "block", "who": "user:mal", "reason": "x", "expires": "3s" });
    let given = instances[0].done("POST", "orders", &order);
    let given_at = now();
    until("mal is blocked", || async { instances.iter().all(|instance| !instance.would_admit("mal")) }).await;
    // Expiries are whole seconds, counted from the second that has begun.
    let (earliest, latest) = (Duration::from_secs(2), Duration::from_secs(3));
    assert!(given["expires_at"].is_string(), "{given}");
    until("somebody admits mal", || async { instances.iter().any(|instance| instance.would_admit("mal")) })
        .await;
    let first = given_at.elapsed();
    assert!(first + Duration::from_millis(200) >= earliest, "too early: {first:?}");
    in_force(given_at + latest, "an order that has expired", instances, |instance| {
        instance.would_admit("mal")
    })
    .await;
}
