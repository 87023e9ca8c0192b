//! One round: so many tasks acquire so often, in one thread.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;

use crate::processor_time;
use crate::stopwatch::instant;

/// Waits that should be shorter than this say more about timers, which are a millisecond coarse, than about fairness.
const FAIR_WAIT_MIN: Duration = Duration::from_millis(20);

/// A limiter that lets one through at a time.
pub(crate) trait Gate: Send + Sync + 'static {
    /// Ready when it has one token.
    fn acquire(&self) -> impl Future<Output = ()> + Send;
}

/// What one round took.
#[derive(Debug)]
pub(crate) struct Round {
    processor_time: Duration,
    acquires: u32,
    /// How long each task waited for its first token, in the order in which they came.
    waits: Vec<Duration>,
}

/// Has `tasks` tasks acquire `times` times each.
pub(crate) fn round(gate: &Arc<impl Gate>, tasks: u32, times: u32) -> Round {
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime of one thread");
    let before = processor_time::so_far();
    let waits = runtime.block_on(async {
        let spawn = |_| {
            let gate = Arc::clone(gate);
            tokio::spawn(async move {
                let came = instant();
                gate.acquire().await;
                let waited = instant() - came;
                for _ in 1..times {
                    gate.acquire().await;
                }
                waited
            })
        };
        let tasks: Vec<_> = (0..tasks).map(spawn).collect();
        let mut waits = Vec::with_capacity(tasks.len());
        for task in tasks {
            waits.push(task.await.expect("a gate panicked"));
        }
        waits
    });
    Round { processor_time: processor_time::so_far().saturating_sub(before), acquires: tasks * times, waits }
}

impl Round {
    /// Processor time of an acquire, its share of everything else included.
    pub(crate) fn nanos_per_acquire(&self) -> f64 {
        self.processor_time.as_secs_f64() * 1e9 / f64::from(self.acquires)
    }

    /// The worst of real wait ÷ fair wait. It is fair to wait until those who came before have had a token each, and then
    /// for one's own.
    pub(crate) fn worst_wait(&self, per_second: u32) -> f64 {
        let fair = (0..).map(|before| Duration::from_secs(1) * before / per_second);
        let waits = self.waits.iter().zip(fair).filter(|(_, fair)| *fair >= FAIR_WAIT_MIN);
        waits.map(|(wait, fair)| wait.as_secs_f64() / fair.as_secs_f64()).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Round};

    #[test]
    fn a_wait_is_held_against_the_place_in_the_queue() {
        let mut waits: Vec<Duration> = (0..50).map(Duration::from_millis).collect();
        let round = |waits| Round { processor_time: Duration::from_micros(5), acquires: 50, waits };
        assert!((round(waits.clone()).worst_wait(1_000) - 1.0).abs() < 1e-9);
        assert!((round(waits.clone()).nanos_per_acquire() - 100.0).abs() < 1e-9);
        waits.swap(40, 45);
        waits[3] = Duration::from_secs(9);
        assert!((round(waits).worst_wait(1_000) - 1.125).abs() < 1e-9, "the first 20 ms do not count");
    }
}
