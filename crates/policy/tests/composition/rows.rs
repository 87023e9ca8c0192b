//! Plain rows: P5's example set, patterns, plans.

use tollgate_policy::{Facts, KeySource, PlainRow, Scope, Source, Sources};

use super::{burst_of, compose, get, met, row};

/// P5's four rows, as somebody puts them in.
pub(super) fn p5() -> [PlainRow; 4] {
    [
        row(1, "user:{user_id}", "user", "10", "50", Some("free")),
        row(2, "user:{user_id}", "user", "100", "500", Some("pro")),
        row(3, "endpoint:/api/search", "endpoint", "1000", "2000", None),
        row(4, "global", "global", "50000", "100000", None),
    ]
}

#[test]
fn a_free_user_on_search_touches_user_endpoint_and_global() {
    let policy = compose(Sources { plain_rows: &p5(), ..Sources::default() }).policy;
    assert_eq!(met(&policy, &get("ann", Some("free"), "/api/search")), ["user-1", "endpoint-3", "global-4"]);
    assert_eq!(
        met(&policy, &get("bob", Some("pro"), "/api/search?q=1")),
        ["user-2", "endpoint-3", "global-4"]
    );
    assert_eq!(met(&policy, &get("ann", Some("free"), "/")), ["user-1", "global-4"]);
    assert_eq!(met(&policy, &get("eve", None, "/")), ["global-4"]);
    let bursts = ["user-1", "user-2", "endpoint-3", "global-4"].map(|name| burst_of(&policy, name));
    assert_eq!(bursts, [50, 500, 2_000, 100_000]);
}

#[test]
fn an_ip_rule_where_there_is_one_is_touched_too() {
    let mut rows = p5().to_vec();
    rows.push(row(5, "ip:{ip}", "ip", "5", "10", None));
    let policy = compose(Sources { plain_rows: &rows, ..Sources::default() }).policy;
    let met = met(&policy, &get("ann", Some("free"), "/api/search"));
    assert_eq!(met, ["user-1", "endpoint-3", "global-4", "ip-5"]);
    assert_eq!(policy.rules[4].keys, [KeySource::ONE_CLIENT]);
}

#[test]
fn a_row_without_a_plan_is_the_default_tier_of_its_pattern_wherever_it_stands() {
    let rows = [
        row(1, "user:{user_id}", "user", "1", "1", None),
        row(2, "user:{id}", "user", "100", "500", Some("pro")),
    ];
    let policy = compose(Sources { plain_rows: &rows, ..Sources::default() }).policy;
    assert_eq!(met(&policy, &get("ann", Some("pro"), "/")), ["user-2"]);
    assert_eq!(met(&policy, &get("ann", Some("free"), "/")), ["user-1"]);
    assert_eq!(met(&policy, &get("ann", None, "/")), ["user-1"]);
}

#[test]
fn an_inactive_row_is_not_enforced_and_is_told() {
    let mut rows = p5();
    rows[3].is_active = false;
    let composed = compose(Sources { plain_rows: &rows, ..Sources::default() });
    assert_eq!(met(&composed.policy, &get("ann", Some("free"), "/")), ["user-1"]);
    assert_eq!(composed.notes, ["row 4 is inactive"]);
}

#[test]
fn patterns_say_whose_bucket_it_is() {
    for (pattern, scope, keys) in [
        ("user:{user_id}", Scope::User, vec![KeySource::User]),
        ("user:{header:X-Api-Key}", Scope::User, vec![KeySource::Header("x-api-key".into())]),
        ("ip:{ip}", Scope::Ip, vec![KeySource::ONE_CLIENT]),
        ("ip:{ip:prefix/24}", Scope::Ip, vec![KeySource::Prefix { v4: 24, v6: 64 }]),
        ("org:{org_id}", Scope::Organisation, vec![KeySource::Claim(vec!["org_id".into()])]),
        ("org:{header:x-org}", Scope::Organisation, vec![KeySource::Header("x-org".into())]),
        ("endpoint:/a/*", Scope::Endpoint, vec![]),
        ("endpoint:{path}", Scope::Endpoint, vec![KeySource::Path]),
        ("global", Scope::Global, vec![]),
    ] {
        let rows = [row(7, pattern, scope.name(), "1.5", "3", None)];
        let policy = compose(Sources { plain_rows: &rows, ..Sources::default() }).policy;
        let rule = &policy.rules[0];
        assert_eq!((rule.scope, &rule.keys), (scope, &keys), "{pattern}");
        assert_eq!(*rule.name, *format!("{}-7", scope.name()));
        assert_eq!((&rule.source, rule.line), (&Source::Row(7), 0));
    }
}

#[test]
fn an_endpoint_has_one_bucket_for_all_clients() {
    let policy = compose(Sources { plain_rows: &p5(), ..Sources::default() }).policy;
    let book = tollgate_policy::RuleBook::new(policy);
    let mut keys = Vec::new();
    for user in ["ann", "bob"] {
        let facts = Facts { user: Some(user), ..Facts::new("GET", "/api/search") };
        book.rule_on(&facts, 0, |hit| keys.push((hit.rule, hit.key.to_vec())));
    }
    assert_eq!(keys[0], keys[2]);
    assert_eq!(keys[1], keys[3]);
}

#[test]
fn rows_follow_the_rules_of_the_file_and_are_no_tiers_of_them() {
    let file = ("p.yaml", "{name: pro, scope: user, plan: pro, rate: 1, burst: 1}");
    let rows = [row(9, "user:{user_id}", "user", "1", "1", None)];
    let policy = compose(Sources { file: Some(file), plain_rows: &rows, ..Sources::default() }).policy;
    assert_eq!(met(&policy, &get("ann", Some("pro"), "/")), ["pro", "user-9"]);
    assert!(policy.groups.is_empty());
}
