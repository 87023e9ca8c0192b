//! Waiting for tokens in wall time: nobody leaves early, and nobody much too late.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tollgate::{Burst, CLOCK_ERROR_MAX, Cost, Limit, Limiter, Rate};

const KEY: &str = "upstream";
/// One token every two milliseconds.
const PER_SECOND: u64 = 500;
const WAITERS: u64 = 200;
/// A timer of tokio's is up to a millisecond late; what is beyond that is the scheduler of a machine with other work.
const LATE_MAX: Duration = Duration::from_millis(50);

/// Who left when, since the start.
type Log = Arc<Mutex<Vec<(u64, Duration)>>>;

/// A limiter whose one bucket is empty, and since when.
fn spent() -> (Limiter, Instant) {
    let limit = Limit::new(Rate::per_second(PER_SECOND), Burst::tokens(1)).unwrap();
    let limiter = Limiter::new(limit);
    let start = Instant::now();
    assert!(limiter.check(KEY).is_admitted());
    (limiter, start)
}

/// When the n-th may leave, at the earliest: the bucket was spent at the start or later.
fn due(nth: u64) -> Duration {
    Duration::from_nanos(1_000_000_000 * nth / PER_SECOND)
}

#[track_caller]
fn assert_on_time(log: &Log, waiters: u64) {
    let mut log = log.lock().unwrap().clone();
    log.sort_unstable();
    assert_eq!(log.len() as u64, waiters, "nobody is lost");
    let mut latest = Duration::ZERO;
    for (waiter, left) in log {
        let due = due(waiter + 1);
        assert!(left + CLOCK_ERROR_MAX.into() >= due, "{waiter} left at {left:?}, before {due:?}");
        latest = latest.max(left.saturating_sub(due));
    }
    println!("{waiters} waiters, at most {latest:?} late ({LATE_MAX:?} allowed)");
    assert!(latest <= LATE_MAX, "{latest:?}");
}

/// Which of them came first is chance; how many had left by when is not.
fn by_time(log: &Log) {
    let mut log = log.lock().unwrap();
    log.sort_unstable_by_key(|(_, left)| *left);
    for (nth, (waiter, _)) in (0..).zip(log.iter_mut()) {
        *waiter = nth;
    }
}

/// Waits in so many threads, in no particular order.
fn wait_in_threads(
    limiter: &Limiter,
    start: Instant,
    log: &Log,
    threads: u64,
) -> Vec<thread::JoinHandle<()>> {
    let wait = |waiter| {
        let (limiter, log) = (limiter.clone(), Arc::clone(log));
        thread::spawn(move || {
            limiter.acquire(KEY, Cost::ONE).blocking().unwrap();
            log.lock().unwrap().push((waiter, start.elapsed()));
        })
    };
    (0..threads).map(wait).collect()
}

#[test]
fn threads_that_wait_leave_on_time() {
    let ((limiter, start), log) = (spent(), Log::default());
    for thread in wait_in_threads(&limiter, start, &log, 50) {
        thread.join().unwrap();
    }
    by_time(&log);
    assert_on_time(&log, 50);
}

#[cfg(feature = "tokio")]
mod with_tokio {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
    }

    /// Tasks of one thread are polled in the order they were spawned, so they join in that order.
    async fn wait_in_tasks(limiter: &Limiter, start: Instant, log: &Log, tasks: u64) {
        let wait = |waiter| {
            let (acquire, log) = (limiter.acquire(KEY, Cost::ONE), Arc::clone(log));
            tokio::spawn(async move {
                acquire.await.unwrap();
                log.lock().unwrap().push((waiter, start.elapsed()));
            })
        };
        let tasks: Vec<_> = (0..tasks).map(wait).collect();
        for task in tasks {
            task.await.unwrap();
        }
    }

    #[test]
    fn tasks_that_wait_leave_in_order_and_on_time() {
        let ((limiter, start), log) = (spent(), Log::default());
        runtime().block_on(wait_in_tasks(&limiter, start, &log, WAITERS));
        assert!(log.lock().unwrap().is_sorted_by_key(|(waiter, _)| *waiter), "in the order they came");
        assert_on_time(&log, WAITERS);
    }

    #[test]
    fn threads_and_tasks_wait_in_one_queue() {
        let ((limiter, start), log) = (spent(), Log::default());
        let threads = wait_in_threads(&limiter, start, &log, 20);
        runtime().block_on(wait_in_tasks(&limiter, start, &log, 50));
        for thread in threads {
            thread.join().unwrap();
        }
        by_time(&log);
        assert_on_time(&log, 70);
        assert_eq!(limiter.waiters(), 0);
    }
}
