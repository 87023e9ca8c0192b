//! Waiting under other algorithms than the token bucket, and beside priorities.

use tollgate::{
    AcquireError, Burst, Concurrency, Cost, FixedWindow, LeakyBucket, Limit, Limiter, Priority, Rate, Rule,
    Shares, SlidingLog, Span, Window,
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

/// Handles on the default rule that leave half of every bucket alone, and that may spend it all.
fn bulk_and_critical(world: &World) -> [Rule; 2] {
    let shares = Shares::NONE.keep(Priority::Critical, 50).unwrap();
    [Priority::Bulk, Priority::Critical]
        .map(|priority| world.limiter.default_rule().of_priority(priority, shares))
}

#[test]
fn who_leaves_a_share_alone_takes_nothing_of_it_by_waiting() {
    paused(async || {
        let world = World::new(Limit::new(Rate::per_hour(1), Burst::tokens(100)).unwrap());
        let [bulk, critical] = bulk_and_critical(&world);
        assert!(bulk.check_n(KEY, Cost::tokens(50)).is_admitted());
        for _ in 0..50 {
            let error = bulk.acquire(KEY, Cost::ONE).await.unwrap_err();
            assert_eq!(error, AcquireError::KeepsAShare { wait: Span::from_secs(3_600) });
        }
        assert_eq!((world.elapsed(), world.limiter.waiters()), (Span::ZERO, 0), "refused at once");
        let admitted = (0..60).filter(|_| critical.check(KEY).is_admitted()).count();
        assert_eq!(admitted, 50, "the whole share");
    });
}

#[test]
fn who_leaves_a_share_alone_is_admitted_at_once_or_told_the_exact_wait() {
    paused(async || {
        let world = World::new(per_second(10, 10));
        let [bulk, critical] = bulk_and_critical(&world);
        assert_eq!(bulk.acquire(KEY, Cost::tokens(5)).await.unwrap().waited, Span::ZERO);
        assert_eq!(critical.acquire(KEY, Cost::tokens(5)).await.unwrap().waited, Span::ZERO);
        let waiting = world.wait(1, critical.acquire(KEY, Cost::tokens(2))).await;
        let error = bulk.acquire(KEY, Cost::ONE).await.unwrap_err();
        // What is booked already, one token, and the share.
        assert_eq!(error.retry_after(), Some(millis(800).into()));
        assert_eq!(
            error.to_string(),
            "`priority` leaves a share of the bucket alone, and who does so does not queue; wait 800ms and try again, or \
             acquire with the rule's own handle"
        );
        waiting.await.unwrap().unwrap();
        tokio::time::sleep(millis(600).into()).await;
        assert_eq!(bulk.acquire(KEY, Cost::ONE).await.unwrap().waited, Span::ZERO);
    });
}

#[test]
fn in_a_leaky_bucket_who_leaves_a_share_alone_queues_beside_it() {
    paused(async || {
        let leaky = LeakyBucket::new(Rate::per_second(10), Burst::tokens(4)).unwrap();
        let world = World::with(Limiter::builder(), leaky);
        let [bulk, critical] = bulk_and_critical(&world);
        let _first = world.wait(1, bulk.acquire(KEY, Cost::ONE)).await;
        let _second = world.wait(2, bulk.acquire(KEY, Cost::ONE)).await;
        let error = bulk.acquire(KEY, Cost::ONE).await.unwrap_err();
        assert_eq!(error, AcquireError::BucketFull { wait: millis(100) });
        let third = world.wait(3, critical.acquire(KEY, Cost::ONE)).await;
        third.await.unwrap().unwrap();
        world.assert_left(&[(1, millis(0)), (2, millis(100)), (3, millis(200))]);
    });
}
