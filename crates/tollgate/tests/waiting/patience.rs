//! Nobody waits longer than it is ready to, whoever is ahead of it.

use std::time::Duration;

use tollgate::AcquireError;

use crate::world::{World, millis, paused, per_second, poll_once};

#[test]
fn within_is_kept_behind_a_future_that_nobody_polls() {
    paused(async || {
        let world = World::spent(per_second(1, 1));
        let mut head = world.acquire(1);
        assert!(poll_once(&mut head).is_pending()); // and is not polled again
        let second = world.wait(1, world.acquire(1).within(millis(5_000))).await;
        let outcome = tokio::time::timeout(Duration::from_mins(10), second).await;
        // The head is let go when the second one looks, and what ran over until then is lost.
        let error = outcome.unwrap().unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::TooLong { .. }), "{error}");
        assert!(world.elapsed() <= millis(5_001), "{}", world.elapsed());
    });
}

#[test]
fn it_gives_up_in_time_also_where_those_before_it_left_late() {
    paused(async || {
        let world = World::spent(per_second(1, 1));
        let mut late = [world.acquire(1), world.acquire(1)];
        assert!(late.iter_mut().all(|acquire| poll_once(acquire).is_pending()));
        let hurried = world.wait(1, world.acquire(1).within(millis(3_500))).await;
        tokio::time::advance(Duration::from_millis(2_900)).await;
        // The first should have left at 1 s: what ran over meanwhile is lost, and the others are that much later.
        assert!(poll_once(&mut late[0]).is_ready());
        let error = hurried.await.unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::TooLong { .. }), "{error}");
        assert!(world.elapsed() >= millis(3_500) && world.elapsed() <= millis(3_501), "{}", world.elapsed());
        assert_eq!(world.limiter.waiters(), 1);
    });
}
