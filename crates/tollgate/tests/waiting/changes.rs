//! Limits that change while somebody waits.

use std::task::Poll;

use tollgate::{AcquireError, Cost};

use crate::world::{KEY, World, millis, paused, per_second, poll_once};

#[test]
fn a_raised_rate_lets_those_who_wait_leave_sooner() {
    paused(async || {
        let world = World::spent(per_second(10, 10));
        let _first = world.wait(1, world.acquire(10)).await;
        let second = world.wait(2, world.acquire(10)).await;
        tokio::time::sleep(millis(500).into()).await;
        world.limiter.default_rule().set_limit(per_second(100, 10)).unwrap(); // five tokens short, then fifteen
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
        world.limiter.default_rule().set_limit(per_second(5, 10)).unwrap();
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
        world.limiter.default_rule().set_limit(per_second(4, 10)).unwrap(); // 1: at 1.75 s; 2: at 3 s; 3: at 2 s without 2
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
fn who_asked_for_more_than_a_lowered_burst_is_told_so_and_gives_its_place_back() {
    paused(async || {
        let world = World::spent(per_second(10, 10));
        let small = world.wait(1, world.acquire(1)).await;
        let large = world.wait(2, world.acquire(10)).await;
        let behind = world.wait(3, world.acquire(1)).await;
        world.limiter.default_rule().set_limit(per_second(10, 1)).unwrap();
        assert_eq!(large.await.unwrap(), Err(AcquireError::Never { cost: Cost::tokens(10) }));
        assert_eq!((world.elapsed(), world.limiter.waiters()), (millis(0), 2), "at once");
        small.await.unwrap().unwrap();
        behind.await.unwrap().unwrap();
        world.assert_left(&[(1, millis(100)), (3, millis(200))]);
    });
}

/// Whoever was told to look and does so late does not leave either, though others were served behind it meanwhile.
#[test]
fn who_asked_for_more_than_a_lowered_burst_is_told_so_however_late_it_looks() {
    paused(async || {
        let world = World::spent(per_second(10, 10));
        let mut large = world.acquire(10);
        assert!(poll_once(&mut large).is_pending());
        world.limiter.default_rule().set_limit(per_second(10, 1)).unwrap();
        tokio::time::advance(millis(5_000).into()).await;
        let behind = world.wait(1, world.acquire(1)).await;
        let refused = Poll::Ready(Err(AcquireError::Never { cost: Cost::tokens(10) }));
        assert_eq!(poll_once(&mut large), refused);
        behind.await.unwrap().unwrap();
        assert!(!world.limiter.check(KEY).is_admitted(), "a burst of one, and one has left");
        assert_eq!(world.limiter.waiters(), 0);
    });
}

#[test]
fn a_grant_lets_those_who_wait_leave_sooner() {
    paused(async || {
        let world = World::spent(per_second(10, 10));
        let _first = world.wait(1, world.acquire(5)).await;
        let second = world.wait(2, world.acquire(5)).await;
        world.limiter.default_rule().grant(KEY, Cost::tokens(4)).unwrap();
        second.await.unwrap().unwrap();
        world.assert_left(&[(1, millis(100)), (2, millis(600))]);
    });
}

#[test]
fn a_reset_serves_those_who_wait_first() {
    paused(async || {
        let world = World::spent(per_second(10, 10));
        for waiter in 1..=3 {
            world.wait(waiter, world.acquire(4)).await;
        }
        world.limiter.reset(KEY).unwrap();
        assert!(!world.limiter.check(KEY).is_admitted(), "ten tokens for twelve that are booked");
        tokio::time::sleep(millis(300).into()).await;
        world.assert_left(&[(1, millis(0)), (2, millis(0)), (3, millis(200))]);
        assert!(world.limiter.check(KEY).is_admitted());
    });
}

#[test]
fn what_a_reservation_gives_back_goes_to_those_who_wait() {
    paused(async || {
        let world = World::new(per_second(10, 10));
        let reservation =
            world.limiter.default_rule().reserve(KEY, Cost::tokens(10), millis(60_000)).unwrap();
        let _first = world.wait(1, world.acquire(5)).await;
        let second = world.wait(2, world.acquire(5)).await;
        reservation.commit(Cost::tokens(4)).unwrap();
        assert!(!world.limiter.check(KEY).is_admitted(), "six tokens for ten that are booked");
        second.await.unwrap().unwrap();
        world.assert_left(&[(1, millis(0)), (2, millis(400))]);
    });
}

#[test]
fn an_overrun_is_charged_beside_what_those_who_wait_have_booked() {
    paused(async || {
        let world = World::new(per_second(1, 10));
        let reservation =
            world.limiter.default_rule().reserve(KEY, Cost::tokens(10), millis(60_000)).unwrap();
        let mut waiting: Vec<_> = (0..10).map(|_| world.acquire(1)).collect();
        assert!(waiting.iter_mut().all(|acquire| poll_once(acquire).is_pending()));
        let settled = reservation.commit(Cost::tokens(25)).unwrap();
        assert_eq!((settled.charged.whole(), settled.forgiven.whole()), (10, 5), "a burst of debt");
        let wait = world.limiter.check(KEY).retry_after().unwrap();
        assert_eq!(wait.as_secs(), 21, "ten are booked and ten owed");
    });
}
