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
use tollgate::policy::Stop;
use tracing::Instrument;

use super::call::Call;
use crate::http::{Problem, Reply};

/// Those who are served or wait for their turn.
const QUEUE_MAX: usize = 8;
/// How long somebody waits for their turn.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest time to compile the rules of one request; they are refused after that.
const WORK_TIME_MAX: Duration = Duration::from_secs(10);

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

/// Asks the work to stop when the request is dropped: its client has left.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.request();
    }
}

/// Runs the handler on a thread of its own. The turn ends with the work.
async fn aside<A>(
    call: Call,
    turn: Turn,
    handler: impl FnOnce(Call) -> A + Send + 'static,
) -> Result<Reply, Problem>
where
    A: Future<Output = Result<Reply, Problem>>,
{
    let (runtime, span) = (Handle::current(), tracing::Span::current());
    let stop = call.stop.clone();
    let work = move || {
        let answer = runtime.block_on(handler(call).instrument(span));
        drop(turn);
        answer
    };
    on_a_thread(work, stop, WORK_TIME_MAX).await
}

/// Does the work on a thread of its own. Asks it to stop when the request is dropped, since its client has left, and after `time_max`.
async fn on_a_thread(
    work: impl FnOnce() -> Result<Reply, Problem> + Send + 'static,
    stop: Stop,
    time_max: Duration,
) -> Result<Reply, Problem> {
    let stop = StopOnDrop(stop);
    let mut work = tokio::task::spawn_blocking(work);
    let done = if let Ok(done) = timeout(time_max, &mut work).await {
        done
    } else {
        // The rules are refused then, and nothing is stored; a change that is being stored already is finished.
        stop.0.request();
        work.await
    };
    done.unwrap_or_else(|_| Err(Problem::unavailable("the work was broken off; try again")))
}

pub(super) fn busy() -> Problem {
    let detail = "others are having such work done, and it is done one at a time; try again in a moment";
    Problem::unavailable(detail).because("busy")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::admin::call::ok;

    const FOREVER: Duration = Duration::from_hours(1);

    /// Work that lasts until it is asked to stop, and a channel that tells whether it was.
    fn work_until(stop: &Stop) -> (impl FnOnce() -> Result<Reply, Problem> + Send + 'static, Receiver<bool>) {
        let (stop, (tell, told)) = (stop.clone(), channel());
        let work = move || {
            // Ten seconds at most.
            let is_asked = (0..1_000).any(|_| {
                std::thread::park_timeout(Duration::from_millis(10));
                stop.is_requested()
            });
            tell.send(is_asked).unwrap();
            ok(&())
        };
        (work, told)
    }

    #[tokio::test]
    async fn work_is_asked_to_stop_after_its_time_and_answered() {
        let stop = Stop::default();
        let (work, told) = work_until(&stop);
        let answer = on_a_thread(work, stop, Duration::from_millis(50)).await;
        assert!(answer.is_ok(), "what the work says is the answer");
        assert_eq!(told.recv(), Ok(true));
    }

    #[tokio::test]
    async fn work_is_asked_to_stop_when_its_client_leaves() {
        let stop = Stop::default();
        let (work, told) = work_until(&stop);
        let request = on_a_thread(work, stop, FOREVER);
        assert!(timeout(Duration::from_millis(50), request).await.is_err(), "it was dropped");
        assert_eq!(told.recv(), Ok(true));
    }

    #[tokio::test]
    async fn work_that_ends_in_time_is_not_asked_to_stop() {
        let stop = Stop::default();
        let seen = stop.clone();
        let work = move || if seen.is_requested() { Err(busy()) } else { ok(&()) };
        assert!(on_a_thread(work, stop, FOREVER).await.is_ok());
    }

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
