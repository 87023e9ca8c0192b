//! Waiting under other algorithms than the token bucket, and beside priorities.

use tollgate::{
    AcquireError, Burst, Concurrency, Cost, FixedWindow, LeakyBucket, Limiter, Priority, Rate, Shares,
    SlidingLog, Span, Window,
};

use crate::world::{KEY, World, millis, paused, per_second};

#[test]
fn in_a_leaky_bucket_everybody_leaves_one_after_the_other() {
    paused(async || {
        let leaky = LeakyBucket::new(Rate::per_second(10), Burst::tokens(4)).unwrap();
        let world = World::with(Limiter::builder(), leaky);
        tokio::time::sleep(Span::from_secs(5).into()).await; // and saves nothing up
        let start = world.elapsed();
        let mut tasks = Vec::new();
        for waiter in 0..4 {
            tasks.push(world.wait(waiter, world.acquire(1)).await);
        }
        let AcquireError::BucketFull { wait } = world.acquire(1).await.unwrap_err() else { panic!() };
        assert_eq!(wait, millis(100));
        tasks.remove(1).abort();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        world.assert_left(&[(0, start), (2, start + millis(100)), (3, start + millis(200))]);
    });
}

#[test]
fn in_a_fixed_window_they_leave_when_the_next_one_begins() {
    paused(async || {
        let window = FixedWindow::new(Burst::tokens(2), Window::every(Span::from_secs(10)).unwrap()).unwrap();
        let world = World::with(Limiter::builder(), window);
        let mut tasks = Vec::new();
        for waiter in 0..6 {
            tasks.push(world.wait(waiter, world.acquire(1)).await);
        }
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let log = world.log();
        let apart = |one: usize, next: usize| log[next].1.as_nanos() - log[one].1.as_nanos();
        assert_eq!((log[0].1, log[1].1), (Span::ZERO, Span::ZERO), "two in this window: {log:?}");
        assert!(apart(2, 3) < 2_000_000 && apart(4, 5) < 2_000_000, "two in each: {log:?}");
        assert!((9_998_000_000..10_002_000_000).contains(&apart(2, 4)), "ten seconds apart: {log:?}");
    });
}

#[test]
fn where_there_is_no_queue_that_is_said_and_nothing_is_charged() {
    paused(async || {
        let log = SlidingLog::new(Burst::tokens(2), Span::from_secs(10)).unwrap();
        let world = World::with(Limiter::builder(), log);
        let error = world.acquire(1).await.unwrap_err();
        assert_eq!(error, AcquireError::NoQueue { algorithm: "sliding_window log" });
        let places = Concurrency::new(2, Span::from_secs(10)).unwrap();
        let rule = world.limiter.rule("at work", places).unwrap();
        let error = rule.acquire(KEY, Cost::ONE).await.unwrap_err();
        assert!(
            error.to_string().starts_with("`limit` is a concurrency, which nobody can wait for"),
            "{error}"
        );
        assert_eq!(world.limiter.default_rule().balance(KEY).unwrap().whole(), 2);
    });
}

#[test]
fn a_low_priority_waits_until_the_share_of_the_others_is_full_again() {
    paused(async || {
        let world = World::spent(per_second(10, 10));
        let shares = Shares::NONE.keep(Priority::Critical, 20).unwrap();
        let [bulk, critical] = [Priority::Bulk, Priority::Critical]
            .map(|priority| world.limiter.default_rule().of_priority(priority, shares));
        let slow = world.wait(1, bulk.acquire(KEY, Cost::ONE)).await;
        tokio::time::sleep(millis(200).into()).await;
        assert!(!bulk.check(KEY).is_admitted(), "nobody of its own kind goes before it");
        assert!(critical.check(KEY).is_admitted(), "but those do whom the share is for");
        slow.await.unwrap().unwrap();
        // One token of its own, and the two that had to stay when it came: who comes later does not push it back.
        world.assert_left(&[(1, millis(300))]);
    });
}
