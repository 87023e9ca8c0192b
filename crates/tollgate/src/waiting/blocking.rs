//! Waiting with a thread: parked, and woken by whoever goes before it or by the time.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

use super::acquire::{Acquire, Acquired, Step};
use super::error::AcquireError;

/// A parked thread.
struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Acquire {
    /// Blocks this thread until the tokens are there. Threads and tasks that wait for one key wait in one queue.
    ///
    /// With a [`Clock::manual`](crate::Clock::manual) the thread looks again every millisecond until somebody has moved the
    /// clock far enough.
    ///
    /// ```
    /// # use tollgate::*;
    /// let limiter = Limiter::new(Limit::new(Rate::per_second(100), Burst::tokens(1))?);
    /// assert_eq!(limiter.acquire("a", Cost::ONE).blocking()?.waited, Span::ZERO);
    /// assert!(limiter.acquire("a", Cost::ONE).blocking()?.waited > Span::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocking(mut self) -> Result<Acquired, AcquireError> {
        // Nearly always there is nothing to wait for, so there is no waker to be made either.
        if let Step::Done(outcome) = self.step(Waker::noop()) {
            return outcome;
        }
        let waker = Waker::from(Arc::new(Parked(thread::current())));
        loop {
            match self.step(&waker) {
                Step::Done(outcome) => return outcome,
                Step::Wait(Some(wait)) => thread::park_timeout(self.clock().time_to_wait(wait)),
                Step::Wait(None) => thread::park(),
            }
        }
    }
}
