//! Waiting with a task: [`Acquire`] as a future, with a timer of tokio's for whoever is first.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use super::acquire::{Acquire, Acquired, Step};
use super::error::AcquireError;

/// A timer that is made when it is first needed, and kept for the next time.
#[derive(Debug, Default)]
pub(super) struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    /// Has the task woken after `wait`, rounded up to tokio's millisecond. Whether that is over already.
    fn poll_after(&mut self, wait: Duration, cx: &mut Context<'_>) -> Poll<()> {
        let sleep = match &mut self.sleep {
            Some(kept) => {
                kept.as_mut().set(sleep(wait));
                kept
            }
            none => none.insert(Box::pin(sleep(wait))),
        };
        sleep.as_mut().poll(cx)
    }
}

/// Ready when the tokens are there, or when it is certain that they will not be in time.
///
/// Dropping it gives its place back. While it is not polled although it was woken, those behind it wait longer.
///
/// # Panics
/// When it has to wait and is not polled within a tokio runtime whose timers are enabled: tokio does.
impl Future for Acquire {
    type Output = Result<Acquired, AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            let wait = match this.step(cx.waker()) {
                Step::Done(outcome) => return Poll::Ready(outcome),
                Step::Wait(None) => return Poll::Pending,
                Step::Wait(Some(wait)) => this.clock().time_to_wait(wait),
            };
            if this.timer.poll_after(wait, cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}
