//! Shadow rules (P7, defect 17): never visible, never in the way, never let others off.

use crate::served::Served;

#[tokio::test]
async fn a_shadow_rule_denies_nobody_and_shows_in_no_field() {
    let policy = "{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 1, mode: shadow}";
    let served = Served::new(policy).await;
    for _ in 0..4 {
        let answer = served.get("/").await;
        assert_eq!(answer.status, 200);
        assert!(!answer.headers.keys().any(|name| name.as_str().contains("ratelimit")), "{answer:?}");
    }
    assert_eq!(served.layer.limiter().rule_stats(0).shadow_denied, 3);
}

#[tokio::test]
async fn beside_a_shadow_rule_the_enforced_one_is_enforced_and_alone_in_the_fields() {
    let policy = "{rules: [{name: strict, limit_keys: [\"ip:address\"], rate: 1/s, burst: 1, mode: shadow}, \
                  {name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 3}]}";
    let served = Served::new(policy).await;
    for left in ["r=2", "r=1", "r=0"] {
        let answer = served.get("/").await;
        assert_eq!(answer.header("ratelimit").split(';').nth(1), Some(left));
        assert!(!format!("{:?}", answer.headers).contains("strict"));
    }
    let denial = served.get("/").await;
    assert_eq!(denial.status, 429);
    assert!(!format!("{denial:?}").contains("strict"));
}

#[tokio::test]
async fn a_policy_in_shadow_enforces_nothing() {
    let policy = "{mode: shadow, rules: [{name: api, limit_keys: [\"ip:address\"], rate: 1/s, burst: 1}]}";
    let served = Served::new(policy).await;
    assert_eq!(served.admitted(5, "/", &[]).await, 5);
}
