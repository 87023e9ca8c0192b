//! The case `delayed`: two instances, each behind a relay that holds back all replies for 20 to 100 ms at random moments, 5 % of the time.
//!
//! Ten times as many checks are offered as a bucket refills (five times for leases). Each run begins with full buckets on a server of its own, lasts a
//! minute, and is judged by every interval of a second and more: admitted ÷ (burst + rate·d), and by how much of what could be admitted
//! was.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tollgate::policy::{Facts, Policy};
use tollgate::{Asking, Burst, Limit, Limiter, Moment, PolicyLimiter, Rate, Span, StoreMode};
use tollgate_redis::{LedgerCounts, LedgerOptions, RedisLedger, StoreUrl};
use tollgate_sim::checker::worst_ratio;
use tollgate_sim::history::Event;

use super::cases::{Asked, Figures, Outcome, Row, rounds_of};
use super::delaying_relay;
use super::store::Store;
use crate::core_suite::results::Spread;
use crate::options::Options;
use crate::problem::Problem;
use crate::stopwatch::instant;

const INSTANCES: u32 = 2;
const RUN: Duration = Duration::from_mins(1);
const QUICK_RUN: Duration = Duration::from_secs(5);
/// Until both instances have agreed on the limit and know of each other.
const START_MAX: Duration = Duration::from_secs(20);
const TICK: Duration = Duration::from_millis(1);
/// The shortest interval that is judged.
const SHORTEST: Span = Span::from_secs(1);

/// The limit of a subject, and the checks per second that are offered.
struct Subject {
    name: &'static str,
    rule: &'static str,
    keys: u32,
    rate: u32,
    burst: u32,
    /// Checks per second and key, of all instances.
    offered: u32,
    worst: &'static str,
    used: &'static str,
}

const SUBJECTS: [Subject; 2] = [
    Subject {
        name: "exact",
        rule: "{name: key, scope: user, rate: 100/s, burst: 100}",
        keys: 10,
        rate: 100,
        burst: 100,
        offered: 1_000,
        worst: "exact: worst admitted ÷ (burst + rate·d)",
        used: "exact: admitted ÷ (burst + rate·run)",
    },
    Subject {
        name: "leased",
        rule: "{name: key, scope: user, rate: 1000/s, burst: 1000, consistency: leased}",
        keys: 2,
        rate: 1_000,
        burst: 1_000,
        offered: 5_000,
        worst: "leased: worst admitted ÷ (burst + rate·d)",
        used: "leased: admitted ÷ (burst + rate·run)",
    },
];

/// The figures of one run.
struct Run {
    worst: f64,
    used: f64,
    admitted_per_s: f64,
}

/// One instance: a limiter by a policy, and the ledger beneath it.
struct Instance {
    limiter: PolicyLimiter,
    ledger: RedisLedger,
}

/// The admitted checks of an instance, and its counters.
struct Seen {
    events: Vec<Event>,
    counts: LedgerCounts,
}

/// Runs both subjects.
pub(crate) fn execute(options: &Options) -> Result<Outcome, Problem> {
    let length = if options.quick { QUICK_RUN } else { RUN };
    let mut outcome = Outcome { rows: Vec::new(), asked: Vec::new() };
    for subject in &SUBJECTS {
        let mut runs = Vec::new();
        for number in 0..rounds_of(options) {
            runs.push(run(subject, length, number as u64)?);
        }
        let all = |figure: fn(&Run) -> f64| runs.iter().map(figure).collect::<Vec<f64>>();
        let admitted = Spread::of(all(|run| run.admitted_per_s));
        outcome.rows.push(Row { subject: subject.name, figures: Figures::Admitted(admitted) });
        outcome.asked.push(Asked {
            is_ceiling: true,
            is_of_each: true,
            ..Asked::at_least(subject.worst, all(|run| run.worst), 1.02, 1.0)
        });
        outcome.asked.push(Asked {
            is_of_each: true,
            aim: None,
            ..Asked::at_least(subject.used, all(|run| run.used), 0.95, 0.0)
        });
    }
    Ok(outcome)
}

/// One run on a server of its own.
fn run(subject: &'static Subject, length: Duration, number: u64) -> Result<Run, Problem> {
    let store = Store::start()?;
    let begun = instant();
    let relays = start_relays(store.address(), number)?;
    let (ready, is_ready) = mpsc::channel();
    let mut starts = Vec::new();
    let instances: Vec<JoinHandle<Result<Seen, Problem>>> = (0..INSTANCES)
        .zip(relays)
        .map(|(at, relay)| {
            let (start, is_started) = mpsc::channel();
            starts.push(start);
            let ready = ready.clone();
            std::thread::spawn(move || {
                let runtime =
                    Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
                let instance = Arc::new(begin(&runtime, relay, subject)?);
                ready.send(()).map_err(|error| failed(&error))?;
                // When all are ready; each in a phase of its own.
                is_started.recv().map_err(|error| failed(&error))?;
                Ok(runtime.block_on(offer(&instance, subject, begun, at, length)))
            })
        })
        .collect();
    drop(ready);
    for _ in 0..INSTANCES {
        // An instance that fails says why below.
        if is_ready.recv_timeout(2 * START_MAX).is_err() {
            break;
        }
    }
    for start in &starts {
        _ = start.send(());
    }
    let mut events = Vec::new();
    let (mut fallbacks, mut late) = (0, 0);
    for instance in instances {
        let seen = instance.join().map_err(|_| Problem::failed("an instance has panicked"))??;
        events.extend(seen.events);
        fallbacks += seen.counts.fallbacks;
        late += seen.counts.late;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    let admitted = events.len() as f64;
    let limit = Limit::new(Rate::per_second(subject.rate.into()), Burst::tokens(subject.burst.into()))
        .map_err(|error| failed(&error))?;
    let seconds = length.as_secs_f64();
    let most = f64::from(subject.keys) * (f64::from(subject.burst) + f64::from(subject.rate) * seconds);
    let run = Run {
        worst: worst_ratio(events, limit, SHORTEST),
        used: admitted / most,
        admitted_per_s: admitted / seconds,
    };
    eprintln!(
        "  {} run {}: worst {:.4}, used {:.4}, {fallbacks} fallbacks, {late} late replies",
        subject.name,
        number + 1,
        run.worst,
        run.used
    );
    Ok(run)
}

/// A relay for each instance, on a thread of their own until the process ends: their delays do not depend on how busy the instances are.
fn start_relays(store: SocketAddr, number: u64) -> Result<Vec<SocketAddr>, Problem> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
    let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
    for _ in 0..INSTANCES {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).map_err(|error| failed(&error))?;
        addresses.push(listener.local_addr().map_err(|error| failed(&error))?);
        listeners.push(listener);
    }
    std::thread::spawn(move || {
        runtime.block_on(async {
            let mut relays = JoinSet::new();
            for (at, listener) in listeners.into_iter().enumerate() {
                relays.spawn(delaying_relay::run(listener, store, 1_000 * number + at as u64));
            }
            relays.join_all().await;
        });
    });
    Ok(addresses)
}

/// An instance that has agreed on its limit, and knows how many there are.
fn begin(runtime: &Runtime, relay: SocketAddr, subject: &Subject) -> Result<Instance, Problem> {
    let guard = runtime.enter();
    let url: StoreUrl = format!("redis://{relay}").parse().map_err(|error| failed(&error))?;
    let ledger = RedisLedger::open(&url, &LedgerOptions::default()).map_err(|error| failed(&error))?;
    let policy = format!("{{rules: [{}]}}", subject.rule);
    let policy = Policy::parse("bench.yaml", &policy).map_err(|mistakes| failed(&mistakes))?;
    let limiter = Limiter::builder().build_with_ledger(policy, Arc::new(ledger.clone()));
    let instance = Instance { limiter: limiter.map_err(|error| failed(&error))?, ledger };
    drop(guard);
    runtime.block_on(async {
        let begun = instant();
        loop {
            let peek = instance.limiter.policy().decide(&facts("nobody"), Asking::Peek).await;
            if peek.mode() != StoreMode::Fallback && instance.ledger.counts().instances_most == INSTANCES {
                return Ok(instance);
            }
            if instant() - begun > START_MAX {
                return Err(Problem::failed("redis does not answer; its log is in target/bench-servers"));
            }
            tokio::time::sleep(5 * TICK).await;
        }
    })
}

/// Offers this instance's part of the checks at their times, whatever became of those before.
async fn offer(
    instance: &Arc<Instance>,
    subject: &Subject,
    origin: Instant,
    at: u32,
    length: Duration,
) -> Seen {
    let users: Arc<[String]> = (0..subject.keys).map(|key| format!("user:{key}")).collect();
    let per_second = subject.offered * subject.keys / INSTANCES;
    let between = Duration::from_secs(1) / per_second;
    let begun = instant() + between * at / INSTANCES;
    let (mut asking, mut number, mut events) = (JoinSet::new(), 0_u32, Vec::new());
    loop {
        let now = instant();
        while begun + between * number <= now && between * number < length {
            let (instance, users, key) = (Arc::clone(instance), Arc::clone(&users), number % subject.keys);
            asking.spawn(async move { ask(&instance, &users, key, origin).await });
            number += 1;
        }
        while let Some(Ok(event)) = asking.try_join_next() {
            events.extend(event);
        }
        if between * number >= length {
            break;
        }
        tokio::time::sleep(TICK).await;
    }
    while let Some(Ok(event)) = asking.join_next().await {
        events.extend(event);
    }
    Seen { events, counts: instance.ledger.counts() }
}

/// One check; `None` if it was denied.
async fn ask(instance: &Instance, users: &[String], key: u32, origin: Instant) -> Option<Event> {
    let user = users.get(key as usize)?;
    let called = since(origin);
    let decision = instance.limiter.policy().decide(&facts(user), Asking::Check).await;
    let answered = since(origin);
    let admitted = decision.is_admitted();
    admitted.then_some(Event { key: key.into(), called, answered, cost: 1_000_000, admitted })
}

fn facts(user: &str) -> Facts<'_> {
    Facts { user: Some(user), ..Facts::new("GET", "/") }
}

fn since(origin: Instant) -> Moment {
    Moment::from_nanos(u64::try_from((instant() - origin).as_nanos()).unwrap_or(u64::MAX))
}

fn failed(error: &dyn std::fmt::Display) -> Problem {
    Problem::failed(error.to_string())
}
