//! Who talks most, and what the rules have done.

use tollgate::policy::Facts;

use super::door::TestDoor;
use crate::door::Door;

/// Checks of a user, noted as a door notes them.
pub(super) fn check(door: &TestDoor, user: &str, times: usize) {
    let engine = &door.gatehouse.engine;
    let facts = Facts { user: Some(user), ..Facts::new("GET", "/") };
    for _ in 0..times {
        let decision = engine.limiter.check(&facts);
        engine.note_decision(Door::Http, &decision, engine.limiter.limiter().now());
    }
}

#[tokio::test]
async fn the_first_of_a_rule_are_told_with_the_key_that_other_routes_take() {
    let door = TestDoor::without_records(None).await;
    // Without an address all share one bucket of the rule for addresses, which admits five.
    check(&door, "ann", 5);
    check(&door, "eve", 20);
    let top = door.get("/admin/v1/top?rule=per-user&by=admitted").expect(200).await.json();
    assert_eq!((&top["rules"][0]["rule"], &top["instances"]), (&"per-user".into(), &1.into()), "{top}");
    let first = &top["rules"][0]["clients"][0];
    assert_eq!(first["key"], "user:ann", "{top}");
    let key = first["key"].as_str().unwrap();
    door.get(&format!("/admin/v1/buckets?rule=per-user&key={key}")).expect(200).await;
    let denied = door.get("/admin/v1/top").expect(200).await.json();
    assert_eq!(denied["rules"][0]["rule"], "per-address", "{denied}");
    assert_eq!(denied["rules"][0]["clients"][0]["denied"]["at_least"], 20, "{denied}");
    for query in ["?by=loudest", "?limit=0", "?limit=65", "?x=1"] {
        door.get(&format!("/admin/v1/top{query}")).expect(400).await;
    }
    door.get("/admin/v1/top?rule=nothing").expect(404).await;
}

#[tokio::test]
async fn the_rules_in_force_are_told_with_their_limits_and_what_they_did() {
    let door = TestDoor::without_records(None).await;
    check(&door, "ann", 8);
    let rules = door.get("/admin/v1/rules").expect(200).await.json();
    assert_eq!(rules["rules"].as_array().unwrap().len(), 2, "{rules}");
    let rule = door.get("/admin/v1/rules/per-address").expect(200).await.json();
    assert_eq!((&rule["limit"], &rule["source"]), (&"1/h, burst 5".into(), &"the file".into()), "{rule}");
    assert_eq!((&rule["counts"]["admitted"], &rule["counts"]["denied"]), (&5.into(), &3.into()), "{rule}");
    door.get("/admin/v1/rules/nothing").expect(404).await;
}
