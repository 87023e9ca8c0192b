//! Wakers are somebody else's code: one that panics takes nobody else's turn.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use tollgate::{Acquire, Clock, Cost, Limiter, Moment, Span};

use crate::world::{KEY, paused, per_second, poll_once};

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker");
    }
}

#[derive(Default)]
struct Counts(AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A limiter on a clock of its own: no timer of tokio's wakes anybody.
fn by_hand() -> (Limiter, Clock) {
    let clock = Clock::manual(Moment::from_nanos(1_000_000_000));
    (Limiter::builder().clock(clock.clone()).build(per_second(10, 5)).unwrap(), clock)
}

fn join(limiter: &Limiter, key: &str, waker: &Waker) -> Acquire {
    let mut acquire = limiter.acquire(key, Cost::ONE);
    assert!(Pin::new(&mut acquire).poll(&mut Context::from_waker(waker)).is_pending());
    acquire
}

#[test]
fn a_waker_that_panics_does_not_keep_the_others_asleep() {
    paused(async || {
        let (limiter, clock) = by_hand();
        assert!(limiter.check_n(KEY, Cost::tokens(5)).is_admitted());
        let woken: Arc<Counts> = Arc::default();
        let wakers =
            [Arc::new(Panics).into(), woken.clone().into(), Arc::new(Panics).into(), woken.clone().into()];
        let mut waiting = wakers.map(|waker| join(&limiter, KEY, &waker));
        clock.advance(Span::from_millis(400));
        let mut neighbour = limiter.acquire(KEY, Cost::ONE);
        assert!(
            catch_unwind(AssertUnwindSafe(|| poll_once(&mut neighbour))).is_err(),
            "whose it is hears of it"
        );
        assert_eq!(woken.0.load(Ordering::Relaxed), 2);
        assert!(waiting.iter_mut().all(|acquire| poll_once(acquire).is_ready()));
    });
}

#[test]
fn nor_those_of_other_buckets_when_a_limit_changes() {
    paused(async || {
        let (limiter, _clock) = by_hand();
        let woken: Arc<Counts> = Arc::default();
        let keys: Vec<String> = (0..100).map(|client| format!("client {client}")).collect();
        let mut waiting = Vec::new();
        for (client, key) in keys.iter().enumerate() {
            assert!(limiter.check_n(key.as_str(), Cost::tokens(5)).is_admitted());
            let waker = if client % 2 == 0 { Arc::new(Panics).into() } else { woken.clone().into() };
            waiting.push(join(&limiter, key, &waker));
        }
        let change = || limiter.default_rule().set_limit(per_second(20, 5));
        assert!(catch_unwind(AssertUnwindSafe(change)).is_err());
        assert_eq!(woken.0.load(Ordering::Relaxed), 50);
    });
}
