use serde_json::json;
use tollgate_core::{Burst, Cost, Limit, Rate};

use super::*;
use crate::built_by_hand::{claim, header, header_fields, host, is, path, policy, rule};
use crate::{
    Claims, Condition, Consistency, CostPlan, CostSource, Group, KeySource, KillSwitch, MethodSet, Missing,
    OnStoreFailure, Source, StoreSettings, ValueTest,
};

/// What is said of the first rule, about a request for `/api/search`.
fn said(rule: Rule, change: impl Fn(&mut Facts<'_>)) -> String {
    let mut facts = Facts { host: "example.com", ..Facts::new("GET", "/api/search") };
    change(&mut facts);
    RuleBook::new(policy(vec![rule])).explain(&facts, 0).rules[0].reason.clone()
}

fn of(condition: Condition) -> String {
    said(Rule { condition, ..rule("r") }, |_| {})
}

#[test]
fn the_test_that_failed_is_named_with_what_was_found() {
    assert_eq!(of(path("/login")), "the path is `/api/search`, not `/login`");
    assert_eq!(of(path("/v1/*")), "the path is `/api/search`, not `/v1` or below it");
    assert_eq!(of(path("/users/{id}")), "the path is `/api/search`, not like `/users/{}`");
    assert_eq!(of(path("/a/**/b")), "the path is `/api/search`, not like `/a/**/b`");
    assert_eq!(of(host("*.example.com")), "the host is `example.com`, not `*.example.com`");
    let writes = MethodSet::of("POST").with(MethodSet::of("PUT"));
    assert_eq!(of(Condition::Method(writes)), "the method is `GET`, not POST, PUT");
    assert_eq!(of(is(KeySource::Plan, &["pro"])), "the request lacks `plan`");
    assert_eq!(of(is(KeySource::Host, &["a", "b"])), "`host` is `example.com`, not `a`, `b`");
    assert_eq!(
        of(is(KeySource::Host, &["a", "b", "c", "d", "e", "f"])),
        "`host` is `example.com`, not `a`, `b`, `c`, `d` and 2 more"
    );
    assert_eq!(of(Condition::All(vec![path("/api/*"), host("x.y")])), "the host is `example.com`, not `x.y`");
    assert_eq!(
        of(Condition::Any(vec![path("/a"), host("x")])),
        "none of 2 alternatives holds: the path is `/api/search`, not `/a`; the host is `example.com`, not `x`"
    );
    assert_eq!(
        of(Condition::Not(Box::new(path("/api/*")))),
        "it is not for requests for which the path is `/api` or below it"
    );
    let inside = ValueTest::Within(vec!["10.0.0.0/8".parse().unwrap()]);
    let address = Some("11.0.0.1".parse().unwrap());
    assert_eq!(
        said(Rule { condition: Condition::Value(KeySource::Address, inside), ..rule("r") }, |facts| facts
            .address =
            address),
        "`ip:address` is `11.0.0.1`, not in `10.0.0.0/8`"
    );
}

#[test]
fn what_looks_present_but_does_not_count_is_said_to_be_missing_and_why() {
    let claims = json!({"plan": "pro"});
    let pro = || Rule { condition: is(claim("plan"), &["pro"]), ..rule("r") };
    assert_eq!(said(pro(), |_| {}), "the request lacks `jwt:plan`: no token was accepted");
    let book = RuleBook::new(policy(vec![pro()]));
    let forged = Facts { claims: Claims::Unverified(&claims), ..Facts::new("GET", "/") };
    let reason = &book.explain(&forged, 0).rules[0].reason;
    assert_eq!(
        reason,
        "the request lacks `jwt:plan`: nobody has verified its token, and the rule does not say `jwt_trust: upstream_verified`"
    );
    let headers = header_fields(&[("k", "1"), ("K", "2")]);
    let twice = RuleBook::new(policy(vec![Rule { condition: is(header("k"), &["1"]), ..rule("r") }]));
    let reason =
        twice.explain(&Facts { headers: &headers, ..Facts::new("GET", "/") }, 0).rules[0].reason.clone();
    assert_eq!(
        reason,
        "its condition holds; `header:k` is ambiguous (it occurs more than once); this rule matches if any of its values does"
    );
}

#[test]
fn an_explanation_says_what_an_ambiguous_value_did() {
    let headers = header_fields(&[("k", "1"), ("K", "2")]);
    let facts = Facts { headers: &headers, ..Facts::new("GET", "/") };
    let told = |one: Rule| RuleBook::new(policy(vec![one])).explain(&facts, 0).rules[0].reason.clone();
    let on = |action, wanted: &str| Rule { condition: is(header("k"), &[wanted]), action, ..rule("r") };
    assert_eq!(
        told(on(Action::Allow, "1")),
        "`header:k` is not certainly `1`; `header:k` is ambiguous (it occurs more than once); this rule never matches an ambiguous value"
    );
    assert_eq!(
        told(on(Action::Block, "3")),
        "`header:k` is not certainly `3`; `header:k` is ambiguous (it occurs more than once); this rule matches if any of its values does"
    );
    let keyed = |missing| Rule { keys: vec![header("k")], missing, ..rule("r") };
    for missing in [Missing::Anonymous, Missing::Skip] {
        assert_eq!(
            told(keyed(missing)),
            "it governs every request; `header:k` is ambiguous (it occurs more than once); it counts as missing, so the request is charged to the shared anonymous bucket"
        );
    }
    assert_eq!(
        told(keyed(Missing::Deny)),
        "`header:k` is ambiguous (it occurs more than once); it counts as missing, so the rule denies the request"
    );
    let part = &RuleBook::new(policy(vec![keyed(Missing::Deny)])).explain(&facts, 0).rules[0].key_parts[0];
    assert_eq!((&part.value, part.ambiguity.as_deref()), (&None, Some("it occurs more than once")));
}

#[test]
fn a_rule_that_applies_says_how() {
    let keyed = |missing| Rule { keys: vec![header("k")], missing, ..rule("r") };
    assert_eq!(said(rule("r"), |_| {}), "it governs every request");
    assert_eq!(of(path("/api/*")), "its condition holds");
    assert_eq!(
        said(keyed(Missing::Anonymous), |_| {}),
        "it governs every request; without `header:k`, the request is charged to the shared anonymous bucket"
    );
    assert_eq!(
        said(keyed(Missing::Skip), |_| {}),
        "the request lacks `header:k`, and the rule skips such requests"
    );
    assert_eq!(said(keyed(Missing::Deny), |_| {}), "the request has no `header:k`, which the rule requires");
    assert_eq!(
        said(Rule { mode: Mode::Shadow, ..rule("r") }, |_| {}),
        "it governs every request; it only watches, since it is in shadow"
    );
    assert_eq!(
        said(Rule { rollout_percent: 0, ..rule("r") }, |_| {}),
        "it governs every request; it only watches, since its roll-out has not come to this key"
    );
    assert_eq!(said(Rule { mode: Mode::Off, ..rule("r") }, |_| {}), "it is off");
}

#[test]
fn a_tier_says_which_tier_came_before_it() {
    let tier = |name| Rule { group: Some(0), ..rule(name) };
    let mut tiers = policy(vec![tier("enterprise"), tier("free")]);
    tiers.groups = vec![Group { name: "plans".into(), rules: vec![0, 1], is_implicit: false }];
    let told = RuleBook::new(tiers).explain(&Facts::new("GET", "/"), 0).rules.remove(1);
    assert_eq!(told.outcome, Outcome::Displaced { by: 0 });
    assert_eq!(told.reason, "of `plans` the first rule that matches applies, which is `enterprise`");
}

#[test]
fn keys_and_costs_are_readable() {
    let cost = CostPlan { source: CostSource::Header("cost".into()), max: Cost::tokens(50), ..CostPlan::ONE };
    let book =
        RuleBook::new(policy(vec![Rule { keys: vec![header("k"), KeySource::User], cost, ..rule("r") }]));
    for (text, cost, reason) in [
        ("7", Cost::tokens(7), "`header:cost`: 7"),
        ("0.5", Cost::ONE, "`header:cost`: 0.5, raised to the least"),
        ("99", Cost::tokens(50), "`header:cost`: 99, cut down to the most"),
        ("NaN", Cost::ONE, "the default, since `header:cost` says no usable number"),
    ] {
        let headers = header_fields(&[("k", "abc"), ("cost", text)]);
        let told = book.explain(&Facts { headers: &headers, ..Facts::new("GET", "/") }, 0).rules.remove(0);
        let told_cost = told.cost.unwrap();
        assert_eq!((told_cost.cost, told_cost.reason.as_str()), (cost, reason));
        let parts: Vec<_> =
            told.key_parts.iter().map(|part| (part.source.as_str(), part.value.as_deref())).collect();
        assert_eq!(parts, [("header:k", Some("abc")), ("user", None)]);
    }
}

#[test]
fn a_kill_switch_says_why_it_is_not_in_force() {
    let mut killed = policy(Vec::new());
    let switch = |condition, until_unix_s| KillSwitch {
        name: "k".into(),
        condition,
        reason: "repairs".into(),
        until_unix_s,
        trusts_upstream_claims: false,
        source: Source::File,
        line: 1,
    };
    killed.kill_switches = vec![
        switch(Condition::Always, Some(90)),
        switch(path("/x"), None),
        switch(Condition::Always, Some(101)),
        switch(Condition::Always, None),
    ];
    let told = RuleBook::new(killed).explain(&Facts::new("GET", "/"), 100);
    let reasons: Vec<&str> = told.kill_switches.iter().map(|told| told.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "it expired 10 s ago",
            "the path is `/`, not `/x`",
            "it refuses the request: repairs",
            "it refuses the request: repairs"
        ]
    );
    assert_eq!(told.ruling, Ruling::Killed { switch: 2 }, "the first one counts");
}

#[test]
fn a_body_of_unknown_length_is_said_to_cost_the_default_and_why() {
    let source = CostSource::RequestBytes { per_token: 1_000 };
    let cost = CostPlan { source, default: Cost::tokens(3), min: Cost::ONE, max: Cost::tokens(50) };
    let book = RuleBook::new(policy(vec![Rule { cost, ..rule("r") }]));
    let told = |body_bytes| {
        let facts = Facts { body_bytes, ..Facts::new("POST", "/") };
        book.explain(&facts, 0).rules[0].cost.clone().unwrap()
    };
    assert_eq!(told(Some(7_000)).reason, "7000 bytes of body at 1000 to a token: 7");
    let chunked = told(None);
    assert_eq!((chunked.cost, chunked.was_unusable), (Cost::tokens(3), true));
    let reason = "the default, since no `Content-Length` announces the length of the body";
    assert_eq!(chunked.reason, reason);
}

#[test]
fn how_a_rule_is_kept_in_a_shared_store_is_said_where_it_is_not_as_usual() {
    let large = Limit::new(Rate::per_second(1_000), Burst::tokens(1_000)).unwrap();
    let large = |consistency, on_store_failure| Rule {
        action: Action::Limit(large.into()),
        consistency,
        on_store_failure,
        ..rule("r")
    };
    let (exact, leased) = (Consistency::Exact, Consistency::Leased);
    for (consistency, failure, told) in [
        (exact, OnStoreFailure::Local, ""),
        (leased, OnStoreFailure::Local, "; instances lease its tokens"),
        (exact, OnStoreFailure::Closed, "; while the store is down, it refuses"),
        (
            leased,
            OnStoreFailure::Open,
            "; instances lease its tokens; while the store is down, it limits nothing",
        ),
    ] {
        let rule = large(consistency, failure);
        assert_eq!(said(rule.clone(), |_| {}), format!("it governs every request{told}"));
        let explained = RuleBook::new(policy(vec![rule])).explain(&Facts::new("GET", "/"), 0).rules.remove(0);
        assert_eq!((explained.consistency, explained.on_store_failure), (consistency, failure));
    }
    let elsewhere = Rule { condition: path("/x"), ..large(leased, OnStoreFailure::Open) };
    assert_eq!(said(elsewhere, |_| {}), "the path is `/api/search`, not `/x`");
}

#[test]
fn a_rule_that_is_too_small_to_be_leased_is_said_to_stay_exact() {
    let small = Rule { consistency: Consistency::Leased, ..rule("r") };
    let told = "it governs every request; it is to be leased but stays exact, as `tollgate check` tells";
    assert_eq!(said(small.clone(), |_| {}), told);
    let store = StoreSettings { lease: tollgate_core::Span::from_secs(10), ..StoreSettings::default() };
    let patient = crate::Policy { store: Some(store), ..policy(vec![small]) };
    let explained = RuleBook::new(patient).explain(&Facts::new("GET", "/"), 0).rules.remove(0);
    assert_eq!(
        explained.reason, "it governs every request; instances lease its tokens",
        "100 in ten seconds"
    );
}

#[test]
fn the_forms_of_a_path_are_told_each_once() {
    let book = RuleBook::new(policy(vec![rule("r")]));
    let forms = |target: &str| {
        let told = book.explain(&Facts::new("GET", target), 0);
        (told.path, told.decoded_path, told.other_paths.join(" "))
    };
    assert_eq!(forms("/a;x/b"), ("/a/b".to_owned(), None, String::new()));
    assert_eq!(forms("/a%2fb"), ("/a%2fb".to_owned(), Some("/a/b".to_owned()), String::new()));
    assert_eq!(forms("/a;%2fb"), ("/a".to_owned(), None, "/a/b".to_owned()));
    let told = ("/a%2fb%5c..%5c..".to_owned(), Some("/".to_owned()), "/a/b%5c..%5c..".to_owned());
    assert_eq!(forms("/a%2fb%5c..%5c.."), told);
}

#[test]
fn why_a_cookie_and_a_token_are_ambiguous_is_said() {
    let headers = header_fields(&[("cookie", "c=%61"), ("authorization", "a"), ("authorization", "b")]);
    let told = |condition: Condition| {
        let facts = Facts { headers: &headers, ..Facts::new("GET", "/") };
        let block = Rule { condition, action: Action::Block, ..rule("r") };
        RuleBook::new(policy(vec![block])).explain(&facts, 0).rules[0].reason.clone()
    };
    assert_eq!(
        told(is(KeySource::Cookie("c".into()), &["b"])),
        "`cookie:c` is not certainly `b`; `cookie:c` is ambiguous (it is quoted or percent-encoded, which servers read \
         differently); this rule matches if any of its values does"
    );
    assert_eq!(
        told(Condition::Client(crate::Client::User("bob".into()))),
        "its condition holds; `user` is ambiguous (the token's header field occurs more than once or cannot be read); \
         this rule matches if any of its values does"
    );
}
