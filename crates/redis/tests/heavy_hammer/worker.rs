//! One of the processes: opens a limiter over the store, and asks it from 8 threads for as long as it is told. Counts are of one load after the other.
//!
//! ```text
//!  parent: environment ─────────► go START END ──► policy FILE ──►
//!  worker:              ◄─ ready SKEW            ◄─ swapped          ◄─ done ASKED FALLBACKS LEASED …   and a file of what was admitted
//! ```
//! It speaks on standard error, where the harness of tests says nothing.

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tokio::runtime::Runtime;
use tollgate::policy::{Facts, Policy};
use tollgate::{Asking, Limiter, PolicyLimiter, StoreMode};
use tollgate_core::{Moment, Span};
use tollgate_redis::{LedgerOptions, RedisLedger, StoreUrl};

use crate::load::{Keys, Mode, PROCESSES, THREADS, path};
use crate::monotonic;

/// Where the orders of a worker are: one to a line.
const ORDERS: &str = "TOLLGATE_HAMMER";
/// How often a thread asks one load before it turns to the next.
const IN_A_ROW_MAX: usize = 4;
/// How long a thread rests when some load has denied it, so that the server has a processor, too.
const REST: Duration = Duration::from_millis(1);

/// What a worker is told when it starts.
pub(crate) struct Orders {
    pub(crate) url: String,
    pub(crate) policy: String,
    /// Of each load.
    pub(crate) keys: Vec<Keys>,
    /// Which of the processes it is.
    pub(crate) number: usize,
    /// Where it writes what was admitted.
    pub(crate) file: String,
}

impl Orders {
    pub(crate) fn environment(&self) -> (&'static str, String) {
        let Self { url, policy, keys, number, file } = self;
        let keys: Vec<String> =
            keys.iter().map(|keys| format!("{} {}", keys.count, keys.mode.name())).collect();
        let keys = keys.join(",");
        (ORDERS, format!("{url}\n{policy}\n{keys}\n{number}\n{file}"))
    }

    /// What this process was told, if it is a worker.
    pub(crate) fn given() -> Option<Orders> {
        let orders = std::env::var(ORDERS).ok()?;
        let words: Vec<&str> = orders.lines().collect();
        let [url, policy, keys, number, file] = words[..] else { panic!("{orders}") };
        let keys = keys.split(',').map(|keys| {
            let (count, mode) = keys.split_once(' ').unwrap();
            Keys { mode: Mode::named(mode), count: count.parse().unwrap() }
        });
        let (url, policy, file) = (url.to_owned(), policy.to_owned(), file.to_owned());
        Some(Orders { url, policy, keys: keys.collect(), number: number.parse().unwrap(), file })
    }
}

/// One admitted check, as it is written down: four numbers of 8 bytes, little endian.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admitted {
    /// Which of the loads.
    pub(crate) load: u64,
    pub(crate) key: u64,
    pub(crate) called: Moment,
    pub(crate) answered: Moment,
}

impl Admitted {
    const BYTES: usize = 32;

    fn to_bytes(self) -> impl Iterator<Item = u8> {
        let words = [self.load, self.key, self.called.as_nanos(), self.answered.as_nanos()];
        words.into_iter().flat_map(u64::to_le_bytes)
    }

    /// All that a worker has written.
    pub(crate) fn read(file: &Path) -> Vec<Admitted> {
        let word =
            |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap());
        let admitted = |bytes: &[u8]| Admitted {
            load: word(bytes, 0),
            key: word(bytes, 1),
            called: Moment::from_nanos(word(bytes, 2)),
            answered: Moment::from_nanos(word(bytes, 3)),
        };
        std::fs::read(file).unwrap().chunks_exact(Admitted::BYTES).map(admitted).collect()
    }
}

/// What became of all checks of one load.
#[derive(Default)]
struct Counts {
    asked: AtomicU64,
    fallbacks: AtomicU64,
    leased: AtomicU64,
}

/// Does what it was told, and says so.
pub(crate) fn run(orders: &Orders) {
    let runtime = Runtime::new().unwrap();
    let limiter = runtime.block_on(open(orders));
    let wall = SystemTime::UNIX_EPOCH.elapsed_now();
    say(&format!("ready {}", wall - i128::from(monotonic::true_wall_nanos())));
    let (mut begin, mut end) = (Moment::from_nanos(0), Moment::from_nanos(0));
    while let Some(line) = heard() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["go", from, until] = words[..] {
            (begin, end) = (moment(from), moment(until));
            break;
        }
    }
    let told = limiter.clone();
    let reading = std::thread::spawn(move || {
        while let Some(line) = heard() {
            if let Some(file) = line.strip_prefix("policy ") {
                let text = std::fs::read_to_string(file).unwrap();
                told.swap(policy(&text)).unwrap();
                say("swapped");
            }
        }
    });
    let counts: Vec<Counts> = orders.keys.iter().map(|_| Counts::default()).collect();
    let admitted: Vec<Vec<Admitted>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (limiter, counts, handle) = (&limiter, &counts, runtime.handle());
                let first = (orders.number * THREADS + thread) as u64;
                let hammering = hammer(limiter, counts, &orders.keys, first, [begin, end]);
                scope.spawn(move || handle.block_on(hammering))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let bytes: Vec<u8> = admitted.iter().flatten().flat_map(|admitted| admitted.to_bytes()).collect();
    std::fs::write(&orders.file, bytes).unwrap();
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let counts = counts.iter().flat_map(|counts| [&counts.asked, &counts.fallbacks, &counts.leased].map(of));
    let counts: Vec<String> = counts.map(|count| count.to_string()).collect();
    say(&format!("done {}", counts.join(" ")));
    reading.join().unwrap();
}

/// A limiter that has agreed with the others on its limits.
async fn open(orders: &Orders) -> PolicyLimiter {
    let url: StoreUrl = orders.url.parse().unwrap();
    let ledger = RedisLedger::open(&url, &LedgerOptions::default()).unwrap();
    let limiter =
        Limiter::builder().build_with_ledger(policy(&orders.policy), Arc::new(ledger.clone())).unwrap();
    let waiting = async {
        // Nobody's key: a peek charges nothing, but it would be remembered as a check that was late.
        for load in 0..orders.keys.len() {
            let (path, nobody) = (path(load), u64::from(u32::MAX));
            while limiter.policy().decide(&facts(&path, nobody), Asking::Peek).await.mode()
                == StoreMode::Fallback
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("the store is there");
    limiter
}

/// Asks one load after the other, each a few times or until it denies.
async fn hammer(
    limiter: &PolicyLimiter,
    counts: &[Counts],
    loads: &[Keys],
    number: u64,
    [begin, end]: [Moment; 2],
) -> Vec<Admitted> {
    let (mut admitted, mut random) = (Vec::new(), fastrand::Rng::with_seed(number));
    // Each begins elsewhere, so that all keys are asked equally often.
    let begins_at = |keys: &Keys| number * keys.count / (PROCESSES * THREADS) as u64;
    let mut at: Vec<(String, u64)> =
        loads.iter().enumerate().map(|(load, keys)| (path(load), begins_at(keys))).collect();
    tokio::time::sleep(begin.since(monotonic::now()).into()).await;
    while monotonic::now() < end {
        let mut is_denied = false;
        for (load, (path, key)) in at.iter_mut().enumerate() {
            for _ in 0..IN_A_ROW_MAX {
                *key = loads[load].after(*key, &mut random);
                let called = monotonic::now();
                if called >= end {
                    break;
                }
                let decision = limiter.policy().decide(&facts(path, *key), Asking::Check).await;
                let answered = monotonic::now();
                counts[load].count(decision.mode());
                if !decision.is_admitted() {
                    is_denied = true;
                    break;
                }
                admitted.push(Admitted { load: load as u64, key: *key, called, answered });
            }
        }
        if is_denied {
            tokio::time::sleep(REST).await;
        }
    }
    admitted
}

impl Counts {
    fn count(&self, mode: StoreMode) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.fallbacks.fetch_add(u64::from(mode == StoreMode::Fallback), Ordering::Relaxed);
        self.leased.fetch_add(u64::from(mode == StoreMode::Leased), Ordering::Relaxed);
    }
}

fn facts(path: &str, key: u64) -> Facts<'_> {
    let address = Ipv4Addr::from_bits(u32::try_from(key).unwrap());
    Facts { address: Some(address.into()), ..Facts::new("GET", path) }
}

fn policy(text: &str) -> Policy {
    Policy::parse("hammer.yaml", text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn moment(nanos: &str) -> Moment {
    Moment::from_nanos(0) + Span::from_nanos(nanos.parse().unwrap())
}

/// The next line that the parent says; `None` once it is gone.
fn heard() -> Option<String> {
    let mut line = String::new();
    let bytes = std::io::stdin().read_line(&mut line).unwrap();
    (bytes > 0).then(|| line.trim_end().to_owned())
}

fn say(line: &str) {
    // Not by `eprintln!`, which the harness keeps to itself.
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// The wall clock as this process has it, whatever somebody makes it believe.
trait ElapsedNow {
    fn elapsed_now(self) -> i128;
}

impl ElapsedNow for SystemTime {
    #[expect(clippy::disallowed_methods, reason = "what this process believes is what is tested")]
    fn elapsed_now(self) -> i128 {
        i128::try_from(SystemTime::now().duration_since(self).unwrap().as_nanos()).unwrap()
    }
}
