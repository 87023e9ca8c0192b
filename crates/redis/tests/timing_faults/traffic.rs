//! Open-loop traffic: 2,000 checks a second leave at their times, whatever became of those before them.
//!
//! Two instances ask by turns, for one thing after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tollgate::ledger::{Answer, Bucket, BucketLimit, Ledger, LedgerCharge, Manner, OwnedKey, Question};
use tollgate::policy::{Facts, Policy};
use tollgate::{Asking, Cost, Limiter, PolicyLimiter, StoreMode};
use tollgate_core::{Moment, Span};
use tollgate_redis::{LedgerOptions, RedisLedger, StoreUrl};

use crate::asked::{Asked, CLIENTS, EVERYTHING, TURNS, of_client, policy};
use crate::monotonic;
use crate::stalls::{StallWatch, Stalls};

/// Between two checks: 2,000 a second.
const BETWEEN: Span = Span::from_micros(500);
pub(crate) const INSTANCES: usize = 2;
/// How long a check waits for the store: the default.
pub(crate) const DEADLINE: Span = Span::from_millis(15);

/// One check, from when it was meant to leave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) asked: Asked,
    pub(crate) client: usize,
    pub(crate) intended: Moment,
    pub(crate) called: Moment,
    pub(crate) answered: Moment,
    pub(crate) is_admitted: bool,
    /// Whether it was told that the store does not answer.
    pub(crate) is_refused: bool,
    /// Whether the store decided, or a slice of what it had given.
    pub(crate) is_by_store: bool,
}

/// Traffic under way, on threads of its own.
pub(crate) struct Traffic {
    stop: Arc<AtomicBool>,
    asking: JoinHandle<Vec<Seen>>,
    stalls: StallWatch,
}

/// One instance: a limiter by a policy, and the ledger beneath it.
struct Instance {
    limiter: PolicyLimiter,
    ledger: RedisLedger,
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
                    instances.push(Arc::new(Instance::open(&url).await));
                }
                ready.send(()).unwrap();
                ask(&instances, &told).await
            })
        });
        is_ready.recv().expect("instances agree on their limits");
        Traffic { stop, asking, stalls: StallWatch::begin() }
    }

    /// Ends it: all checks, and the times at which the machine stood still.
    pub(crate) fn end(self) -> (Vec<Seen>, Stalls) {
        self.stop.store(true, Ordering::Relaxed);
        let seen = self.asking.join().unwrap();
        (seen, self.stalls.end())
    }
}

impl Instance {
    /// One that has agreed on all limits.
    async fn open(url: &StoreUrl) -> Instance {
        let ledger = RedisLedger::open(url, &LedgerOptions::default()).unwrap();
        let policy = Policy::parse("faults.yaml", &policy()).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let limiter = Limiter::builder().build_with_ledger(policy, Arc::new(ledger.clone())).unwrap();
        let instance = Instance { limiter, ledger };
        let agreed = async {
            for asked in EVERYTHING {
                for client in 0..asked.clients() {
                    while !instance.one(asked, client, true).await.is_by_store() {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), agreed).await.expect("limits are agreed upon");
        instance
    }

    /// Asks once; whoever only peeks charges nothing.
    async fn one(&self, asked: Asked, client: usize, is_peek: bool) -> Told {
        if asked == Asked::Explicit {
            let key = OwnedKey::new(&format!("client-{client}")[..]).unwrap();
            let bucket = Bucket { limit: BucketLimit::Explicit(of_client()), key };
            let charges = vec![LedgerCharge { bucket, cost: Cost::ONE }];
            let manner = if is_peek { Manner::Peek } else { Manner::Check };
            let answer = self.ledger.decide(Question { charges, manner, watched: None }).await;
            let mode = match answer {
                Answer::Decided { mode, .. } => Some(mode),
                Answer::Unavailable { .. } => None,
            };
            return Told { is_admitted: answer.is_admitted(), mode };
        }
        let asking = if is_peek { Asking::Peek } else { Asking::Check };
        let decision = self.limiter.policy().decide(&facts(asked, client), asking).await;
        let mode = Some(decision.mode()).filter(|_| decision.refused().is_none());
        Told { is_admitted: decision.is_admitted(), mode }
    }
}

/// What one check was told.
struct Told {
    is_admitted: bool,
    /// `None` if the store does not answer and nobody is let through then.
    mode: Option<StoreMode>,
}

impl Told {
    fn is_by_store(&self) -> bool {
        self.mode.is_some_and(|mode| mode != StoreMode::Fallback)
    }
}

async fn ask(instances: &[Arc<Instance>], stop: &AtomicBool) -> Vec<Seen> {
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
            let asked = TURNS[number / INSTANCES % TURNS.len()];
            let client = number / (INSTANCES * TURNS.len()) % CLIENTS % asked.clients();
            asking.spawn(async move { see(&instance, asked, client, intended).await });
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

async fn see(instance: &Instance, asked: Asked, client: usize, intended: Moment) -> Seen {
    let called = monotonic::now();
    let told = instance.one(asked, client, false).await;
    Seen {
        asked,
        client,
        intended,
        called,
        answered: monotonic::now(),
        is_admitted: told.is_admitted,
        is_refused: told.mode.is_none(),
        is_by_store: told.is_by_store(),
    }
}

fn facts(asked: Asked, client: usize) -> Facts<'static> {
    let client = u8::try_from(client).unwrap();
    Facts { address: Some([192, 0, 2, client].into()), ..Facts::new("GET", asked.path()) }
}
