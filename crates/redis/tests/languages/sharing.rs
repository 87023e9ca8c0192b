//! One total for all: whoever asks in whichever language, buckets admit exactly what they hold.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate::ledger::Manner;
use tollgate::{Burst, Limit, Rate, StoreMode};

use crate::fleet::{ClusterFleet, RedisServer};
use crate::languages;
use crate::node::Node;
use crate::program::{Program, Tally};

/// Hardly anything comes back while a test runs.
const POLICY: &str = "{store: {deadline: 1s}, name: shop, rules: [
    {name: everyone, scope: global, rate: 1/d, burst: 500},
    {name: customer, scope: user, rate: 1/d, burst: 300}]}";
const DAY_SECONDS: u32 = 86_400;
/// How often each language asks.
const TIMES: u32 = 300;
/// More than two of them can take, and less than three.
const BURST: u32 = 700;

/// A bucket whose limit comes with the call.
fn explicit(key: &str, burst: u32) -> Value {
    json!({"key": key, "tokens": 1, "seconds": DAY_SECONDS, "burst": burst, "cost": 1})
}

/// What the policy charges for a request of this user.
fn by_policy(user: &str) -> [Value; 2] {
    [
        json!({"rule": ["shop", "everyone"], "cost": 1}),
        json!({"rule": ["shop", "customer", ["user", user]], "cost": 1}),
    ]
}

/// The programs, which have connected.
fn programs(server: &RedisServer) -> Vec<Program> {
    let start = |language| {
        let mut program = Program::start(language, &server.url());
        program.check(&[explicit("are you there", 10)]);
        program
    };
    languages().into_iter().map(start).collect()
}

/// What everybody is told, one after the other: the same wait, but for the time that has passed on the server since `begun`.
async fn assert_one_wait(server: &RedisServer, begun: u64, waits: &[u64]) {
    let elapsed = clock_of(server).await - begun;
    assert!(waits.is_sorted_by(|before, after| before >= after), "{waits:?}");
    let (first, last) = (waits[0], waits[waits.len() - 1]);
    assert!(first - last <= elapsed, "{waits:?} within {elapsed} µs");
}

/// Microseconds on the clock that decides.
async fn clock_of(server: &RedisServer) -> u64 {
    let time: Vec<u64> = server.ask("TIME").await.unwrap();
    time[0] * 1_000_000 + time[1]
}

fn micros(wait: Option<Duration>) -> u64 {
    u64::try_from(wait.expect("it is denied").as_micros()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_explicit_bucket_admits_one_total_to_three_languages_and_tells_them_one_wait() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let node = Node::start(&server.url(), POLICY).await;
    let limit = Limit::new(Rate::per_day(1), Burst::tokens(u64::from(BURST))).unwrap();
    let (mut programs, charges) = (programs(&server), [explicit("tenant:7", BURST)]);
    for program in &mut programs {
        program.begin(&charges, TIMES);
    }
    let mut admitted = 0;
    for _ in 0..TIMES {
        let answer = node.ask_explicitly("tenant:7", limit, Manner::Check).await;
        admitted += u64::from(answer.explicit_verdict().unwrap().is_admitted());
    }
    for program in &mut programs {
        let tally = program.tally();
        assert!(tally.admitted >= 100, "everybody has a part in it: {tally:?}");
        admitted += tally.admitted;
    }
    // Whoever was slow finds the rest.
    while node
        .ask_explicitly("tenant:7", limit, Manner::Check)
        .await
        .explicit_verdict()
        .unwrap()
        .is_admitted()
    {
        admitted += 1;
    }
    assert_eq!(admitted, u64::from(BURST));

    let (begun, mut waits) = (clock_of(&server).await, Vec::new());
    for _ in 0..2 {
        for program in &mut programs {
            let denied = program.check(&charges);
            assert_eq!(denied.admitted, 0);
            waits.push(u64::try_from(denied.wait).unwrap());
        }
        let peeked = node.ask_explicitly("tenant:7", limit, Manner::Peek).await.explicit_verdict().unwrap();
        waits.push(micros(peeked.verdict.retry_after()));
    }
    assert_one_wait(&server, begun, &waits).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rules_of_a_policy_admit_one_total_to_three_languages_and_charge_all_or_nothing() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let node = Node::start(&server.url(), POLICY).await;
    let mut programs = programs(&server);
    // One user of all, and one of each language alone.
    for (program, user) in programs.iter_mut().zip(["ann", "bob"]) {
        program.begin(&by_policy("42"), TIMES);
        program.begin(&by_policy(user), TIMES / 2);
    }
    let mut of_42 = 0;
    for _ in 0..TIMES {
        let decision = node.check("42").await;
        assert_eq!(decision.mode(), StoreMode::Exact);
        of_42 += u64::from(decision.is_admitted());
    }
    let mut alone = Vec::new();
    for program in &mut programs {
        of_42 += program.tally().admitted;
        alone.push(program.tally().admitted);
    }
    // Whoever was slow finds the rest, of the user and then of everyone.
    while node.check("42").await.is_admitted() {
        of_42 += 1;
    }
    let mut late = 0;
    while node.check("carl").await.is_admitted() {
        late += 1;
    }
    assert_eq!(of_42 + alone.iter().sum::<u64>() + late, 500, "{of_42} {alone:?} {late}");
    assert!(of_42 <= 300, "{of_42}");

    let (begun, mut waits) = (clock_of(&server).await, Vec::new());
    for (program, (user, had)) in programs.iter_mut().zip(["ann", "bob"].into_iter().zip(alone)) {
        let Tally { admitted, wait, remaining } = program.check(&by_policy(user));
        assert_eq!(admitted, 0);
        // What everyone's bucket denied was not taken from the user's.
        assert_eq!(remaining[1] / 1_000_000, 300 - i64::try_from(had).unwrap(), "{user}");
        assert_eq!(remaining[0] / 1_000_000, 0);
        waits.push(u64::try_from(wait).unwrap());
    }
    waits.push(micros(node.peek("dora").await.retry_after()));
    assert_one_wait(&server, begun, &waits).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_explicit_buckets_are_charged_all_or_none_from_both_languages_at_once() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let (mut programs, keys) = (programs(&server), ["left", "right"]);
    for (program, key) in programs.iter_mut().zip(keys) {
        program.begin(&[explicit(key, 80), explicit("both", 120)], 100);
    }
    let mut total = 0;
    let mut of_each = Vec::new();
    for (program, key) in programs.iter_mut().zip(keys) {
        let tally = program.tally();
        total += tally.admitted;
        of_each.push((key, tally.admitted));
    }
    for (program, (key, admitted)) in programs.iter_mut().zip(&of_each) {
        let denied = program.check(&[explicit(key, 80), explicit("both", 120)]);
        assert_eq!(denied.admitted, 0, "{of_each:?}");
        assert_eq!(denied.remaining[0] / 1_000_000, 80 - i64::try_from(*admitted).unwrap(), "{of_each:?}");
    }
    // Of two, the one that both take from is empty first; one alone empties its own.
    assert_eq!(total, if programs.len() == 2 { 120 } else { 80 * programs.len() as u64 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cost_above_the_burst_is_never_and_a_flushed_script_is_sent_again() {
    needs_redis!();
    let server = RedisServer::start("").await;
    for mut program in programs(&server) {
        server.tell("FLUSHALL").await;
        let mut charge = explicit("big", 5);
        charge["cost"] = json!(6);
        let never = program.check(&[charge.clone()]);
        assert_eq!((never.admitted, never.wait, &never.remaining[..]), (0, -1, &[5_000_000][..]));
        server.tell("SCRIPT FLUSH").await;
        charge["cost"] = json!(4.5);
        let admitted = program.check(&[charge]);
        assert_eq!((admitted.admitted, admitted.wait, &admitted.remaining[..]), (1, 0, &[500_000][..]));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_buckets_with_one_tag_are_charged_all_or_none() {
    needs_redis!();
    let fleet = ClusterFleet::start().await;
    let start = |language| Program::start_tagged(language, &fleet.nodes[0].url(), "acme");
    let mut programs: Vec<Program> = languages().into_iter().map(start).collect();
    let charges = [explicit("one", 150), explicit("other", 200)];
    for program in &mut programs {
        program.begin(&charges, 100);
    }
    let admitted: u64 = programs.iter_mut().map(|program| program.tally().admitted).sum();
    assert_eq!(admitted, 150.min(100 * programs.len() as u64));
    for program in &mut programs {
        let seen = program.check(&[explicit("other", 200)]);
        assert_eq!(seen.admitted, 1);
    }
}
