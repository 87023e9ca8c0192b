//! A hundred thousand tasks wait for a thousand keys: all leave in order, on time, and none is lost.
#![expect(clippy::disallowed_methods, reason = "whether the whole took as long as it should is wall time")]

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tollgate::{Acquire, AcquireError, Burst, Cost, Limit, Limiter, Rate, Span, WAITERS_MAX};

const KEYS: usize = 1_000;
const OF_EACH_KEY: u32 = 100;
/// The hundredth of each key leaves after two seconds.
const PER_SECOND: u64 = 50;
const LAST_DUE: Duration = Duration::from_secs(2);
/// A hundred thousand tasks have to be spawned and woken, perhaps on a machine with other work.
const LATE_MAX: Duration = Duration::from_secs(2);

fn limiter() -> Limiter {
    let limiter = Limiter::new(Limit::new(Rate::per_second(PER_SECOND), Burst::tokens(1)).unwrap());
    assert!((0..KEYS).all(|key| limiter.check(key).is_admitted()));
    limiter
}

/// Who of each key left, in order.
type Logs = Arc<Vec<Mutex<Vec<u32>>>>;

fn run(runtime: &Runtime, limiter: &Limiter) -> (Logs, Duration) {
    let logs: Logs = Arc::new((0..KEYS).map(|_| Mutex::default()).collect());
    let start = Instant::now();
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for waiter in 0..OF_EACH_KEY {
            for key in 0..KEYS {
                let (acquire, logs) = (limiter.acquire(key, Cost::ONE), Arc::clone(&logs));
                tasks.push(tokio::spawn(async move {
                    acquire.await.unwrap();
                    logs[key].lock().unwrap().push(waiter);
                }));
            }
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    (logs, start.elapsed())
}

#[track_caller]
fn assert_all_left_on_time(limiter: &Limiter, logs: &Logs, took: Duration) {
    println!("{} waiters left after {took:?}, {LAST_DUE:?} is due", KEYS * OF_EACH_KEY as usize);
    for log in logs.iter() {
        let mut who = log.lock().unwrap().clone();
        who.sort_unstable();
        assert_eq!(who, (0..OF_EACH_KEY).collect::<Vec<_>>(), "everybody left, once");
    }
    assert_eq!(limiter.waiters(), 0);
    assert!(took + Duration::from_millis(20) >= LAST_DUE, "{took:?}");
    assert!(took <= LAST_DUE + LATE_MAX, "{took:?}");
}

#[test]
fn a_hundred_thousand_tasks_leave_in_order_and_none_is_lost() {
    let (limiter, runtime) = (limiter(), Builder::new_current_thread().enable_time().build().unwrap());
    let (logs, took) = run(&runtime, &limiter);
    // In one thread tasks join in the order they were spawned, and run in the order they were woken.
    assert!(logs.iter().all(|log| log.lock().unwrap().is_sorted()), "in order");
    assert_all_left_on_time(&limiter, &logs, took);
}

#[test]
fn a_hundred_thousand_tasks_of_several_threads_all_leave() {
    let (limiter, runtime) = (limiter(), Builder::new_multi_thread().enable_time().build().unwrap());
    let (logs, took) = run(&runtime, &limiter);
    assert_all_left_on_time(&limiter, &logs, took);
}

/// Half of all give up at some time; the others do not notice, but that they leave earlier.
#[test]
fn half_of_all_give_up_and_the_others_leave_all_the_same() {
    let (limiter, runtime) = (limiter(), Builder::new_multi_thread().enable_time().build().unwrap());
    let left = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for waiter in 0..u64::from(OF_EACH_KEY) {
            for key in 0..KEYS {
                let (acquire, left) = (limiter.acquire(key, Cost::ONE), Arc::clone(&left));
                let gives_up = waiter % 2 == 1;
                tasks.push(tokio::spawn(async move {
                    let patience = if gives_up { Span::from_millis(waiter * 7 % 40) } else { Span::MAX };
                    if tokio::time::timeout(patience.into(), acquire).await.is_ok() {
                        left.fetch_add(1, Ordering::Relaxed);
                    }
                }));
            }
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    let (left, took) = (left.load(Ordering::Relaxed), start.elapsed());
    println!("{left} left after {took:?}");
    assert!(left >= KEYS as u64 * u64::from(OF_EACH_KEY) / 2, "{left}");
    assert_eq!(limiter.waiters(), 0);
    assert!(took <= LAST_DUE / 2 + LATE_MAX, "{took:?}: those who gave up left their places to the others");
}

/// A queue has a maximum, and so have all of them together.
#[test]
fn one_more_than_a_million_waiters_is_refused_and_all_can_give_up() {
    let limiter = limiter();
    limiter.default_rule().set_limit(Limit::new(Rate::per_hour(1), Burst::tokens(1)).unwrap()).unwrap();
    let poll = |acquire: &mut Acquire| pin!(acquire).poll(&mut Context::from_waker(Waker::noop()));
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();
    let acquire = |nth: u64| limiter.acquire(nth % KEYS as u64, Cost::ONE).behind(u32::MAX);
    let mut waiting: Vec<Acquire> = (0..WAITERS_MAX).map(acquire).collect();
    assert!(waiting.iter_mut().all(|acquire| poll(acquire).is_pending()));
    assert_eq!(limiter.waiters(), WAITERS_MAX);
    assert_eq!(poll(&mut acquire(7)), Poll::Ready(Err(AcquireError::TooManyWaiters)));
    drop(waiting);
    assert_eq!(limiter.waiters(), 0);
    assert_ne!(poll(&mut acquire(7)), Poll::Ready(Err(AcquireError::TooManyWaiters)), "there is room again");
}
