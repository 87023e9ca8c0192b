//! Fifty callers on one core, each waiting for its answer before it asks again, through the same doorway as a user's program:
//! [`PolicyLimiter`] over [`RedisLedger`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tollgate::policy::Policy;
use tollgate::{Asking, Limiter, PolicyLimiter, StoreMode};
use tollgate_redis::{LedgerCounts, LedgerOptions, RedisLedger, StoreUrl};

use super::store::Store;
use super::traffic::Traffic;
use crate::problem::Problem;
use crate::processor_time;
use crate::splitmix::SplitMix;
use crate::stopwatch::instant;

const CALLERS: u64 = 50;
/// Until the limits are agreed upon.
const START_MAX: Duration = Duration::from_secs(10);

/// Callers, their limiter, and the runtime they live on.
pub(crate) struct Callers {
    runtime: Runtime,
    limiter: Arc<PolicyLimiter>,
    ledger: RedisLedger,
    traffic: Traffic,
    rounds: u64,
}

/// What one round brought.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Round {
    pub(crate) admitted: u64,
    pub(crate) denied: u64,
    pub(crate) seconds: f64,
    /// Calls of the script.
    pub(crate) trips: u64,
    /// Checks that were sent in them.
    pub(crate) sent: u64,
    /// Seconds of work of the callers' process, and of Redis.
    pub(crate) callers_s: f64,
    pub(crate) redis_s: f64,
}

impl Round {
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    pub(crate) fn checks(&self) -> f64 {
        (self.admitted + self.denied) as f64
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.checks() / self.seconds
    }

    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    pub(crate) fn round_trips_per_check(&self) -> f64 {
        self.trips as f64 / self.checks()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    pub(crate) fn sent_per_check(&self) -> f64 {
        self.sent as f64 / self.checks()
    }
}

impl Callers {
    /// Connects, and waits until the limits of the policy are agreed upon.
    pub(crate) fn start(
        store: &Store,
        policy: &str,
        options: &LedgerOptions,
        traffic: Traffic,
    ) -> Result<Callers, Problem> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Problem::failed(format!("no runtime: {error}")))?;
        let guard = runtime.enter();
        let url: StoreUrl = store.url().parse().map_err(|error| failed(&error))?;
        let ledger = RedisLedger::open(&url, options).map_err(|error| failed(&error))?;
        let policy = Policy::parse("bench.yaml", policy).map_err(|mistakes| failed(&mistakes))?;
        let limiter = Limiter::builder().build_with_ledger(policy, Arc::new(ledger.clone()));
        let limiter = Arc::new(limiter.map_err(|error| failed(&error))?);
        drop(guard);
        let callers = Callers { runtime, limiter, ledger, traffic, rounds: 0 };
        callers.wait_until_agreed()?;
        Ok(callers)
    }

    fn wait_until_agreed(&self) -> Result<(), Problem> {
        let began = instant();
        let (mut user, mut path) = (String::new(), String::new());
        let client = Traffic::Spread(1).next(&mut SplitMix::new(0));
        let client = client.ok_or_else(|| Problem::failed("nobody asks"))?;
        let facts = client.facts(&mut user, &mut path);
        self.runtime.block_on(async {
            while self.limiter.policy().decide(&facts, Asking::Peek).await.mode() == StoreMode::Fallback {
                if instant() - began > START_MAX {
                    return Err(Problem::failed("redis does not answer; its log is in target/bench-servers"));
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Ok(())
        })
    }

    /// All callers at work for so long, or until nobody is left who asks.
    pub(crate) fn run(&mut self, store: &mut Store, length: Duration) -> Result<Round, Problem> {
        self.rounds += 1;
        let (before, worked, used) = (self.ledger.counts(), store.worked_s()?, processor_time::so_far());
        let began = instant();
        let is_over = Arc::new(AtomicBool::new(false));
        // One looks at the clock for all: what is measured are checks.
        let bell = self.runtime.spawn({
            let is_over = Arc::clone(&is_over);
            async move {
                tokio::time::sleep(length).await;
                is_over.store(true, Ordering::Relaxed);
            }
        });
        let tasks: Vec<_> = (0..CALLERS)
            .map(|number| {
                let (limiter, traffic) = (Arc::clone(&self.limiter), self.traffic.clone());
                let random = SplitMix::new(self.rounds * CALLERS + number);
                self.runtime.spawn(call(limiter, traffic, random, Arc::clone(&is_over)))
            })
            .collect();
        let mut round = Round::default();
        self.runtime.block_on(async {
            for task in tasks {
                let (admitted, denied) = task.await.map_err(|error| failed(&error))?;
                round.admitted += admitted;
                round.denied += denied;
            }
            Ok::<(), Problem>(())
        })?;
        bell.abort();
        round.seconds = (instant() - began).as_secs_f64();
        round.callers_s = processor_time::so_far().saturating_sub(used).as_secs_f64();
        round.redis_s = store.worked_s()? - worked;
        let after = self.ledger.counts();
        round.trips = after.link.round_trips - before.link.round_trips;
        round.sent = after.coalescer.operations - before.coalescer.operations;
        prove(&before, &after)?;
        Ok(round)
    }
}

/// One caller, until it is time. How many were admitted, and denied.
async fn call(
    limiter: Arc<PolicyLimiter>,
    traffic: Traffic,
    mut random: SplitMix,
    is_over: Arc<AtomicBool>,
) -> (u64, u64) {
    let (mut admitted, mut denied) = (0, 0);
    let (mut user, mut path) = (String::new(), String::new());
    while !is_over.load(Ordering::Relaxed)
        && let Some(client) = traffic.next(&mut random)
    {
        let facts = client.facts(&mut user, &mut path);
        let decision = limiter.policy().decide(&facts, Asking::Check).await;
        if decision.is_admitted() {
            admitted += 1;
        } else {
            denied += 1;
        }
        // Whoever is answered without the store must let others have their turn.
        tokio::task::consume_budget().await;
    }
    (admitted, denied)
}

/// The store has answered all of them.
fn prove(before: &LedgerCounts, after: &LedgerCounts) -> Result<(), Problem> {
    let fallbacks = after.fallbacks - before.fallbacks;
    if fallbacks == 0 {
        return Ok(());
    }
    Err(Problem::failed(format!("{fallbacks} checks were not decided by the store; is the machine busy?")))
}

fn failed(error: &dyn std::fmt::Display) -> Problem {
    Problem::failed(error.to_string())
}
