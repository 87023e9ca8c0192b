//! What cannot be opened or declared is said at once; a store that is not there is waited for by nobody.

use std::time::Duration;

use tollgate::policy::OnStoreFailure;
use tollgate::{Burst, Cost, Limit, Rate, StoreMode};
use tollgate_redis::{OpenError, RuleTerms, SharedLimiter, SharedRuleError};

use crate::fleet::free_port;
use crate::rules::burst;

#[tokio::test]
async fn without_the_store_rules_do_what_they_say_and_explicit_limits_hold_here() {
    let limiter = SharedLimiter::open(&format!("redis://127.0.0.1:{}", free_port())).unwrap();
    let rule = |name: &str, on_store_failure| {
        limiter.rule_with(name, burst(3), RuleTerms { on_store_failure, ..RuleTerms::default() }).unwrap()
    };
    let (local, open) = (limiter.rule("local", burst(3)).unwrap(), rule("open", OnStoreFailure::Open));
    let closed = rule("closed", OnStoreFailure::Closed);
    let mut admitted = [0; 3];
    for _ in 0..10 {
        let explicit = limiter.check_explicit("ann", &burst(2), Cost::ONE).await.unwrap();
        let answers = [local.check("ann").await, open.check("ann").await, explicit];
        for (count, answer) in admitted.iter_mut().zip(answers) {
            assert_eq!(answer.mode(), StoreMode::Fallback);
            *count += usize::from(answer.is_admitted());
        }
        let refused = tokio::time::timeout(Duration::from_secs(1), closed.check("ann")).await.unwrap();
        assert!(!refused.is_admitted() && refused.verdict().is_none());
        assert_eq!(refused.retry_after(), Some(Duration::from_secs(1)));
    }
    assert_eq!(admitted, [3, 10, 2]);
    assert!(!limiter.ready(Duration::from_millis(20)).await);
    limiter.close().await;
}

#[tokio::test]
async fn what_is_no_url_and_what_is_no_rule_is_refused_with_the_cure() {
    assert!(matches!(SharedLimiter::open("localhost:6379"), Err(OpenError::Url(_))));
    let files = SharedLimiter::open("rediss://localhost?ca=/nowhere/ca.pem").unwrap_err();
    assert!(matches!(files, OpenError::Tls(_)) && files.to_string().contains("/nowhere/ca.pem"), "{files}");
    let secret = SharedLimiter::open("redis://ann:hunter2@localhost:port").unwrap_err();
    assert!(!format!("{secret} {secret:?}").contains("hunter2"));

    let limiter = SharedLimiter::open(&format!("redis://127.0.0.1:{}", free_port())).unwrap();
    assert_eq!(limiter.rule("", burst(1)).unwrap_err(), SharedRuleError::EmptyName);
    let long = limiter.rule(&"n".repeat(129), burst(1)).unwrap_err();
    assert_eq!(long, SharedRuleError::NameTooLong { bytes: 129 });
    let large = Limit::new(Rate::per_second(1_000_000), Burst::tokens(9_000_000_001)).unwrap();
    let refused = limiter.rule("large", large).unwrap_err();
    assert!(refused.to_string().starts_with("`burst` is 9000000001 tokens"), "{refused}");
    assert!(limiter.check_explicit("ann", &large, Cost::ONE).await.is_err(), "the same with the call");
}
