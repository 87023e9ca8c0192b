//! An answer that is under way.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::{LinkError, Told};

/// An answer that is under way. It comes, or an error does, at the latest when the connection is found to be dead. Whoever cannot wait
/// so long waits [`Pending::within`] a deadline, and may look again later: a late answer is still true.
#[derive(Debug)]
#[must_use = "the operation is sent, and charged, whether anybody waits or not"]
pub struct Pending {
    answer: oneshot::Receiver<Result<Told, LinkError>>,
    is_withdrawn: Arc<AtomicBool>,
}

/// Where the answer to a [`Pending`] is put, and whether it is still wanted.
pub(super) struct Awaited {
    pub(super) answer: oneshot::Sender<Result<Told, LinkError>>,
    pub(super) is_withdrawn: Arc<AtomicBool>,
}

impl Pending {
    pub(super) fn new() -> (Awaited, Pending) {
        let (sender, receiver) = oneshot::channel();
        let is_withdrawn = Arc::<AtomicBool>::default();
        let awaited = Awaited { answer: sender, is_withdrawn: Arc::clone(&is_withdrawn) };
        (awaited, Pending { answer: receiver, is_withdrawn })
    }

    /// Withdraws the operation if it was not sent yet: its answer is then [`LinkError::Withdrawn`].
    pub fn withdraw(&self) {
        self.is_withdrawn.store(true, Ordering::Relaxed);
    }

    /// Waits at most so long. After [`LinkError::TimedOut`] it may be awaited again; after an answer it may not.
    pub async fn within(&mut self, deadline: Duration) -> Result<Told, LinkError> {
        tokio::time::timeout(deadline, self).await.unwrap_or(Err(LinkError::TimedOut))
    }
}

impl Future for Pending {
    type Output = Result<Told, LinkError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.answer).poll(context).map(|answer| answer.unwrap_or(Err(LinkError::Closed)))
    }
}
