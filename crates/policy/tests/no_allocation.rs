//! No ruling allocates: not for odd paths and decoded values, not for long keys, not for a hit, not for a refusal.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "../src/built_by_hand.rs"]
mod built_by_hand;
#[path = "../../tollgate/tests/no_allocation/counting_allocator.rs"]
mod counting_allocator;

use std::net::{IpAddr, Ipv4Addr};

use built_by_hand::{claim, header, header_fields, host, is, path, policy, rule};
use counting_allocator::allocations_of;
use serde_json::json;
use tollgate_core::Cost;
use tollgate_policy::{
    Action, AnswerSettings, Claims, ClientAddressSettings, Condition, Consistency, CostPlan, CostSource,
    Facts, Group, HostPattern, KeySource, KillSwitch, MethodSet, Missing, Mode, OnStoreFailure, Order,
    PathEncoded, PathPattern, PathTest, Policy, Regex, Rule, RuleBook, Ruling, Scope, Source, Sources,
    StandingOrder, TableSettings, ValueTest, Who,
};

#[track_caller]
fn allocates_nothing(book: &RuleBook, facts: &Facts<'_>) -> (Ruling, usize) {
    let mut told = (Ruling::ByBuckets, 0);
    let ask = || {
        told.1 = 0;
        told.0 = book.rule_on(facts, 1_000, |_| told.1 += 1);
    };
    let calls = allocations_of(ask);
    assert_eq!(calls, 0, "{calls} calls of the allocator for {}", facts.target);
    told
}

/// A rule for each kind of key, condition and cost.
fn of_all_kinds() -> Policy {
    let keys = [
        KeySource::Address,
        KeySource::Prefix { v4: 24, v6: 64 },
        header("x-key"),
        KeySource::Query("key".into()),
        KeySource::Cookie("id".into()),
        claim("org.id"),
        KeySource::Path,
        KeySource::Method,
        KeySource::Host,
        KeySource::User,
        KeySource::Plan,
        KeySource::Fingerprint,
        KeySource::Constant("c".into()),
    ];
    let costs = [
        CostSource::Fixed,
        CostSource::PerMethod(vec![(MethodSet::of("GET"), Cost::ONE)]),
        CostSource::Header("x-cost".into()),
        CostSource::Query("cost".into()),
        CostSource::RequestBytes { per_token: 10 },
    ];
    let source = |at: usize| keys[at % keys.len()].clone();
    let mut rules: Vec<Rule> = (0..26)
        .map(|at| Rule {
            keys: vec![source(at), source(at + 3)],
            mode: if at % 2 == 0 { Mode::Enforce } else { Mode::Shadow },
            rollout_percent: if at % 3 == 0 { 50 } else { 100 },
            cost: CostPlan { source: costs[at % costs.len()].clone(), max: Cost::tokens(9), ..CostPlan::ONE },
            condition: Condition::Not(Box::new(is(source(at), &["nothing"]))),
            ..rule(&format!("rule {at}"))
        })
        .collect();
    let tier = |name: &str, condition| Rule { condition, group: Some(0), ..rule(name) };
    rules.push(tier("glob", path("/a/**/c*")));
    rules.push(tier("host", host("*.example.com")));
    rules.push(tier("template", path("/{x}/{y}")));
    rules.push(Rule { condition: path("/blocked/*"), action: Action::Block, ..rule("block") });
    rules.push(Rule { condition: path("/allowed"), action: Action::Allow, ..rule("allow") });
    rules.push(Rule {
        condition: path("/keyed"),
        keys: vec![header("no")],
        missing: Missing::Deny,
        ..rule("keyed")
    });
    let mut policy = policy(rules);
    let condition = path("/killed");
    policy.kill_switches.push(KillSwitch {
        name: "k".into(),
        condition,
        reason: "".into(),
        until_unix_s: None,
        trusts_upstream_claims: false,
        source: Source::File,
        line: 1,
    });
    policy
}

#[test]
fn a_ruling_allocates_nothing_whatever_the_request() {
    let book = RuleBook::new(of_all_kinds());
    let long = "k".repeat(3_000);
    let claims = json!({"org": {"id": 42}});
    let cookies = [("cookie", "id=1"), ("cookie", "b=2")];
    let one = header_fields(&[("x-key", &long), ("x-cost", "7"), ("cookie", "id=\"5\"; x=1"), ("host", "a")]);
    let other = header_fields(&[&cookies[..], &[("x-cost", "NaN")]].concat());
    for target in
        ["/", "/a/b/cd", "/A//b/%2e/C?key=a%20b&cost=2", "/keyed?key=1&key=2", "*", "http://h/x/y;z?key=+"]
    {
        for headers in [&one, &other] {
            let facts = Facts {
                host: "API.example.com:80",
                address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
                headers,
                user: Some("alice"),
                claims: Claims::Verified(&claims),
                body_bytes: Some(100),
                ..Facts::new("GET", target)
            };
            allocates_nothing(&book, &facts);
            allocates_nothing(&book, &Facts { user: None, address: None, claims: Claims::None, ..facts });
        }
    }
    let of = |target| allocates_nothing(&book, &Facts::new("GET", target));
    assert_eq!(of("/blocked/x"), (Ruling::Blocked { rule: 29 }, 0));
    assert_eq!(of("/allowed"), (Ruling::Allowed { rule: 30 }, 0));
    assert_eq!(of("/keyed"), (Ruling::KeyMissing { rule: 31 }, 0));
    assert_eq!(of("/killed"), (Ruling::Killed { switch: 0 }, 0));
    assert!(of("/a/b/c").1 > 20, "the rules were met");
}

#[test]
fn ten_thousand_rules_allocate_no_more_than_ten() {
    let rules =
        (0..10_000).map(|at| Rule { condition: path(&format!("/s{at}/*")), ..rule(&format!("rule {at}")) });
    let book = RuleBook::new(policy(rules.collect()));
    assert_eq!(allocates_nothing(&book, &Facts::new("GET", "/s77/x")), (Ruling::ByBuckets, 1));
    assert_eq!(allocates_nothing(&book, &Facts::new("GET", "/none")), (Ruling::ByBuckets, 0));
}

#[test]
fn ten_thousand_standing_orders_allocate_nothing() {
    let order = |at: u32| {
        let who = match at % 3 {
            0 => Who::User(format!("user {at}")),
            1 => Who::Address(Ipv4Addr::from_bits(0x0a00_0000 + at).into()),
            _ => Who::Key { rule: "r".to_owned(), key: format!("key {at}") },
        };
        let reason = "abuse".to_owned();
        StandingOrder {
            id: at.into(),
            order: Order::Block { who },
            reason,
            author: "ann".to_owned(),
            expires: None,
        }
    };
    let orders: Vec<StandingOrder> = (0..10_000).map(order).collect();
    let file = ("p.yaml", "{name: r, limit_keys: ['header:x-key'], rate: 1, burst: 1}");
    let sources = Sources { file: Some(file), orders: &orders, ..Sources::default() };
    let policy = Policy::compose(&sources).unwrap_or_else(|mistakes| panic!("{mistakes}")).policy;
    let by_name = |name: &str| policy.rules.iter().position(|rule| *rule.name == *name).unwrap_or_default();
    let book = RuleBook::new(policy.clone());
    let headers = header_fields(&[("x-key", "key 77")]);
    let nobody = Facts { address: Some([192, 0, 2, 1].into()), user: Some("ann"), ..Facts::new("GET", "/") };
    assert_eq!(allocates_nothing(&book, &nobody), (Ruling::ByBuckets, 1));
    for (facts, order) in [
        (Facts { user: Some("user 99"), ..nobody }, "order-99"),
        (Facts { address: Some([10, 0, 0, 100].into()), ..nobody }, "order-100"),
        (Facts { headers: &headers, ..nobody }, "order-77"),
    ] {
        assert_eq!(allocates_nothing(&book, &facts), (Ruling::Blocked { rule: by_name(order) }, 0));
    }
    let twice = header_fields(&[("x-key", "key 77"), ("x-key", "key 78")]);
    let facts = Facts { headers: &twice, ..nobody };
    assert_eq!(allocates_nothing(&book, &facts), (Ruling::Blocked { rule: by_name("order-77") }, 0));
}

#[test]
fn ambiguous_values_allocate_nothing() {
    let book = RuleBook::new(of_all_kinds());
    let long = "a".repeat(5_000);
    let headers = header_fields(&[
        ("x-key", "a"),
        ("x-key", "b"),
        ("cookie", "id=1; id=2"),
        ("cookie", "id=3"),
        ("x-cost", "1"),
        ("x-cost", "2"),
        ("x-long", &long),
    ]);
    let claims = json!({"org": {"id": ["a", 1, true]}});
    for target in ["/a%2fb%20?key=1;key=2&cost=%zz", "/x%5c..%5cy%00?KEY=%ff&key=%61", "/\\?key=1#key=2"] {
        let facts =
            Facts { headers: &headers, claims: Claims::Verified(&claims), ..Facts::new("head", target) };
        allocates_nothing(&book, &facts);
    }
}
