//! Open-loop traffic: 2,000 checks a second leave at their times, whatever became of those before them.
//!
//! Two instances ask by turns, each check under one of three rules that differ in what they do while the store does not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tollgate::policy::{Facts, Policy};
use tollgate::{Asking, Burst, Limit, Limiter, PolicyLimiter, Rate, StoreMode};
use tollgate_core::{Moment, Span};
use tollgate_redis::{LedgerOptions, RedisLedger, StoreUrl};

use crate::monotonic;

/// Between two checks: 2,000 a second.
const BETWEEN: Span = Span::from_micros(500);
const INSTANCES: usize = 2;
/// Clients of each rule. Each asks 83 times a second.
const CLIENTS: usize = 8;
/// What each of them may.
const RATE: u64 = 50;
const BURST: u64 = 50;
/// How long a check waits for the store: the default.
pub(crate) const DEADLINE: Span = Span::from_millis(15);

/// What a rule does while the store does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFailure {
    Open,
    Local,
    Closed,
}

pub(crate) const EVERY_RULE: [OnFailure; 3] = [OnFailure::Open, OnFailure::Local, OnFailure::Closed];

impl OnFailure {
    fn path(self) -> &'static str {
        match self {
            OnFailure::Open => "/open",
            OnFailure::Local => "/local",
            OnFailure::Closed => "/closed",
        }
    }
}

/// One check, from when it was meant to leave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) rule: OnFailure,
    pub(crate) client: usize,
    pub(crate) intended: Moment,
    pub(crate) called: Moment,
    pub(crate) answered: Moment,
    pub(crate) is_admitted: bool,
    /// Whether it was told that the store does not answer.
    pub(crate) is_refused: bool,
    /// Whether the store decided.
    pub(crate) is_exact: bool,
}

impl Seen {
    /// From when it was meant to leave until it was answered.
    pub(crate) fn latency(&self) -> Span {
        self.answered.since(self.intended)
    }
}

/// Traffic under way, on threads of its own.
pub(crate) struct Traffic {
    stop: Arc<AtomicBool>,
    asking: JoinHandle<Vec<Seen>>,
}

/// The limit of every client.
pub(crate) fn limit() -> Limit {
    Limit::new(Rate::per_second(RATE), Burst::tokens(BURST)).unwrap()
}

fn policy() -> Policy {
    let rules = ["open", "local", "closed"].map(|name| {
        format!(
            "{{name: {name}, scope: ip, path: /{name}, rate: {RATE}/s, burst: {BURST}, on_store_failure: {name}}}"
        )
    });
    let text = format!("{{store: {{instances_max: {INSTANCES}}}, rules: [{}]}}", rules.join(", "));
    Policy::parse("faults.yaml", &text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

impl Traffic {
    /// Begins as soon as both instances have agreed on their limits.
    pub(crate) fn begin(url: &str) -> Traffic {
        let url: StoreUrl = url.parse().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let asking = std::thread::spawn(move || {
            let runtime = Runtime::new().unwrap();
            runtime.block_on(async {
                let mut instances = Vec::new();
                for _ in 0..INSTANCES {
                    instances.push(Arc::new(open(&url).await));
                }
                ready.send(()).unwrap();
                ask(&instances, &told).await
            })
        });
        is_ready.recv().expect("instances agree on their limits");
        Traffic { stop, asking }
    }

    /// Ends it: all that was seen.
    pub(crate) fn end(self) -> Vec<Seen> {
        self.stop.store(true, Ordering::Relaxed);
        self.asking.join().unwrap()
    }
}

/// An instance that has agreed on all limits.
async fn open(url: &StoreUrl) -> PolicyLimiter {
    let ledger = RedisLedger::open(url, &LedgerOptions::default()).unwrap();
    let limiter = Limiter::builder().build_with_ledger(policy(), Arc::new(ledger)).unwrap();
    let agreed = async {
        for rule in EVERY_RULE {
            for client in 0..CLIENTS {
                while limiter.policy().decide(&facts(rule, client), Asking::Peek).await.mode()
                    != StoreMode::Exact
                {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), agreed).await.expect("limits are agreed upon");
    limiter
}

async fn ask(instances: &[Arc<PolicyLimiter>], stop: &AtomicBool) -> Vec<Seen> {
    let begin = monotonic::now();
    let (mut asking, mut number, mut seen) = (JoinSet::new(), 0_usize, Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let now = monotonic::now();
        loop {
            let intended = begin + Span::from_nanos(BETWEEN.as_nanos() * number as u64);
            if intended > now {
                break;
            }
            let instance = Arc::clone(&instances[number % INSTANCES]);
            let rule = EVERY_RULE[number / INSTANCES % 3];
            let client = number / (INSTANCES * 3) % CLIENTS;
            asking.spawn(async move { one(&instance, rule, client, intended).await });
            number += 1;
        }
        while let Some(done) = asking.try_join_next() {
            seen.push(done.unwrap());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    while let Some(done) = asking.join_next().await {
        seen.push(done.unwrap());
    }
    seen
}

async fn one(instance: &PolicyLimiter, rule: OnFailure, client: usize, intended: Moment) -> Seen {
    let called = monotonic::now();
    let decision = instance.policy().decide(&facts(rule, client), Asking::Check).await;
    Seen {
        rule,
        client,
        intended,
        called,
        answered: monotonic::now(),
        is_admitted: decision.is_admitted(),
        is_refused: decision.refused().is_some(),
        is_exact: decision.mode() == StoreMode::Exact && decision.refused().is_none(),
    }
}

fn facts(rule: OnFailure, client: usize) -> Facts<'static> {
    let client = u8::try_from(client).unwrap();
    Facts { address: Some([192, 0, 2, client].into()), ..Facts::new("GET", rule.path()) }
}
