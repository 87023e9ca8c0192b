//! A request's turn: when it may go ahead if a leaky bucket shapes the traffic.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tollgate::Decision;

/// Ready when the request may go ahead. It is paid for already.
#[derive(Debug)]
pub(crate) struct Turn {
    #[cfg(feature = "tokio")]
    sleep: Pin<Box<tokio::time::Sleep>>,
}

impl Turn {
    /// The turn to wait for; `None` if it has come, and always without the feature `tokio`.
    #[cfg(feature = "tokio")]
    pub(crate) fn of(decision: &Decision) -> Option<Turn> {
        let delay =
            decision.verdict().and_then(|verdict| verdict.delay()).filter(|delay| !delay.is_zero())?;
        Some(Turn { sleep: Box::pin(tokio::time::sleep(delay)) })
    }

    #[cfg(not(feature = "tokio"))]
    pub(crate) fn of(_: &Decision) -> Option<Turn> {
        None
    }
}

impl Future for Turn {
    type Output = ();

    #[cfg(feature = "tokio")]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.sleep.as_mut().poll(cx)
    }

    #[cfg(not(feature = "tokio"))]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}
