//! Whatever mix of waiting, checking and giving up: what leaves is within the limit, in every interval.

use tollgate::{Burst, Cost, LATENESS_MAX, Limit, Rate};
use tollgate_sim::checker::{Promise, judge};
use tollgate_sim::history::Recorder;
use tollgate_sim::seeds;

use crate::world::{KEY, World, millis, paused};

const PER_SECOND: u64 = 200;
const BURST: u64 = 10;

/// What leaves may be as late as timers are, by as much as is documented.
fn promised() -> Promise {
    let late = PER_SECOND * LATENESS_MAX.as_nanos() / 1_000;
    Promise::of(Limit::new(Rate::per_second(PER_SECOND), Burst::micros(BURST * 1_000_000 + late)).unwrap())
}

#[test]
fn departures_and_checks_together_keep_the_promise() {
    seeds::for_each_seed(0..20, |random| {
        paused(async || {
            let limit = Limit::new(Rate::per_second(PER_SECOND), Burst::tokens(BURST)).unwrap();
            let (world, recorder) = (World::new(limit), Recorder::new());
            let (mut tasks, mut lane) = (Vec::new(), recorder.lane());
            for waiter in 0..400_usize {
                let cost = Cost::micros(random.u64(1..=BURST * 1_000_000));
                let start = world.limiter.now();
                match random.u8(0..6) {
                    0..3 => {
                        let acquire = world.limiter.acquire(KEY, cost).within(millis(random.u64(0..400)));
                        tasks.push((cost, start, world.wait(waiter, acquire).await));
                    }
                    3 => {
                        let admitted = world.limiter.check_n(KEY, cost).is_admitted();
                        lane.check(0, cost, start, world.limiter.now(), admitted);
                    }
                    4 if !tasks.is_empty() => tasks[random.usize(0..tasks.len())].2.abort(),
                    _ => tokio::time::sleep(millis(random.u64(0..60)).into()).await,
                }
            }
            let mut admitted = 0;
            for (cost, start, task) in tasks {
                // Aborted, refused, or let go when it had waited.
                let Ok(Ok(acquired)) = task.await else { continue };
                let left = start + acquired.waited;
                lane.check(0, cost, left, left, true);
                admitted += 1;
            }
            drop(lane);
            assert!(admitted > 10, "{admitted}");
            judge(recorder.into_events(), &promised()).assert_kept();
        });
    });
}
