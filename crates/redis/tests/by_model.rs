//! The ledger as a whole beside a model (S6): link, coalescer, denial cache and script, by everything that a `SharedLimiter` offers.
//!
//! The conformance suite says the time of each call, which a ledger leaves to the server. So time stands still here instead: limits refill by less
//! than a micro-token while a test lasts, and whole tokens are told exactly.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
#[expect(unused_imports, dead_code, reason = "other tests use the rest")]
mod fleet;

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use fleet::RedisServer;
use tollgate::ledger::{Answer, TrueCosts};
use tollgate::policy::StoreSettings;
use tollgate::{Burst, Cost, Limit, Rate, ReservationId, Span, StoreMode};
use tollgate_redis::{SharedCharge, SharedLimiter, SharedOptions, SharedRule};

const STEPS: usize = 600;
const KEYS: u64 = 3;
const HOUR: Span = Span::from_secs(3_600);
/// The bursts of the rules. The last one is brought along by each call.
const BURSTS: [u64; 3] = [12, 40, 25];

/// A bucket: its rule, and its key.
type At = (usize, u64);

/// Tokens that are left, of every bucket.
struct Model(BTreeMap<At, u64>);

impl Model {
    fn left(&self, at: At) -> u64 {
        self.0.get(&at).copied().unwrap_or(BURSTS[at.0])
    }

    /// What each bucket would be left with, if all have enough; charges to the same bucket are added up.
    fn after(&self, charges: &[(At, u64)]) -> Option<BTreeMap<At, u64>> {
        let mut after = BTreeMap::new();
        for (at, cost) in charges {
            let left = after.get(at).copied().unwrap_or_else(|| self.left(*at));
            after.insert(*at, left.checked_sub(*cost)?);
        }
        Some(after)
    }

    fn give(&mut self, at: At, tokens: u64) {
        let left = (self.left(at) + tokens).min(BURSTS[at.0]);
        self.0.insert(at, left);
    }
}

/// What was told, as the model would tell it: whole tokens that are left where there is least of them.
#[track_caller]
fn told(answer: &Answer) -> Option<u64> {
    let Answer::Decided { verdict, mode, .. } = answer else { panic!("{answer:?}") };
    assert_eq!(*mode, StoreMode::Exact, "{answer:?}");
    verdict.remaining().filter(|_| verdict.is_admitted()).map(|left| left.as_micros() / 1_000_000)
}

fn random_charges(random: &mut Rng) -> Vec<(At, u64)> {
    let charge = |random: &mut Rng| ((random.usize(..BURSTS.len()), random.u64(..KEYS)), random.u64(1..=6));
    (0..random.usize(1..=4)).map(|_| charge(random)).collect()
}

async fn plays_as_the_model(limiter: &SharedLimiter, rules: &[SharedRule], seed: u64) {
    let (mut random, mut model) = (Rng::with_seed(seed), Model(BTreeMap::new()));
    let mut reserved: Vec<(ReservationId, Vec<(At, u64)>)> = Vec::new();
    let name = |key: u64| format!("{seed}-{key}");
    for step in 0..STEPS {
        let charges = random_charges(&mut random);
        let asked: Vec<SharedCharge> = charges
            .iter()
            .map(|((rule, key), cost)| rules[*rule].charge_n(name(*key).as_str(), Cost::tokens(*cost)))
            .collect();
        let after = model.after(&charges);
        let expected = after.as_ref().and_then(|after| after.values().copied().min());
        let what = random.usize(..10);
        let context = format!("seed {seed}, step {step}, {what}: {charges:?}");
        // What comes back to a bucket that was filled meanwhile is told by the conformance suite.
        let is_reserved =
            |at: At| reserved.iter().flat_map(|(_, charges)| charges).any(|charge| charge.0 == at);
        match what {
            0..=3 => assert_eq!(told(&limiter.check_all(&asked).await), expected, "{context}"),
            4 => assert_eq!(told(&limiter.peek_all(&asked).await), expected, "{context}"),
            5 => {
                let once = format!("{seed}-{step}");
                for _ in 0..2 {
                    let answer = limiter.check_once(&once, HOUR, &asked).await;
                    assert_eq!(told(&answer), expected, "{context}");
                }
            }
            6 => {
                let (answer, id) = limiter.reserve(&asked, HOUR).await.unwrap();
                assert_eq!((told(&answer), id.is_some()), (expected, expected.is_some()), "{context}");
                reserved.extend(id.map(|id| (id, charges.clone())));
            }
            7 if !reserved.is_empty() => {
                let (id, estimates) = reserved.swap_remove(random.usize(..reserved.len()));
                let truly: Vec<u64> = estimates.iter().map(|(_, cost)| random.u64(..=*cost)).collect();
                let costs = truly.iter().map(|cost| Cost::tokens(*cost)).collect();
                limiter.settle(id, TrueCosts::Each(costs)).await.unwrap();
                for ((at, estimate), truly) in estimates.iter().zip(truly) {
                    model.give(*at, estimate - truly);
                }
                continue;
            }
            8 if !is_reserved(charges[0].0) => {
                let ((rule, key), tokens) = charges[0];
                rules[rule].give(name(key).as_str(), Cost::tokens(tokens)).await.unwrap();
                model.give((rule, key), tokens);
                continue;
            }
            9 if random.usize(..4) == 0 && !is_reserved(charges[0].0) => {
                let ((rule, key), _) = charges[0];
                rules[rule].reset(name(key).as_str()).await.unwrap();
                model.0.remove(&(rule, key));
                continue;
            }
            _ => continue,
        }
        if what != 4 {
            model.0.extend(after.unwrap_or_default());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_tells_what_a_model_tells_of_everything_that_is_offered() {
    needs_redis!();
    let server = RedisServer::start("").await;
    let store = StoreSettings { deadline: Span::from_secs(10), ..StoreSettings::default() };
    let limiter =
        SharedLimiter::open_with(&server.url(), SharedOptions { store, ..SharedOptions::default() }).unwrap();
    let limits = BURSTS.map(|burst| Limit::new(Rate::per_year(1), Burst::tokens(burst)).unwrap());
    let rules = [
        limiter.rule("narrow", limits[0]).unwrap(),
        limiter.rule("broad", limits[1]).unwrap(),
        limiter.explicit(&limits[2]).unwrap(),
    ];
    assert!(limiter.ready(Duration::from_secs(30)).await);
    // Side by side, each with keys of its own: so that their calls are coalesced.
    let mut playing = tokio::task::JoinSet::new();
    for seed in 0..16 {
        let (limiter, rules) = (limiter.clone(), rules.clone());
        playing.spawn(async move { plays_as_the_model(&limiter, &rules, seed).await });
    }
    playing.join_all().await;
    let counts = limiter.ledger().counts();
    assert_eq!(counts.fallbacks, 0);
    assert!(counts.denials_remembered > 0, "the cache of denials had no part in it");
}
