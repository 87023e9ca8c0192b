//! The eviction attack of H5 against a table of the default size.

#[path = "../eviction_attack/service.rs"]
mod service;

#[test]
fn flooding_other_rules_gains_no_login_at_100_000_keys() {
    assert_eq!(service::extra_logins(100_000, 250_000), 0);
}
