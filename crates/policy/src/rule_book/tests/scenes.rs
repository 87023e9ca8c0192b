//! What the contract says in words, as requests and the rules that they meet.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};
use tollgate_core::{CHARGES_MAX, Cost};

use crate::built_by_hand::{claim, header, header_fields, is, path, policy, rule};
use crate::{
    Action, Claims, Condition, CostPlan, CostSource, Facts, Hit, KeySource, KillSwitch, MethodSet, Missing,
    Mode, PathEncoded, Policy, Rule, RuleBook, Ruling, Source, ValueTest,
};

/// A hit, to keep.
#[derive(Debug, Clone, PartialEq)]
struct Kept {
    rule: Box<str>,
    key: Vec<u8>,
    is_enforced: bool,
}

fn rule_on(book: &RuleBook, facts: &Facts<'_>) -> (Ruling, Vec<Kept>) {
    let mut hits = Vec::new();
    let ruling = book.rule_on(facts, 1_000, |hit: Hit<'_>| {
        let rule = book.policy().rules[hit.rule].name.clone();
        hits.push(Kept { rule, key: hit.key.to_vec(), is_enforced: hit.is_enforced });
    });
    assert!(
        ruling == Ruling::ByBuckets || hits.is_empty(),
        "who is refused or let through touches no bucket"
    );
    (ruling, hits)
}

fn names(policy: Policy, facts: &Facts<'_>) -> Vec<String> {
    let (ruling, hits) = rule_on(&RuleBook::new(policy), facts);
    assert_eq!(ruling, Ruling::ByBuckets);
    hits.iter().map(|hit| format!("{}{}", hit.rule, if hit.is_enforced { "" } else { "?" })).collect()
}

fn get(target: &str) -> Facts<'_> {
    Facts::new("GET", target)
}

#[test]
fn what_is_foreseen_of_an_address_is_the_key_that_the_request_has() {
    let (v4, v6) = (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), IpAddr::V6(Ipv6Addr::LOCALHOST));
    let network = |v4| KeySource::Prefix { v4, v6: 64 };
    for (keys, address, is_foreseen) in [
        (vec![KeySource::Address], v4, true),
        (vec![network(32)], v4, true),
        (vec![network(24)], v4, false),
        (vec![KeySource::Address], v6, false),
        (vec![KeySource::Address, header("x-api-key")], v4, false),
    ] {
        let book = RuleBook::new(policy(vec![Rule { keys, ..rule("first") }]));
        let mut foreseen = None;
        book.foresee(Some(address), |rule, key| foreseen = Some((rule, key.to_vec())));
        assert_eq!(foreseen.is_some(), is_foreseen);
        let (_, hits) = rule_on(&book, &Facts { address: Some(address), ..get("/") });
        assert!(foreseen.is_none_or(|(rule, key)| rule == 0 && key == hits[0].key));
    }
}

/// P2: enterprise before free, per API key.
#[test]
fn an_enterprise_key_meets_the_enterprise_tier_and_a_free_key_the_free_one() {
    let tier = |name: &str, condition| Rule {
        keys: vec![header("x-api-key")],
        group: Some(0),
        condition,
        ..rule(name)
    };
    let tiers = || {
        policy(vec![tier("enterprise", is(claim("plan"), &["enterprise"])), tier("free", Condition::Always)])
    };
    let headers = header_fields(&[("X-API-Key", "k1")]);
    let with = |claims| Facts { headers: &headers, claims, ..get("/") };
    let (enterprise, pro) = (json!({"plan": "enterprise"}), json!({"plan": "pro"}));
    assert_eq!(names(tiers(), &with(Claims::Verified(&enterprise))), ["enterprise"]);
    assert_eq!(names(tiers(), &with(Claims::Verified(&pro))), ["free"]);
    assert_eq!(names(tiers(), &with(Claims::None)), ["free"]);
    assert_eq!(
        names(tiers(), &with(Claims::Unverified(&enterprise))),
        ["free"],
        "a forged plan buys nothing"
    );
}

fn example_set() -> Policy {
    let plan = |name: &str, plan: &str| Rule {
        keys: vec![KeySource::User],
        group: Some(0),
        condition: is(KeySource::Plan, &[plan]),
        ..rule(name)
    };
    policy(vec![
        plan("user pro", "pro"),
        plan("user free", "free"),
        Rule { condition: path("/api/search"), keys: vec![KeySource::Path], ..rule("endpoint") },
        Rule { keys: vec![KeySource::Address], condition: path("/api/*"), ..rule("ip") },
        rule("global"),
    ])
}

/// P5.
#[test]
fn a_free_user_on_search_touches_user_endpoint_ip_and_global() {
    let address = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let free = Facts { user: Some("alice"), plan: Some("free"), address, ..get("/api/search?q=x") };
    assert_eq!(names(example_set(), &free), ["user free", "endpoint", "ip", "global"]);
    assert_eq!(
        names(example_set(), &Facts { plan: Some("pro"), ..free }),
        ["user pro", "endpoint", "ip", "global"]
    );
    assert_eq!(names(example_set(), &Facts { target: "/home", ..free }), ["user free", "global"]);
    assert_eq!(names(example_set(), &Facts { plan: None, ..free }), ["endpoint", "ip", "global"]);
}

/// X2.
#[test]
fn ten_thousand_addresses_of_one_prefix_meet_one_bucket() {
    let keys = vec![KeySource::Prefix { v4: 16, v6: 64 }];
    let book = RuleBook::new(policy(vec![Rule { keys, ..rule("prefix") }]));
    let key_of =
        |address: IpAddr| rule_on(&book, &Facts { address: Some(address), ..get("/") }).1.remove(0).key;
    let v4: HashSet<_> =
        (0..10_000_u32).map(|host| key_of(Ipv4Addr::from(0x0A01_0000 + host).into())).collect();
    let v6: HashSet<_> = (0..10_000_u128)
        .map(|host| key_of(Ipv6Addr::from((0x2001_0db8 << 96) + (host << 40)).into()))
        .collect();
    assert_eq!((v4.len(), v6.len()), (1, 1));
    assert_ne!(key_of(Ipv4Addr::new(10, 2, 0, 0).into()), key_of(Ipv4Addr::new(10, 1, 0, 0).into()));
}

/// X2.
#[test]
fn ten_thousand_requests_of_one_make_of_client_meet_one_bucket() {
    let book = RuleBook::new(policy(vec![Rule { keys: vec![KeySource::Fingerprint], ..rule("make") }]));
    let mut keys = HashSet::new();
    for client in 0..10_000_u32 {
        let agent = format!("bot/{client}");
        let mut fields =
            [("User-Agent", agent.as_str()), ("Accept", "*/*"), ("Host", "a"), ("Cookie", &agent)];
        fastrand::Rng::with_seed(u64::from(client)).shuffle(&mut fields);
        let headers = header_fields(&fields);
        let address = Some(Ipv4Addr::from(client).into());
        keys.insert(rule_on(&book, &Facts { headers: &headers, address, ..get("/") }).1.remove(0).key);
    }
    assert_eq!(keys.len(), 1);
}

/// K5.
#[test]
fn dropping_the_api_key_is_no_way_out() {
    let with = |missing| {
        let keyed = Rule { keys: vec![header("x-api-key")], missing, ..rule("keyed") };
        RuleBook::new(policy(vec![keyed, rule("global")]))
    };
    let (ruling, hits) = rule_on(&with(Missing::Anonymous), &get("/"));
    assert_eq!((ruling, hits.len()), (Ruling::ByBuckets, 2));
    let address = Some(Ipv4Addr::LOCALHOST.into());
    let (_, others) = rule_on(&with(Missing::Anonymous), &Facts { address, ..get("/other") });
    assert_eq!(hits[0].key, others[0].key, "all who lack it share one bucket");
    let (ruling, hits) = rule_on(&with(Missing::Skip), &get("/"));
    assert_eq!((ruling, hits.len()), (Ruling::ByBuckets, 1));
    assert_eq!(rule_on(&with(Missing::Deny), &get("/")).0, Ruling::KeyMissing { rule: 0 });
}

#[test]
fn a_tier_that_skips_leaves_the_request_to_the_next() {
    let tier = |name: &str, keys| Rule { keys, missing: Missing::Skip, group: Some(0), ..rule(name) };
    let tiers = || policy(vec![tier("by key", vec![header("x-api-key")]), tier("for all", vec![])]);
    assert_eq!(names(tiers(), &get("/")), ["for all"]);
}

#[test]
fn a_kill_switch_beats_block_beats_allow_beats_limits() {
    let acting = |name: &str, prefix: &str, action| Rule { condition: path(prefix), action, ..rule(name) };
    let mut rules = policy(vec![
        rule("limit"),
        acting("allow", "/a/*", Action::Allow),
        acting("block", "/a/b/*", Action::Block),
        Rule { keys: vec![header("x")], missing: Missing::Deny, ..rule("needs a key") },
    ]);
    rules.kill_switches.push(KillSwitch {
        name: "incident".into(),
        condition: path("/a/b/c"),
        reason: "we are repairing it".into(),
        until_unix_s: Some(1_001),
        trusts_upstream_claims: false,
        source: Source::File,
        line: 1,
    });
    let book = RuleBook::new(rules);
    assert_eq!(rule_on(&book, &get("/")).0, Ruling::KeyMissing { rule: 3 });
    assert_eq!(rule_on(&book, &get("/a")).0, Ruling::Allowed { rule: 1 });
    assert_eq!(rule_on(&book, &get("/a/b")).0, Ruling::Blocked { rule: 2 });
    assert_eq!(rule_on(&book, &get("/a/b/c")).0, Ruling::Killed { switch: 0 });
    assert_eq!(book.rule_on(&get("/a/b/c"), 1_001, |_| {}), Ruling::Blocked { rule: 2 }, "it has expired");
}

#[test]
fn the_policys_mode_bounds_the_rules_modes() {
    let with =
        |of_policy, of_rule| Policy { mode: of_policy, ..policy(vec![Rule { mode: of_rule, ..rule("r") }]) };
    assert_eq!(names(with(Mode::Enforce, Mode::Enforce), &get("/")), ["r"]);
    assert_eq!(names(with(Mode::Enforce, Mode::Shadow), &get("/")), ["r?"]);
    assert_eq!(names(with(Mode::Shadow, Mode::Enforce), &get("/")), ["r?"]);
    assert_eq!(names(with(Mode::Enforce, Mode::Off), &get("/")), [""; 0]);
    assert_eq!(names(with(Mode::Off, Mode::Enforce), &get("/")), [""; 0]);
    assert_eq!(names(with(Mode::Shadow, Mode::Off), &get("/")), [""; 0]);
}

#[test]
fn a_policy_that_only_watches_refuses_nobody() {
    let mut watching = policy(vec![
        Rule { action: Action::Block, ..rule("block") },
        Rule { keys: vec![header("x")], missing: Missing::Deny, ..rule("needs a key") },
        rule("limit"),
    ]);
    let condition = Condition::Always;
    watching.kill_switches.push(KillSwitch {
        name: "k".into(),
        condition,
        reason: "".into(),
        until_unix_s: None,
        trusts_upstream_claims: false,
        source: Source::File,
        line: 1,
    });
    watching.mode = Mode::Shadow;
    assert_eq!(names(watching, &get("/")), ["limit?"]);
}

/// Defect 17: results that only watch must not keep out rules that enforce.
#[test]
fn a_tier_that_only_watches_displaces_no_tier_that_enforces() {
    let tier = |name: &str, mode| Rule { mode, group: Some(0), ..rule(name) };
    let tiers = vec![
        tier("new", Mode::Shadow),
        tier("newer", Mode::Shadow),
        tier("old", Mode::Enforce),
        tier("older", Mode::Enforce),
        tier("oldest", Mode::Shadow),
    ];
    assert_eq!(names(policy(tiers), &get("/")), ["new?", "old"]);
}

#[test]
fn a_roll_out_of_ten_percent_comes_to_a_tenth_of_the_keys_and_grows_without_letting_go() {
    let enforced_at = |percent: u8| -> HashSet<u32> {
        let new = Rule { keys: vec![KeySource::Address], rollout_percent: percent, ..rule("new") };
        let book = RuleBook::new(policy(vec![new]));
        let is_enforced = |client: &u32| {
            let facts = Facts { address: Some(Ipv4Addr::from(*client).into()), ..get("/") };
            rule_on(&book, &facts).1[0].is_enforced
        };
        (0..10_000).filter(is_enforced).collect()
    };
    let (tenth, fifth) = (enforced_at(10), enforced_at(20));
    assert!((900..1_100).contains(&tenth.len()), "{}", tenth.len());
    assert!(tenth.is_subset(&fifth) && (1_850..2_150).contains(&fifth.len()), "{}", fifth.len());
    assert_eq!((enforced_at(0).len(), enforced_at(100).len()), (0, 10_000));
    // The same on every node and in every version.
    let mut first: Vec<u32> = tenth.into_iter().collect();
    first.sort_unstable();
    assert_eq!(first[..3], [3, 11, 17]);
}

#[test]
fn more_rules_than_can_be_charged_at_once_are_refused_not_forgotten() {
    let many =
        |count: usize, mode| (0..count).map(move |at| Rule { mode, ..rule(&format!("{mode:?} {at}")) });
    let most: Vec<Rule> = many(CHARGES_MAX, Mode::Enforce).chain(many(100, Mode::Shadow)).collect();
    let (ruling, hits) = rule_on(&RuleBook::new(policy(most)), &get("/"));
    assert_eq!(ruling, Ruling::ByBuckets);
    assert_eq!(hits.iter().filter(|hit| hit.is_enforced).count(), CHARGES_MAX);
    assert_eq!(hits.len(), CHARGES_MAX + 16, "of those that watch, the first 16 are told");
    let more: Vec<Rule> = many(100, Mode::Shadow).chain(many(CHARGES_MAX + 1, Mode::Enforce)).collect();
    assert_eq!(rule_on(&RuleBook::new(policy(more)), &get("/")).0, Ruling::TooManyRules);
}

#[test]
fn an_unusable_cost_is_told() {
    let cost =
        CostPlan { source: CostSource::Header("x-cost".into()), max: Cost::tokens(50), ..CostPlan::ONE };
    let book = RuleBook::new(policy(vec![Rule { cost, ..rule("r") }]));
    for (text, expected) in [("7", (Cost::tokens(7), false)), ("NaN", (Cost::ONE, true))] {
        let headers = header_fields(&[("x-cost", text)]);
        let mut told = Vec::new();
        let facts = Facts { headers: &headers, ..get("/") };
        book.rule_on(&facts, 0, |hit| told.push((hit.cost, hit.cost_was_unusable)));
        assert_eq!(told, [expected], "{text}");
    }
}

/// 20 rules that could match, among so many others.
fn crowded(others: usize) -> RuleBook {
    let mut rules: Vec<Rule> = (0..others)
        .map(|at| {
            let place = match at % 4 {
                0 => path(&format!("/service-{at}/items")),
                1 => path(&format!("/service-{at}/*")),
                2 => path(&format!("/{{tenant}}/kind-{at}/{{id}}")),
                _ => Condition::All(vec![
                    crate::built_by_hand::host(&format!("h{at}.example.com")),
                    path("/api/*"),
                ]),
            };
            Rule { condition: place, mode: Mode::Shadow, ..rule(&format!("other {at}")) }
        })
        .collect();
    rules.push(Rule { condition: path("/api/search"), ..rule("endpoint") });
    rules.push(Rule { condition: Condition::Method(MethodSet::of("POST")), ..rule("writes") });
    rules.push(rule("global"));
    RuleBook::new(policy(rules))
}

#[test]
fn the_work_grows_with_the_rules_that_could_match_and_not_with_all() {
    let facts = Facts { host: "api.example.com", ..get("/api/search") };
    for others in [10, 10_000] {
        let book = crowded(others);
        assert_eq!(book.candidates(&facts), 2, "{others} other rules");
        assert_eq!(rule_on(&book, &facts).1.len(), 2);
        assert_eq!(book.candidates(&get("/service-4/items")), 2);
        assert_eq!(book.candidates(&Facts { host: "h7.example.com", ..facts }), 3);
        assert_eq!(book.candidates(&Facts::new("POST", "/acme/kind-6/1")), 3);
    }
}

#[test]
fn no_request_however_odd_stops_the_rule_book() {
    let book = crowded(100);
    let claims = Value::Null;
    for target in
        ["", "*", "?", "#", "%", "/%", "http://", "://", "\0", "\u{10ffff}", "////", "/..;/..;", "a:b"]
    {
        for name in ["", ":", ".", "...", "[", "[]", "\u{e9}", "a..b"] {
            let facts = Facts { host: name, claims: Claims::Verified(&claims), ..Facts::new("", target) };
            assert_eq!(rule_on(&book, &facts).0, Ruling::ByBuckets);
            assert_eq!(book.explain(&facts, 0).ruling, Ruling::ByBuckets);
        }
    }
}

/// H4, M1: an ambiguous value is no key, no way past a rule that restricts, and no way into one that favors.
#[test]
fn ambiguous_values_choose_nothing() {
    let headers = header_fields(&[("k", "pro"), ("k", "free")]);
    let twice = Facts { headers: &headers, ..get("/") };
    let on_pro = |name: &str| Rule { condition: is(header("k"), &["pro"]), ..rule(name) };
    let grouped = |one: Rule| Rule { group: Some(0), ..one };
    let tiers = vec![grouped(on_pro("pro")), grouped(rule("rest"))];
    assert_eq!(names(policy(tiers.clone()), &twice), ["rest"]);
    let once = header_fields(&[("k", "pro")]);
    assert_eq!(names(policy(tiers), &Facts { headers: &once, ..get("/") }), ["pro"]);
    assert_eq!(names(policy(vec![on_pro("limit")]), &twice), ["limit"]);
    let allow = Rule { action: Action::Allow, ..on_pro("allow") };
    assert_eq!(names(policy(vec![allow]), &twice), Vec::<String>::new());
    let block = RuleBook::new(policy(vec![Rule { action: Action::Block, ..on_pro("block") }]));
    assert_eq!(rule_on(&block, &twice).0, Ruling::Blocked { rule: 0 });

    let keyed = |missing| Rule { keys: vec![header("k")], missing, ..rule("keyed") };
    let skipping = RuleBook::new(policy(vec![keyed(Missing::Skip)]));
    assert_eq!(rule_on(&skipping, &twice).1[0].key, [0], "it counts as anonymous");
    assert_eq!(rule_on(&skipping, &get("/")).1, [], "it is missing, and skipped");
    let denying = RuleBook::new(policy(vec![keyed(Missing::Deny)]));
    assert_eq!(rule_on(&denying, &twice).0, Ruling::KeyMissing { rule: 0 });
    let better = vec![grouped(keyed(Missing::Skip)), grouped(rule("rest"))];
    assert_eq!(names(policy(better), &twice), ["keyed", "rest"], "the better tier is not chosen instead");
    let elsewhere = Rule { condition: path("/admin"), ..rule("admin") };
    let ends = vec![grouped(keyed(Missing::Skip)), grouped(elsewhere)];
    assert_eq!(names(policy(ends), &twice), ["keyed"], "a later tier that does not match leaves no gap");
    let taken = vec![grouped(rule("first")), grouped(keyed(Missing::Skip))];
    assert_eq!(names(policy(taken), &twice), ["first"], "an earlier tier ends the group");
}

/// Two `Authorization` lines: the service may read the token that the gate does not.
#[test]
fn claims_of_an_ambiguous_token_are_ambiguous() {
    let keyed = Rule { keys: vec![claim("sub")], missing: Missing::Skip, ..rule("by-claim") };
    let twice = header_fields(&[("authorization", "Bearer a"), ("Authorization", "Bearer b")]);
    let facts = Facts { headers: &twice, ..get("/") };
    assert_eq!(names(policy(vec![keyed.clone()]), &facts), ["by-claim"]);
    assert_eq!(names(policy(vec![keyed]), &get("/")), Vec::<String>::new());
}

/// M2.
#[test]
fn both_forms_of_a_path_count() {
    let at = |name: &str, pattern: &str| Rule { condition: path(pattern), ..rule(name) };
    let limits = || policy(vec![at("login", "/api/login"), at("files", "/files/*")]);
    for target in [
        "/api%2flogin",
        "/api%5Clogin",
        "/api\\login",
        "/api/login%20",
        "/api/login%2f",
        "/api/login%00",
        "/x%2f../api/login",
    ] {
        assert_eq!(names(limits(), &get(target)), ["login"], "{target}");
    }
    assert_eq!(names(limits(), &get("/files/..%2fapi%2flogin")), ["login", "files"], "one form each");
    assert_eq!(names(limits(), &get("/api%252flogin")), Vec::<String>::new(), "nothing is decoded twice");

    let allow = |pattern: &str| {
        let book = RuleBook::new(policy(vec![Rule { action: Action::Allow, ..at("allow", pattern) }]));
        move |target: &str| rule_on(&book, &get(target)).0
    };
    assert_eq!(allow("/free/*")("/free/a"), Ruling::Allowed { rule: 0 });
    assert_eq!(allow("/free/*")("/free/a%2fb"), Ruling::Allowed { rule: 0 }, "both forms are below it");
    assert_eq!(allow("/free/*")("/free/..%2fadmin"), Ruling::ByBuckets);
    assert_eq!(allow("/free/*")("/x%2f../free/a"), Ruling::ByBuckets, "as sent it is not below it");

    // Each form has its tier, so no spelling leads into a better one.
    let grouped = |one: Rule| Rule { group: Some(0), ..one };
    let tiers = || {
        policy(vec![
            grouped(at("static", "/static/*")),
            grouped(at("login", "/login")),
            grouped(rule("rest")),
        ])
    };
    assert_eq!(names(tiers(), &get("/static/..%2flogin")), ["static", "login"]);
    assert_eq!(names(tiers(), &get("/static/..%2fapi")), ["static", "rest"]);
    assert_eq!(names(tiers(), &get("/static/a%2fb")), ["static"]);
}

/// M2: encoding a path gives no second bucket.
#[test]
fn a_key_takes_the_decoded_path() {
    let book = RuleBook::new(policy(vec![Rule { keys: vec![KeySource::Path], ..rule("by-path") }]));
    let key = |target: &str| rule_on(&book, &get(target)).1[0].key.clone();
    for target in ["/a%2fb", "/a%5cb", "/a\\b/", "/a/b%20", "/a/b%00x", "/A%2F%2E/b", "/a;x%2fy/b"] {
        assert_eq!(key(target), key("/a/b"), "{target}");
    }
    assert_ne!(key("/a%252fb"), key("/a/b"));
    let typed = book.policy().rules[0].key_of("/a%2fb").unwrap();
    assert_eq!(*typed, *key("/a/b"), "an operator may type either form");
}

#[test]
fn a_policy_may_refuse_encoded_paths() {
    let blocked = Rule { condition: path("/bad"), action: Action::Block, ..rule("bad") };
    let refusing = |mode| Policy {
        path_encoded: PathEncoded::Refuse,
        mode,
        ..policy(vec![blocked.clone(), rule("all")])
    };
    let book = RuleBook::new(refusing(Mode::Enforce));
    for target in ["/a%2fb", "/a%5cb", "/a\\b", "/a%20", "/a%20/b", "/a%00", "/bad%2f"] {
        assert_eq!(rule_on(&book, &get(target)).0, Ruling::PathRefused, "{target}");
    }
    for target in ["/a/b", "/a%20b", "/a%252fb", "/a?x=%2f", "/a#%2f", "*", "http://h%2f.x/a"] {
        assert_eq!(rule_on(&book, &get(target)).0, Ruling::ByBuckets, "{target}");
    }
    assert_eq!(rule_on(&RuleBook::new(refusing(Mode::Shadow)), &get("/a%2fb")).0, Ruling::ByBuckets);
}

/// L4.
#[test]
fn a_method_is_the_same_in_every_case() {
    let posts = Rule {
        condition: Condition::Method(MethodSet::of("POST")),
        keys: vec![KeySource::Method],
        ..rule("posts")
    };
    let book = RuleBook::new(policy(vec![posts]));
    let key = |method: &'static str| rule_on(&book, &Facts::new(method, "/")).1[0].key.clone();
    assert_eq!((key("post"), key("Post")), (key("POST"), key("POST")));
}

/// H7: what a regex or a glob cannot read whole matches where a rule restricts, and only there.
#[test]
fn patterns_read_a_bounded_part_of_a_value() {
    let long = "x".repeat(1_025);
    let headers = header_fields(&[("k", &long)]);
    let target = format!("/files/{}", "a/".repeat(600));
    let facts = Facts { headers: &headers, ..get(&target) };
    let regex = Condition::Value(header("k"), ValueTest::Matches(crate::Regex::new("^y$").unwrap()));
    for (condition, expected) in
        [(regex, true), (path("/files/**/x.png"), true), (path("/other/**/x.png"), false)]
    {
        let on =
            |action| RuleBook::new(policy(vec![Rule { condition: condition.clone(), action, ..rule("r") }]));
        let blocks = rule_on(&on(Action::Block), &facts).0 == Ruling::Blocked { rule: 0 };
        assert_eq!(blocks, expected, "{condition:?}");
        assert_eq!(rule_on(&on(Action::Allow), &facts).0, Ruling::ByBuckets, "{condition:?}");
    }
}
