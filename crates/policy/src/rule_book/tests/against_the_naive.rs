//! Thousands of generated policies and requests: the rule book, the naive walk and the explanation agree.

use std::net::Ipv4Addr;

use fastrand::Rng;
use ipnet::IpNet;
use serde_json::json;
use tollgate_core::Cost;

use super::naive;
use crate::built_by_hand::{claim, header, header_fields, host, is, path, policy, rule};
use crate::{
    Action, Claims, Client, Condition, CostPlan, CostSource, Facts, Headers, KeyShape, KeySource, KillSwitch,
    MethodSet, Missing, Mode, Outcome, PathEncoded, PathPattern, PathTest, Policy, Regex, Rule, RuleBook,
    Ruling, Source, ValueTest,
};

const PATHS: [&str; 14] = [
    "/", "/*", "/a", "/a/b", "/a/*", "/a/b/*", "/{x}", "/{x}/b", "/a/{x}", "/{x}/{y}", "/a/**/c", "/*/b",
    "/**", "/a/b*",
];
const TARGETS: [&str; 39] = [
    "/",
    "/a",
    "/A/",
    "/a/b",
    "//a//b",
    "/a/b/c",
    "/a/B/",
    "/b",
    "/b/b?x=1",
    "*",
    "/a/%62?x=2&y=3",
    "/a/x/../b;q",
    "/c/d/e",
    "http://h.x/a/b",
    "",
    "/a/bc?x=1&x=2",
    "/a%2fb",
    "/a%5Cb?x=1;x=bob",
    "/c%2f..%2fa/b%20?x=%ff",
    "/a/b%00c?X=1",
    "/a/..%2fb?x=bob;",
    "/a\\b%20%20/;p?x=1#&x=2",
    "/A%2F%20?x=",
    "http://h.x/a%2fb?x=%zz",
    "/a;%2fb",
    "/c;%2f..%2fa/b",
    "/a%2fb%5c..%5c..",
    "/a%2fc%5cd%2f..%2fb",
    "/a\\c%2fd\\..\\b",
    "/c%00%2f..%2fa%2fb",
    "/a%2f.%2f..%20/b;x%00",
    "/a;\\x%00/b",
    "/a/b%0a",
    "/a%c2%a0/b%a0;q?%20x=bob",
    "//c/a/b?x=1&x[]=bob",
    "/\\c/a%2fb%0a?x[0]=1",
    "///c\\a\\..\\b",
    "//c?x%00y=bob",
    "http://h.x//a/b?x=1&%a0X+=2",
];
const HOSTS: [&str; 6] = ["", "x", "h.x", "H.X:80", "g.h.x", "y"];
const HOST_PATTERNS: [&str; 5] = ["x", "h.x", "*.x", "*.h.x", "y"];
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "BREW", "post", "HEAD"];

fn pick<T: Clone>(random: &mut Rng, from: &[T]) -> T {
    from[random.usize(..from.len())].clone()
}

fn source(random: &mut Rng) -> KeySource {
    match random.u8(..12) {
        0 => KeySource::Address,
        1 => KeySource::Prefix { v4: 24, v6: 64 },
        2 => header("k"),
        3 => KeySource::Query("x".into()),
        4 => KeySource::Cookie("c".into()),
        5 => claim("sub"),
        6 => KeySource::Path,
        7 => KeySource::Method,
        8 => KeySource::Host,
        9 => KeySource::User,
        10 => header("x-k"),
        _ => KeySource::Plan,
    }
}

fn strict_path(random: &mut Rng) -> Condition {
    let text = pick(random, &["/a", "/A", "/a/", "/a/B", "/"]);
    let pattern =
        if random.bool() { PathPattern::Exact(text.into()) } else { PathPattern::Prefix(text.into()) };
    Condition::Path(PathTest { pattern, is_case_sensitive: true, keeps_trailing_slash: true })
}

fn condition(random: &mut Rng, depth: u8) -> Condition {
    let several = |random: &mut Rng| (0..random.u8(..4)).map(|_| condition(random, depth - 1)).collect();
    match random.u8(if depth == 0 { 3..10 } else { 0..10 }) {
        0 => Condition::All(several(random)),
        1 => Condition::Any(several(random)),
        2 => Condition::Not(Box::new(condition(random, depth - 1))),
        3 => Condition::Always,
        4 | 5 => path(pick(random, &PATHS)),
        6 => strict_path(random),
        7 => Condition::Method(
            MethodSet::of(pick(random, &METHODS)).with(MethodSet::of(pick(random, &METHODS))),
        ),
        8 => host(pick(random, &HOST_PATTERNS)),
        _ => match random.u8(..6) {
            0 => Condition::Value(source(random), ValueTest::Present),
            1 => Condition::Value(source(random), ValueTest::Matches(Regex::new("[1b]").unwrap())),
            2 => is(KeySource::Host, &["x", "h.x"]),
            3 => is(KeySource::Method, &[pick(random, &METHODS)]),
            4 => Condition::Client(client(random)),
            _ => is(source(random), &["1", "bob", "pro", "10.0.0.1"]),
        },
    }
}

fn random_rule(random: &mut Rng, position: usize) -> Rule {
    let action = match random.u8(..20) {
        0 => Action::Allow,
        1 => Action::Block,
        _ => rule("").action,
    };
    let cost = match random.u8(..4) {
        0 => CostSource::Header("k".into()),
        1 => CostSource::Query("x".into()),
        2 => CostSource::RequestBytes { per_token: 10 },
        _ => CostSource::Fixed,
    };
    Rule {
        keys: (0..random.u8(..3)).map(|_| source(random)).collect(),
        missing: pick(random, &[Missing::Anonymous, Missing::Anonymous, Missing::Skip, Missing::Deny]),
        condition: condition(random, 2),
        action,
        cost: CostPlan { source: cost, max: Cost::tokens(9), ..CostPlan::ONE },
        mode: pick(random, &[Mode::Enforce, Mode::Enforce, Mode::Enforce, Mode::Shadow, Mode::Off]),
        rollout_percent: pick(random, &[100, 100, 100, 50, 0]),
        trusts_upstream_claims: random.bool(),
        group: random.bool().then(|| random.usize(..3)),
        ..rule(&format!("rule {position}"))
    }
}

/// A standing order about some client.
fn order(random: &mut Rng, action: Action) -> Rule {
    let condition = Condition::Client(client(random));
    Rule { condition, action, source: Source::Order(1), ..rule("order") }
}

fn client(random: &mut Rng) -> Client {
    match random.u8(..4) {
        0 => Client::User("bob".into()),
        1 => Client::Within(IpNet::new(Ipv4Addr::new(10, 0, 0, random.u8(..3)).into(), 32).unwrap()),
        2 => Client::Within(IpNet::new(Ipv4Addr::new(10, 0, 0, 0).into(), 31).unwrap()),
        _ => {
            // A claim is typed as text, not as a number.
            let (source, typed) = match random.u8(..5) {
                0 => (header("k"), "1"),
                1 => (header("k"), "bob"),
                2 => (header("k"), "anonymous"),
                3 => (claim("sub"), "bob"),
                _ => (claim("sub"), "anonymous"),
            };
            let keys = vec![source];
            let key = Rule { keys: keys.clone(), ..rule("k") }.key_of(typed);
            Client::Key {
                shape: KeyShape { keys, trusts_upstream_claims: false }.into(),
                key: key.unwrap().into(),
            }
        }
    }
}

fn random_policy(random: &mut Rng) -> Policy {
    let count = pick(random, &[1, 3, 8, 20, 80]);
    let mut rules: Vec<Rule> = (0..count).map(|position| random_rule(random, position)).collect();
    if random.u8(..4) == 0 {
        // Nothing but buckets, so that there may be too many.
        for limit in &mut rules {
            (limit.action, limit.missing, limit.group) = (rule("").action, Missing::Anonymous, None);
        }
    }
    if random.u8(..8) == 0 {
        // For every request and no matter what.
        for limit in &mut rules {
            *limit = Rule { keys: limit.keys.clone(), cost: limit.cost.clone(), ..rule(&limit.name) };
        }
    }
    if random.u8(..3) == 0 {
        // Orders that block, then orders that allow, before all rules.
        let actions = [Action::Block, Action::Block, Action::Allow, Action::Allow];
        let mut orders = Vec::new();
        for action in actions {
            if random.u8(..4) == 0 {
                orders.push(order(random, action));
            }
        }
        orders.append(&mut rules);
        rules = orders;
    }
    let mut policy = policy(rules);
    policy.mode = pick(random, &[Mode::Enforce, Mode::Enforce, Mode::Enforce, Mode::Shadow, Mode::Off]);
    if random.u8(..8) == 0 {
        policy.path_encoded = PathEncoded::Refuse;
    }
    if random.u8(..8) == 0 {
        let until_unix_s = random.bool().then(|| random.u64(..20));
        let condition = condition(random, 1);
        policy.kill_switches.push(KillSwitch {
            name: "k".into(),
            condition,
            reason: "why".into(),
            until_unix_s,
            trusts_upstream_claims: false,
            source: Source::File,
            line: 1,
        });
    }
    policy
}

/// Header fields of any bytes.
#[derive(Default)]
pub(super) struct RawHeaders<'h>(pub(super) Vec<(&'static str, &'h [u8])>);

impl Headers for RawHeaders<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        let only = lines.next().filter(|_| lines.next().is_none())?;
        std::str::from_utf8(only.1).ok()
    }

    fn each_name(&self, visit: &mut dyn FnMut(&str)) {
        self.0.iter().for_each(|(field, _)| visit(field));
    }

    fn each_value(&self, name: &str, visit: &mut dyn FnMut(&str)) {
        self.each_line(name, &mut |line| std::str::from_utf8(line).into_iter().for_each(&mut *visit));
    }

    fn each_line(&self, name: &str, visit: &mut dyn FnMut(&[u8])) {
        let lines = self.0.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        lines.for_each(|(_, line)| visit(line));
    }
}

/// Asks `check` with random facts.
fn with_facts(random: &mut Rng, check: impl FnOnce(&Facts<'_>)) {
    let long = [b"bob".as_slice(), &[b'x'; 2_000]].concat();
    let longer = b"1".repeat(5_000);
    let mut headers = RawHeaders::default();
    for (name, value) in [
        ("K", &b"1"[..]),
        ("k", b"bob"),
        ("cookie", b"c=1; d=2"),
        ("Cookie", b"c=bob"),
        ("cookie", b"c=1; d=\xff"),
        ("cookie", b"c=\xff"),
        ("cookie", b"c=\"bob\""),
        ("cookie", b"d=1; c=\"b\\157%62\""),
        ("cookie", b"c=%31"),
        ("cookie", b"c=%62ob%"),
        ("cookie", b"c=bob%ff"),
        ("cookie", b"d=1, c=bob"),
        ("cookie", b"c=bob d=1"),
        ("cookie", b"c\xa0=bob"),
        ("cookie", b"c=1\xc2\xa0"),
        ("cookie", b"d=1\xa0c=bob"),
        ("cookie", b"d=1; C=bob"),
        ("cookie", b"c[]=1"),
        ("k", b"bob\xff"),
        ("k", b"bob\xa0"),
        ("x-k", b"bob"),
        ("X-K", b"\xc2\xa01"),
        ("X_K", b"bob"),
        ("k", b""),
        ("k", &long),
        ("k", &longer),
        ("authorization", b"Bearer a.b.c"),
        ("authorization", b"\xff"),
        ("authorization", b"\xff"),
    ] {
        if random.u8(..6) == 0 {
            headers.0.push((name, value));
        }
    }
    let claims = match random.u8(..4) {
        0 => json!({"sub": ["bob", "1"]}),
        1 => json!({"sub": ["alice", {"x": 1}]}),
        _ => json!({"sub": pick(random, &["bob", "1", "alice", ""])}),
    };
    check(&Facts {
        method: pick(random, &METHODS),
        target: pick(random, &TARGETS),
        host: pick(random, &HOSTS),
        address: random.bool().then(|| Ipv4Addr::new(10, 0, 0, random.u8(..3)).into()),
        headers: &headers,
        user: pick(random, &[None, Some("bob"), Some("")]),
        plan: pick(random, &[None, Some("pro")]),
        claims: pick(random, &[Claims::None, Claims::Verified(&claims), Claims::Unverified(&claims)]),
        route: pick(random, &[None, None, Some("/a/{id}")]),
        version: "HTTP/1.1",
        body_bytes: pick(random, &[None, Some(0), Some(25)]),
        cost: pick(random, &[None, Some(Cost::tokens(3))]),
    });
}

#[test]
fn the_rule_book_rules_as_the_naive_walk_does() {
    let (mut seen, mut plain) = ([0_usize; 7], 0);
    for seed in 0..1_200 {
        let mut random = Rng::with_seed(seed);
        let book = RuleBook::new(random_policy(&mut random));
        plain += usize::from(book.is_plain);
        for _ in 0..8 {
            let unix_s = random.u64(..20);
            with_facts(&mut random, |facts| {
                let mut hits = Vec::new();
                let ruling = book.rule_on(facts, unix_s, |hit| {
                    hits.push((hit.rule, hit.key.to_vec(), hit.cost.as_micros(), hit.is_enforced));
                });
                let (expected, expected_hits) = naive::rule_on(book.policy(), facts, unix_s);
                let target = facts.target;
                assert_eq!((ruling, &hits), (expected, &expected_hits), "seed {seed}, {target}");
                seen[number_of(ruling)] += 1;
            });
        }
    }
    assert!(seen.iter().all(|times| *times > 10), "every ruling occurs: {seen:?}");
    assert!(plain > 20, "policies that leave nothing to consider occur: {plain}");
}

fn number_of(ruling: Ruling) -> usize {
    match ruling {
        Ruling::ByBuckets => 0,
        Ruling::Allowed { .. } => 1,
        Ruling::Blocked { .. } => 2,
        Ruling::KeyMissing { .. } => 3,
        Ruling::Killed { .. } => 4,
        Ruling::TooManyRules => 5,
        Ruling::PathRefused => 6,
    }
}

#[test]
fn an_explanation_never_tells_another_story() {
    for seed in 0..500 {
        let mut random = Rng::with_seed(seed);
        let book = RuleBook::new(random_policy(&mut random));
        for _ in 0..6 {
            let unix_s = random.u64(..20);
            with_facts(&mut random, |facts| agrees(&book, facts, unix_s));
        }
    }
}

/// F6: whatever stands in the request.
#[test]
fn garbage_is_ruled_on_like_anything_else() {
    let pieces = [
        "%",
        "%2e",
        "%ff",
        "/",
        ";",
        "=",
        "&",
        "?",
        "x",
        "c",
        "\"",
        ":",
        "@",
        "[",
        ".",
        "\0",
        "\u{e9}",
        "\u{1f600}",
        "+",
    ];
    for seed in 0..1_000 {
        let mut random = Rng::with_seed(seed);
        let scrawl = |random: &mut Rng| {
            (0..random.usize(..14)).map(|_| pick(random, &pieces)).collect::<Vec<_>>().concat()
        };
        let [target, name, field, cookie, user] = std::array::from_fn(|_| scrawl(&mut random));
        let headers = header_fields(&[("k", &field), ("cookie", &cookie), ("cookie", &field), (&name, "1")]);
        let mut every_source = rule("every source");
        every_source.keys = (0..12).map(|_| source(&mut random)).collect();
        let book = RuleBook::new(policy(vec![every_source, random_rule(&mut random, 1)]));
        let facts = Facts { host: &name, headers: &headers, user: Some(&user), ..Facts::new(&name, &target) };
        agrees(&book, &facts, 0);
    }
}

fn agrees(book: &RuleBook, facts: &Facts<'_>, unix_s: u64) {
    let explanation = book.explain(facts, unix_s);
    let mut hits = Vec::new();
    let ruling = book.rule_on(facts, unix_s, |hit| {
        let cost = (hit.cost, hit.cost_was_unusable);
        hits.push((hit.rule, hit.key.to_vec(), cost, hit.is_enforced));
    });
    assert_eq!(explanation.ruling, ruling);
    let told: Vec<_> = explanation
        .rules
        .iter()
        .filter(|told| told.outcome == Outcome::Charges)
        .map(|told| {
            let cost = told.cost.as_ref().unwrap();
            (told.rule, told.key.clone(), (cost.cost, cost.was_unusable), told.is_enforced)
        })
        .collect();
    assert_eq!(told, hits);
    let only = |outcome: Outcome| {
        let mut told = explanation.rules.iter().filter(move |told| told.outcome == outcome);
        let first = told.next().map(|told| told.rule);
        assert!(told.next().is_none());
        first
    };
    let expect = |wanted: Option<usize>, outcome| assert_eq!(only(outcome), wanted);
    expect(if let Ruling::Blocked { rule } = ruling { Some(rule) } else { None }, Outcome::Blocks);
    expect(if let Ruling::Allowed { rule } = ruling { Some(rule) } else { None }, Outcome::Allows);
    expect(
        if let Ruling::KeyMissing { rule } = ruling { Some(rule) } else { None },
        Outcome::RefusesWithoutKey,
    );
    let killed = explanation.kill_switches.iter().find(|told| told.applies).map(|told| told.switch);
    assert_eq!(killed, if let Ruling::Killed { switch } = ruling { Some(switch) } else { None });
    assert!(explanation.rules.iter().all(|told| !told.reason.is_empty()), "{:?}", explanation.rules);
}
