//! One of the processes: opens a limiter over the store, and asks it from 8 threads for as long as it is told.
//!
//! ```text
//!  parent: environment ─────────► go START END ──► policy FILE ──►
//!  worker:              ◄─ ready SKEW            ◄─ swapped          ◄─ done ASKED FALLBACKS LEASED   and a file of what was admitted
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

use crate::load::THREADS;
use crate::monotonic;

/// Where the orders of a worker are: one to a line.
const ORDERS: &str = "TOLLGATE_HAMMER";
/// How long a thread rests after a denial, so that the server has a processor, too.
const REST: Duration = Duration::from_millis(1);

/// What a worker is told when it starts.
pub(crate) struct Orders {
    pub(crate) url: String,
    pub(crate) policy: String,
    pub(crate) keys: u64,
    /// Which of the processes it is.
    pub(crate) number: usize,
    /// Where it writes what was admitted.
    pub(crate) file: String,
}

impl Orders {
    pub(crate) fn environment(&self) -> (&'static str, String) {
        let Self { url, policy, keys, number, file } = self;
        (ORDERS, format!("{url}\n{policy}\n{keys}\n{number}\n{file}"))
    }

    /// What this process was told, if it is a worker.
    pub(crate) fn given() -> Option<Orders> {
        let orders = std::env::var(ORDERS).ok()?;
        let words: Vec<&str> = orders.lines().collect();
        let [url, policy, keys, number, file] = words[..] else { panic!("{orders}") };
        let (keys, number) = (keys.parse().unwrap(), number.parse().unwrap());
        Some(Orders { url: url.to_owned(), policy: policy.to_owned(), keys, number, file: file.to_owned() })
    }
}

/// One admitted check, as it is written down: three numbers of 8 bytes, little endian.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admitted {
    pub(crate) key: u64,
    pub(crate) called: Moment,
    pub(crate) answered: Moment,
}

impl Admitted {
    const BYTES: usize = 24;

    fn to_bytes(self) -> impl Iterator<Item = u8> {
        [self.key, self.called.as_nanos(), self.answered.as_nanos()].into_iter().flat_map(u64::to_le_bytes)
    }

    /// All that a worker has written.
    pub(crate) fn read(file: &Path) -> Vec<Admitted> {
        let word =
            |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap());
        let admitted = |bytes: &[u8]| Admitted {
            key: word(bytes, 0),
            called: Moment::from_nanos(word(bytes, 1)),
            answered: Moment::from_nanos(word(bytes, 2)),
        };
        std::fs::read(file).unwrap().chunks_exact(Admitted::BYTES).map(admitted).collect()
    }
}

/// What became of all checks.
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
    let counts = Counts::default();
    let admitted: Vec<Vec<Admitted>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (limiter, counts, handle) = (&limiter, &counts, runtime.handle());
                let first = (orders.number * THREADS + thread) as u64;
                let hammering = hammer(limiter, counts, orders.keys, first, [begin, end]);
                scope.spawn(move || handle.block_on(hammering))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let bytes: Vec<u8> = admitted.iter().flatten().flat_map(|admitted| admitted.to_bytes()).collect();
    std::fs::write(&orders.file, bytes).unwrap();
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    say(&format!("done {} {} {}", of(&counts.asked), of(&counts.fallbacks), of(&counts.leased)));
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
        while limiter.policy().decide(&facts(u64::from(u32::MAX)), Asking::Peek).await.mode()
            == StoreMode::Fallback
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("the store is there");
    limiter
}

/// Asks one key after the other.
async fn hammer(
    limiter: &PolicyLimiter,
    counts: &Counts,
    keys: u64,
    number: u64,
    [begin, end]: [Moment; 2],
) -> Vec<Admitted> {
    let mut admitted = Vec::new();
    // Each begins elsewhere, so that all keys are asked equally often.
    let mut key = number * keys / (crate::load::PROCESSES * THREADS) as u64;
    let (mut asked, mut fallbacks, mut leased) = (0, 0, 0);
    tokio::time::sleep(begin.since(monotonic::now()).into()).await;
    loop {
        key = (key + 1) % keys;
        let called = monotonic::now();
        if called >= end {
            break;
        }
        let decision = limiter.policy().decide(&facts(key), Asking::Check).await;
        let answered = monotonic::now();
        asked += 1;
        fallbacks += u64::from(decision.mode() == StoreMode::Fallback);
        leased += u64::from(decision.mode() == StoreMode::Leased);
        if decision.is_admitted() {
            admitted.push(Admitted { key, called, answered });
        } else {
            tokio::time::sleep(REST).await;
        }
    }
    counts.asked.fetch_add(asked, Ordering::Relaxed);
    counts.fallbacks.fetch_add(fallbacks, Ordering::Relaxed);
    counts.leased.fetch_add(leased, Ordering::Relaxed);
    admitted
}

fn facts(key: u64) -> Facts<'static> {
    let address = Ipv4Addr::from_bits(u32::try_from(key).unwrap());
    Facts { address: Some(address.into()), ..Facts::new("GET", "/") }
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
