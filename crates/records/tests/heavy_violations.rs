//! The violation log under a flood, and while its database dies. Run alone and optimised, by the gate's step `proofs`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "how long a denial takes is told by a clock")]

#[expect(dead_code, unused_imports, unused_macros, reason = "other tests use the rest")]
mod databases;
#[path = "../../tollgate/tests/heavy/resident.rs"]
mod resident;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use databases::{Place, PostgresServer, is_postgres_skipped, until};
use tollgate_records::{
    MicroTokens, Records, Timestamp, Violation, ViolationCounts, ViolationFilter, ViolationLog,
    ViolationSettings,
};

const THREADS: u64 = 2;
const DENIALS: u64 = 3_000_000;
const WARM_UP: u64 = 400_000;
/// What pages of the database and the allocator may keep.
const GROWTH_BYTES_MAX: u64 = 8 * 1_024 * 1_024;
/// Longer than a thread is kept from its core here, and shorter than anything that waits for a database.
const NOTE_MAX: Duration = Duration::from_millis(250);

fn denial<'a>(rule: &'a str, key: &'a str, at: Timestamp) -> Violation<'a> {
    Violation {
        rule,
        key,
        user: Some(key),
        address: None,
        endpoint: Some("/api/search"),
        at,
        tokens: MicroTokens(250_000),
        cost: MicroTokens::whole(1),
        reason: "rate_limited",
        door: "http",
    }
}

/// One half of a thousand keys that are denied again and again, the other half of keys that come once.
fn flood(log: &ViolationLog, denials: u64, seed: u64) {
    let mut key = String::new();
    for step in 0..denials {
        key.clear();
        if step % 2 == 0 {
            write!(key, "user:{}", step.wrapping_mul(2_654_435_761) % 1_000).unwrap();
        } else {
            write!(key, "once:{seed}:{step}").unwrap();
        }
        log.note(denial(["login", "search"][usize::from(step % 4 < 2)], &key, Timestamp::now()));
    }
}

/// By [`THREADS`] threads, as fast as they go.
async fn flood_by_threads(log: &ViolationLog, denials: u64, seed: u64) -> Duration {
    let began = Instant::now();
    let threads = (0..THREADS).map(|thread| {
        let log = log.clone();
        tokio::task::spawn_blocking(move || flood(&log, denials / THREADS, seed + thread))
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.await.unwrap();
    }
    began.elapsed()
}

/// What the database says: its totals, and how many rows it has.
async fn filed(records: &Records, place: &Place) -> (ViolationCounts, u64) {
    let mut sums = ViolationCounts::default();
    for totals in records.violation_totals(None, None, None).await.unwrap() {
        sums.denied += totals.denied;
        sums.stored += totals.stored;
        sums.sampled_out += totals.sampled_out;
        sums.dropped += totals.dropped;
    }
    let rows = place.hand().await.number("SELECT COUNT(*) FROM rate_limit_violations").await;
    (sums, rows.try_into().unwrap())
}

#[track_caller]
fn add_up(counts: ViolationCounts, denied: u64) {
    let ViolationCounts { stored, sampled_out, dropped, queued, .. } = counts;
    assert_eq!(counts.denied, denied, "{counts:?}");
    assert_eq!((stored + sampled_out + dropped, queued), (denied, 0), "{counts:?}");
}

/// Three million denials as fast as they go: memory stays as it is, and every count is exact, here and in the database.
async fn three_million(settings: ViolationSettings) -> ViolationCounts {
    let place = Place::sqlite();
    let records = place.open().await;
    let log = ViolationLog::new(Some(records.clone()), settings);
    flood_by_threads(&log, WARM_UP, 1_000).await;
    log.flush().await.unwrap();
    let before = resident::bytes().unwrap();
    let took = flood_by_threads(&log, DENIALS, 1).await;
    let during = resident::bytes().unwrap();
    log.flush().await.unwrap();
    let counts = log.totals();
    #[expect(clippy::cast_precision_loss, reason = "three million")]
    let per_second = DENIALS as f64 / took.as_secs_f64();
    println!(
        "{DENIALS} denials in {took:?}: {per_second:.0} per second, resident {} KiB more; {counts:?}",
        during.saturating_sub(before) / 1_024
    );
    add_up(counts, DENIALS + WARM_UP);
    assert_eq!(filed(&records, &place).await, (counts, counts.stored));
    assert!(during < before + GROWTH_BYTES_MAX, "{before} bytes before, {during} after");
    assert_eq!(log.close().await, counts);
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_million_denials_take_no_memory_and_are_counted_exactly() {
    let counts = three_million(ViolationSettings::default()).await;
    assert!(counts.stored > 0 && counts.sampled_out > 0, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_rows_than_can_be_written_are_dropped_and_counted() {
    let mut settings = ViolationSettings::default();
    settings.rows_per_key_per_second = 15;
    settings.rows_per_second = 10_000_000;
    let counts = three_million(settings).await;
    assert!(counts.stored > 0 && counts.dropped > 0, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_without_a_database_takes_no_memory_either() {
    let log = ViolationLog::new(None, ViolationSettings::default());
    flood_by_threads(&log, WARM_UP, 1_000).await;
    let before = resident::bytes().unwrap();
    flood_by_threads(&log, DENIALS, 1).await;
    let during = resident::bytes().unwrap();
    add_up(log.close().await, DENIALS + WARM_UP);
    assert!(during < before + GROWTH_BYTES_MAX, "{before} bytes before, {during} after");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_dies_under_load_and_nobody_waits_and_every_denial_is_counted_once() {
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    const QUEUED_MAX: usize = 1_000;
    if is_postgres_skipped() {
        return;
    }
    let mut server = PostgresServer::start().await;
    let place = Place::on(&server).await;
    let records = place.open().await;
    let mut settings = ViolationSettings::default();
    settings.queued_max = QUEUED_MAX;
    // More than the bound in an outage.
    settings.rows_per_second = 2_000;
    let log = ViolationLog::new(Some(records.clone()), settings);
    let threads = (0..THREADS).map(|thread| {
        let log = log.clone();
        tokio::task::spawn_blocking(move || {
            let (mut longest, mut denials, mut key) = (Duration::ZERO, 0, String::new());
            while !IS_OVER.load(Ordering::Relaxed) {
                key.clear();
                write!(key, "user:{thread}:{}", denials % 50_000).unwrap();
                let began = Instant::now();
                log.note(denial("login", &key, Timestamp::now()));
                longest = longest.max(began.elapsed());
                denials += 1;
            }
            (longest, denials)
        })
    });
    let threads: Vec<_> = threads.collect();
    let mut outages = Vec::new();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        server.kill();
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        outages.push(log.status());
        server.restart().await;
    }
    tokio::time::sleep(Duration::from_millis(700)).await;
    IS_OVER.store(true, Ordering::Relaxed);
    let (mut longest, mut denials) = (Duration::ZERO, 0);
    for thread in threads {
        let (wait, noted) = thread.await.unwrap();
        (longest, denials) = (longest.max(wait), denials + noted);
    }
    until("the database is back", || async { log.flush().await.is_ok() }).await;
    let counts = log.totals();
    println!("{denials} denials, three outages: the longest took {longest:?}; {counts:?}");
    add_up(counts, denials);
    assert_eq!(filed(&records, &place).await, (counts, counts.stored));
    for outage in &outages {
        assert!(outage.failing.is_some(), "{outage:?}");
    }
    assert!(counts.dropped > 0, "the bound was reached: {counts:?}");
    assert!(longest < NOTE_MAX, "{longest:?}");
    assert!(records.violations(&ViolationFilter::default(), None, 10).await.unwrap().violations.len() == 10);
}
