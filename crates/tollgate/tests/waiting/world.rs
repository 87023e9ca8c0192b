//! A limiter on a paused clock, and a log of who left when.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use tokio::runtime::Builder;
use tokio::task::JoinHandle;
use tollgate::{
    Acquire, AcquireError, Acquired, Algorithm, Burst, Clock, Cost, Limit, Limiter, LimiterBuilder, Moment,
    Rate, Span,
};

/// The key that everybody waits for unless told otherwise.
pub(crate) const KEY: &str = "upstream";

pub(crate) type Outcome = Result<Acquired, AcquireError>;

/// Who left after how long, in order.
pub(crate) type Log = Vec<(usize, Span)>;

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) limiter: Limiter,
    start: Moment,
    log: Arc<Mutex<Log>>,
}

/// Runs a test in a runtime whose clock is paused.
pub(crate) fn paused<F: Future>(test: impl FnOnce() -> F) -> F::Output {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async { test().await })
}

pub(crate) fn per_second(tokens: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_second(tokens), Burst::tokens(burst)).unwrap()
}

pub(crate) fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Joins the queue, or looks whether its turn has come, and does nothing more.
pub(crate) fn poll_once(acquire: &mut Acquire) -> Poll<Outcome> {
    Pin::new(acquire).poll(&mut Context::from_waker(Waker::noop()))
}

impl World {
    /// To be called inside the runtime.
    pub(crate) fn new(limit: Limit) -> World {
        World::with(Limiter::builder(), limit)
    }

    pub(crate) fn with(builder: LimiterBuilder, limit: impl Into<Algorithm>) -> World {
        World::of(builder.clock(Clock::tokio()).build(limit).unwrap())
    }

    /// A world around a limiter with a clock of its own.
    pub(crate) fn of(limiter: Limiter) -> World {
        World { start: limiter.now(), limiter, log: Arc::default() }
    }

    /// A world whose one bucket is empty.
    pub(crate) fn spent(limit: Limit) -> World {
        let world = World::new(limit);
        assert!(world.limiter.check_n(KEY, Cost::micros(limit.burst().as_micros())).is_admitted());
        world
    }

    pub(crate) fn acquire(&self, tokens: u64) -> Acquire {
        self.limiter.acquire(KEY, Cost::tokens(tokens))
    }

    /// Waits in a task of its own, which notes when it left under `label`. Joins the queue before this returns.
    pub(crate) async fn wait(&self, label: usize, acquire: Acquire) -> JoinHandle<Outcome> {
        let world = self.clone();
        let task = tokio::spawn(async move {
            let outcome = acquire.await;
            if outcome.is_ok() {
                let now = world.elapsed();
                world.log.lock().unwrap().push((label, now));
            }
            outcome
        });
        tokio::task::yield_now().await;
        task
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Span {
        self.limiter.now().since(self.start)
    }

    pub(crate) fn log(&self) -> Log {
        self.log.lock().unwrap().clone()
    }

    /// Everybody left in this order, none too early, and none later than tokio's millisecond allows.
    #[track_caller]
    pub(crate) fn assert_left(&self, expected: &[(usize, Span)]) {
        let log = self.log();
        let who = |log: &[(usize, Span)]| log.iter().map(|(label, _)| *label).collect::<Vec<_>>();
        assert_eq!(who(&log), who(expected), "{log:?}");
        for ((label, left), (_, due)) in log.iter().zip(expected) {
            assert!(left >= due, "{label} left at {left}, before {due}");
            assert!(*left <= *due + millis(1), "{label} left at {left}, later than {due}");
        }
    }
}
