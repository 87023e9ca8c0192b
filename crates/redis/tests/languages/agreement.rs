//! Names of keys and words of limits, as every language makes them.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate::Asking;
use tollgate::policy::Facts;
use tollgate_core::{Burst, Cost, Limit, Rate};
use tollgate_redis::{
    Batch, Charge, Declaration, DeclareStep, Declared, KeySpace, LimitHistory, Link, LinkOptions,
    RuleIdentity,
};

use crate::fleet::{ClusterFleet, RedisServer};
use crate::languages;
use crate::node::Node;
use crate::program::Program;

const WITHIN: Duration = Duration::from_secs(5);

async fn declare(link: &Link, rule: &RuleIdentity, per_second: u64, burst: u64) -> LimitHistory {
    // A rate of so many every three seconds: fractions of micro-tokens are left over at every change.
    let rate = Rate::new(per_second, tollgate_core::Span::from_secs(3));
    let limit = Limit::new(rate, Burst::tokens(burst)).unwrap();
    let mut declaration =
        Declaration::new(&KeySpace::default(), rule, Declared { algorithm: limit.into(), slowest: None });
    let mut call = declaration.begin();
    loop {
        let reply = link.call(call, WITHIN).await.unwrap();
        match declaration.next(&reply).unwrap() {
            DeclareStep::Send(next) => call = next,
            DeclareStep::Agreed(history) => return history,
            DeclareStep::Absent => panic!("it was declared"),
        }
    }
}

/// The words of a limit, as the library sends them.
fn sent(rule: &RuleIdentity, history: &LimitHistory) -> Vec<String> {
    let mut batch = Batch::new();
    let key = KeySpace::default().bucket(rule, "k").unwrap();
    batch.check(&[Charge::new(key, &history.limit().unwrap(), Cost::ONE)]).unwrap();
    let arguments = batch.call().arguments;
    let words = arguments.iter().map(|word| String::from_utf8(word.clone()).unwrap());
    let words: Vec<String> = words.skip(4).collect();
    let length = if words[0] == "j" { 2 } else { 8 };
    words[..length].to_vec()
}

/// JSON is the same however it is spelt.
fn meant(words: &[String]) -> Vec<Value> {
    words.iter().map(|word| serde_json::from_str(word).unwrap_or_else(|_| json!(word))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rules_record_means_the_same_limit_to_every_language_whatever_it_has_been_through() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let link = Link::open(&server.url().parse().unwrap(), &LinkOptions::default()).unwrap();
    let mut programs: Vec<Program> =
        languages().into_iter().map(|language| Program::start(language, &server.url())).collect();
    let histories: [&[(u64, u64)]; 6] = [
        &[(10, 50)],
        &[(10, 50), (20, 50)],
        &[(20, 50), (10, 80)],
        &[(10, 50), (7, 20), (1_000_000, 900_000)],
        &[(9, 9), (8, 8), (7, 7), (6, 6), (5, 5)],
        &[(9, 9), (100, 8), (7, 7), (6, 60), (11, 5), (4, 4), (30, 3)],
    ];
    for (number, limits) in histories.into_iter().enumerate() {
        let rule = RuleIdentity::new("Läden", &format!("rule {number}"));
        let mut history = None;
        for (rate, burst) in limits {
            history = Some(declare(&link, &rule, *rate, *burst).await);
        }
        let words = sent(&rule, &history.unwrap());
        assert_eq!(words[0], if limits.len() == 1 { "b" } else { "j" });
        for program in &mut programs {
            let (_, theirs) = program.words(&json!({"rule": [rule.policy(), rule.name()]}));
            assert_eq!(meant(&theirs), meant(&words), "{limits:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explicit_buckets_have_one_name_and_one_limit_in_every_language() {
    needs_redis!();
    let (server, cluster) = (RedisServer::start("").await, ClusterFleet::start().await);
    let (x64, x65, x512) = ("x".repeat(64), "x".repeat(65), "x".repeat(512));
    for language in languages() {
        let mut plain = Program::start(language, &server.url());
        let mut tagged = Program::start_tagged(language, &cluster.nodes[0].url(), "acme");
        let keys = KeySpace::default();
        for key in ["user:42", "naïve ☂", "a b\n", "with{brace", "}", &x64, &x65, &x512] {
            let charge = json!({"key": key, "tokens": 20, "seconds": 30, "burst": 7});
            let (name, words) = plain.words(&charge);
            assert_eq!(name, keys.explicit(key).unwrap().as_bytes(), "{key}");
            assert_eq!(words, ["e", "2", "3", "7000000"]);
            let in_slot = keys.tagged("acme").unwrap().explicit(key).unwrap();
            assert_eq!(tagged.words(&charge).0, in_slot.as_bytes(), "{key}");
        }
    }
}

/// A rule for every source that other languages name, and what a request has to show for it.
const POLICY: &str = "{store: {deadline: 1s}, name: keys, rules: [
    {name: all, scope: global, rate: 1/d, burst: 100},
    {name: ip, scope: ip, rate: 1/d, burst: 100},
    {name: user, scope: user, rate: 1/d, burst: 100},
    {name: header, limit_keys: ['header:x-key'], rate: 1/d, burst: 100},
    {name: query, limit_keys: ['query:q'], rate: 1/d, burst: 100},
    {name: cookie, limit_keys: ['cookie:c'], rate: 1/d, burst: 100},
    {name: several, limit_keys: [user, method, host, plan, 'constant:x'], rate: 1/d, burst: 100}]}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_buckets_of_a_policys_rules_have_one_name_in_every_language() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let node = Node::start(&server.url(), POLICY).await;
    let mut programs: Vec<Program> =
        languages().into_iter().map(|language| Program::start(language, &server.url())).collect();
    let long = "u".repeat(600);
    // 123 is the code of a brace.
    for (address, user, method, header) in [
        ("192.0.2.7", "42", "GET", "k 1"),
        ("123.4.5.6", "with{brace", "POST", "k"),
        ("2001:db8:7:8:9::1", "Zoë", "GET", "k"),
        ("::ffff:192.0.2.8", &long, "PATCH", "k"),
        ("fe80::", "u", "MADE-UP", ""),
    ] {
        server.tell("FLUSHALL").await;
        let address: IpAddr = address.parse().unwrap();
        let headers = [("x-key", header), ("cookie", "a=b; c=d")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let facts = Facts {
            address: Some(address),
            user: Some(user),
            plan: Some("pro"),
            host: "shop.example",
            headers: &headers,
            ..Facts::new(method, "/a?q=é")
        };
        assert!(node.ask_of(&facts, Asking::Check).await.is_admitted());
        let mut there: Vec<Vec<u8>> = server.ask("KEYS tg:*").await.unwrap();
        there.retain(|name| name.last() != Some(&b'='));
        there.sort();
        // The records went with everything else, and the next node declares them anew.
        let _other = Node::start(&server.url(), POLICY).await;
        let address = address.to_string();
        for program in &mut programs {
            let mut theirs: Vec<Vec<u8>> = [
                json!(["keys", "all"]),
                json!(["keys", "ip", ["ip", address]]),
                json!(["keys", "user", ["user", user]]),
                json!(["keys", "header", ["header", header]]),
                json!(["keys", "query", ["query", "é"]]),
                json!(["keys", "cookie", ["cookie", "d"]]),
                json!([
                    "keys",
                    "several",
                    ["user", user],
                    ["method", method],
                    ["host", "shop.example"],
                    ["plan", "pro"],
                    ["constant", "x"]
                ]),
            ]
            .into_iter()
            .map(|rule| program.words(&json!({"rule": rule})).0)
            .collect();
            theirs.sort();
            assert_eq!(theirs, there, "{address} {user}");
        }
    }
}
