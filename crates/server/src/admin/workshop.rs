//! Where work is done that keeps a processor busy for long: on a thread beside those that answer checks, one piece at a time.
//!
//! ```text
//!  handler ─► a place in the queue, or 503 ─► its turn, or 503 after a while ─► a thread of its own ─► answer
//! ```
//! Promises that no check waits for what is worked out here, that those who only ask keep nobody from changing something, and that
//! those who play keep nobody from either: each has a workshop. It does not know what is done.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tracing::Instrument;

use super::call::Call;
use crate::http::{Problem, Reply};

/// Those who are served or wait for their turn.
const QUEUE_MAX: usize = 8;
/// How long somebody waits for their turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// One place to work at, and a queue.
#[derive(Debug)]
pub(super) struct Workshop {
    queue: Arc<Semaphore>,
    turn: Arc<Semaphore>,
}

/// Somebody's turn; over when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _turn: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

impl Default for Workshop {
    fn default() -> Workshop {
        Workshop { queue: Arc::new(Semaphore::new(QUEUE_MAX)), turn: Arc::new(Semaphore::new(1)) }
    }
}

impl Workshop {
    /// Waits for a turn, among few and not for long.
    pub(super) async fn turn(&self) -> Result<Turn, Problem> {
        let place = Arc::clone(&self.queue).try_acquire_owned().map_err(|_| busy())?;
        let turn = timeout(PATIENCE, Arc::clone(&self.turn).acquire_owned()).await;
        let turn = turn.map_err(|_| busy())?.map_err(|_| busy())?;
        Ok(Turn { _turn: turn, _place: place })
    }
}

/// Has a request answered that asks what something would come to.
pub(super) async fn propose<A>(
    call: Call,
    handler: impl FnOnce(Call) -> A + Send + 'static,
) -> Result<Reply, Problem>
where
    A: Future<Output = Result<Reply, Problem>>,
{
    let turn = call.operations.proposals.turn().await?;
    aside(call, turn, handler).await
}

/// Has a request answered that changes something.
pub(super) async fn change<A>(
    call: Call,
    handler: impl FnOnce(Call) -> A + Send + 'static,
) -> Result<Reply, Problem>
where
    A: Future<Output = Result<Reply, Problem>>,
{
    let turn = call.operations.changes.turn().await?;
    aside(call, turn, handler).await
}

/// The turn ends with the work, though whoever asked may have gone.
async fn aside<A>(
    call: Call,
    turn: Turn,
    handler: impl FnOnce(Call) -> A + Send + 'static,
) -> Result<Reply, Problem>
where
    A: Future<Output = Result<Reply, Problem>>,
{
    let (runtime, span) = (Handle::current(), tracing::Span::current());
    let work = move || {
        let answer = runtime.block_on(handler(call).instrument(span));
        drop(turn);
        answer
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Problem::unavailable("the work was broken off; try again")))
}

pub(super) fn busy() -> Problem {
    let detail = "others are having such work done, and it is done one at a time; try again in a moment";
    Problem::unavailable(detail).because("busy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_works_few_wait_and_nobody_waits_for_long() {
        let workshop = Arc::new(Workshop::default());
        let first = workshop.turn().await.unwrap();
        let waiting: Vec<_> = (1..QUEUE_MAX)
            .map(|_| {
                let workshop = Arc::clone(&workshop);
                tokio::spawn(async move { workshop.turn().await.map(drop) })
            })
            .collect();
        tokio::task::yield_now().await;
        let refused = workshop.turn().await.unwrap_err().reply();
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["retry-after"]),
            (503, &"1".parse().unwrap())
        );
        for waiting in waiting {
            assert!(waiting.await.unwrap().is_err(), "it was not its turn");
        }
        drop(first);
        assert!(workshop.turn().await.is_ok());
    }
}
