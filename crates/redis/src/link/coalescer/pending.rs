//! An answer that is under way.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::{LinkError, Told};

/// An answer that is under way. It comes, or an error does, at the latest when the connection is found to be dead. Whoever cannot wait
/// so long waits [`Pending::within`] a deadline, and may look again later: a late answer is still true.
#[derive(Debug)]
#[must_use = "the operation is sent, and charged, whether anybody waits or not"]
pub struct Pending(oneshot::Receiver<Result<Told, LinkError>>);

impl Pending {
    pub(super) fn new() -> (oneshot::Sender<Result<Told, LinkError>>, Pending) {
        let (sender, receiver) = oneshot::channel();
        (sender, Pending(receiver))
    }

    /// Waits at most so long. After [`LinkError::TimedOut`] it may be awaited again; after an answer it may not.
    pub async fn within(&mut self, deadline: Duration) -> Result<Told, LinkError> {
        tokio::time::timeout(deadline, self).await.unwrap_or(Err(LinkError::TimedOut))
    }
}

impl Future for Pending {
    type Output = Result<Told, LinkError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or(Err(LinkError::Closed)))
    }
}
