//! What threads that wait for tokens rely on, by a clock that stands still until it is moved.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

use std::sync::mpsc::{self, Receiver};
use std::thread;

use tollgate::{AcquireError, Burst, CheckError, Clock, Cost, Limit, Limiter, Moment, Rate, Span, Verdict};

const KEY: &str = "upstream";

fn per_second(tokens: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_second(tokens), Burst::tokens(burst)).unwrap()
}

/// A limiter whose one bucket is empty, and its clock.
fn spent(limit: Limit) -> (Limiter, Clock) {
    let clock = Clock::manual(Moment::from_nanos(1_000_000_000));
    let limiter = Limiter::builder().clock(clock.clone()).build(limit).unwrap();
    assert!(limiter.check_n(KEY, Cost::micros(limit.burst().as_micros())).is_admitted());
    (limiter, clock)
}

/// Threads that join the queue one after the other, and say so when they leave.
fn queue_up(limiter: &Limiter, costs: &[u64]) -> Receiver<usize> {
    let (sender, left) = mpsc::channel();
    for (waiter, cost) in costs.iter().copied().enumerate() {
        let (limiter, sender, before) = (limiter.clone(), sender.clone(), limiter.waiters());
        let of_thread = limiter.clone();
        thread::spawn(move || {
            of_thread.acquire(KEY, Cost::tokens(cost)).blocking().unwrap();
            sender.send(waiter).unwrap();
        });
        while limiter.waiters() == before {
            thread::yield_now();
        }
    }
    left
}

#[test]
fn threads_leave_in_the_order_they_came_as_the_clock_gets_there() {
    let (limiter, clock) = spent(per_second(10, 5));
    let left = queue_up(&limiter, &[1, 5, 1, 2]);
    for (waiter, cost) in [1, 5, 1, 2].into_iter().enumerate() {
        clock.advance(Span::from_nanos(100_000_000 * cost - 1));
        assert!(left.try_recv().is_err(), "a nanosecond early");
        assert!(!limiter.check_n(KEY, Cost::micros(1)).is_admitted());
        clock.advance(Span::from_nanos(1));
        assert_eq!(left.recv().unwrap(), waiter);
    }
    assert_eq!(limiter.waiters(), 0);
}

#[test]
fn who_finds_tokens_does_not_wait() {
    let clock = Clock::manual(Moment::default());
    let limiter = Limiter::builder().clock(clock).build(per_second(10, 5)).unwrap();
    for _ in 0..5 {
        assert_eq!(limiter.acquire(KEY, Cost::ONE).blocking().unwrap().waited, Span::ZERO);
    }
}

#[test]
fn a_thread_is_refused_what_it_cannot_get_in_time() {
    let (limiter, _clock) = spent(per_second(10, 5));
    let acquire = |tokens| limiter.acquire(KEY, Cost::tokens(tokens));
    let refused = |tokens, within| acquire(tokens).within(within).blocking().unwrap_err();
    assert_eq!(
        refused(3, Span::from_millis(299)),
        AcquireError::TooLong { wait: Span::from_millis(300), wait_max: Span::from_millis(299) }
    );
    assert_eq!(refused(6, Span::MAX), AcquireError::Never { cost: Cost::tokens(6) });
    assert_eq!(refused(0, Span::MAX), AcquireError::Invalid(CheckError::ZeroCost));
    assert_eq!(acquire(1).behind(0).blocking(), Err(AcquireError::QueueFull { waiters_max: 0 }));
    let Verdict::Deny { wait, .. } = limiter.check(KEY) else { panic!() };
    assert_eq!(wait, Span::from_millis(100), "and is charged nothing");
}

#[test]
fn a_changed_limit_reaches_a_parked_thread() {
    let (limiter, clock) = spent(per_second(1, 5));
    let left = queue_up(&limiter, &[5, 5]);
    limiter.default_rule().set_limit(per_second(1_000, 5)).unwrap();
    for waiter in [0, 1] {
        clock.advance(Span::from_millis(5));
        assert_eq!(left.recv().unwrap(), waiter);
    }
}

#[test]
fn what_waits_is_send_and_static() {
    fn is_send_and_static<T: Send + 'static>(_: &T) {}
    let (limiter, _clock) = spent(per_second(1, 5));
    let acquire = limiter.acquire(KEY, Cost::ONE).within(Span::ZERO);
    is_send_and_static(&acquire);
    assert!(format!("{acquire:?}").contains("is_waiting: false"));
    acquire.blocking().unwrap_err();
}
