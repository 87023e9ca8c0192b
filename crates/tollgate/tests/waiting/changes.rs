//! Limits that change while somebody waits.

use tollgate::AcquireError;

use crate::world::{World, millis, paused, per_second};

#[test]
fn a_raised_rate_lets_those_who_wait_leave_sooner() {
    paused(async || {
        let world = World::spent(per_second(10, 10));
        let _first = world.wait(1, world.acquire(10)).await;
        let second = world.wait(2, world.acquire(10)).await;
        tokio::time::sleep(millis(500).into()).await;
        world.limiter.default_rule().set_limit(per_second(100, 10)); // five tokens short, then fifteen
        second.await.unwrap().unwrap();
        world.assert_left(&[(1, millis(550)), (2, millis(650))]);
    });
}

#[test]
fn a_lowered_rate_lets_them_leave_later_and_no_timer_fires_early() {
    paused(async || {
        let world = World::spent(per_second(10, 10));
        let task = world.wait(1, world.acquire(10)).await;
        tokio::time::sleep(millis(500).into()).await;
        world.limiter.default_rule().set_limit(per_second(5, 10));
        task.await.unwrap().unwrap();
        world.assert_left(&[(1, millis(1_500))]);
    });
}

#[test]
fn declaring_a_rule_again_changes_its_limit_for_those_who_wait() {
    paused(async || {
        let world = World::spent(per_second(10, 10));
        let task = world.wait(1, world.acquire(10)).await;
        world.limiter.rule("default", per_second(1_000, 10)).unwrap();
        task.await.unwrap().unwrap();
        world.assert_left(&[(1, millis(10))]);
    });
}

#[test]
fn who_would_wait_too_long_after_a_change_gives_up_in_time_and_gives_its_place_back() {
    paused(async || {
        let world = World::spent(per_second(10, 10));
        let _patient = world.wait(1, world.acquire(10)).await;
        let impatient = world.wait(2, world.acquire(5).within(millis(1_600))).await;
        let behind = world.wait(3, world.acquire(1)).await;
        tokio::time::sleep(millis(500).into()).await;
        world.limiter.default_rule().set_limit(per_second(4, 10)); // 1: at 1.75 s; 2: at 3 s; 3: at 2 s without 2
        let error = impatient.await.unwrap().unwrap_err();
        let gave_up = world.elapsed();
        assert!(gave_up >= millis(1_600) && gave_up <= millis(1_601), "{gave_up}");
        let AcquireError::TooLong { wait, wait_max } = error else { panic!("{error}") };
        assert_eq!(wait_max, millis(1_600));
        assert!(wait >= millis(3_000) && wait <= millis(3_001), "{wait}");
        behind.await.unwrap().unwrap();
        world.assert_left(&[(1, millis(1_750)), (3, millis(2_000))]);
    });
}

#[test]
fn a_burst_lowered_below_what_was_booked_still_lets_it_leave() {
    paused(async || {
        let world = World::spent(per_second(10, 10));
        let task = world.wait(1, world.acquire(10)).await;
        world.limiter.default_rule().set_limit(per_second(10, 1));
        task.await.unwrap().unwrap();
        world.assert_left(&[(1, millis(1_000))]);
        assert!(matches!(world.acquire(10).await, Err(AcquireError::Never { .. })));
    });
}
