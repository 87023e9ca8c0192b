//! First come, first served, and on time.

use tollgate::{Cost, Rate, Span, Verdict};

use crate::world::{KEY, World, millis, paused, per_second};

#[test]
fn waiters_leave_in_the_order_they_came_and_on_time() {
    paused(async || {
        let world = World::spent(per_second(10, 1));
        let mut tasks = Vec::new();
        for waiter in 1..=20 {
            tasks.push(world.wait(waiter, world.acquire(1)).await);
        }
        assert_eq!(world.limiter.waiters(), 20);
        for (task, nth) in tasks.into_iter().zip(1..) {
            let waited = task.await.unwrap().unwrap().waited;
            assert!(waited >= millis(100 * nth) && waited <= millis(100 * nth + 1), "{nth}: {waited}");
        }
        world.assert_left(&(1..=20).map(|nth| (nth, millis(100 * nth as u64))).collect::<Vec<_>>());
        assert_eq!(world.limiter.waiters(), 0);
    });
}

#[test]
fn who_finds_tokens_does_not_wait() {
    paused(async || {
        let world = World::new(per_second(10, 5));
        for _ in 0..5 {
            assert_eq!(world.acquire(1).await.unwrap().waited, Span::ZERO);
        }
        assert_eq!(world.elapsed(), Span::ZERO);
        let waited = world.acquire(1).await.unwrap().waited;
        assert!(waited >= millis(100) && waited <= millis(101), "{waited}");
    });
}

#[test]
fn a_wait_is_exact_and_no_timer_fires_early() {
    paused(async || {
        // 7 tokens in 3 s: no wait is a whole number of nanoseconds.
        let rate = Rate::new(7, Span::from_secs(3));
        let world = World::spent(tollgate::Limit::new(rate, tollgate::Burst::tokens(2)).unwrap());
        let Verdict::Deny { wait, .. } = world.limiter.check(KEY) else { panic!() };
        let task = world.wait(1, world.acquire(1)).await;
        let waited = task.await.unwrap().unwrap().waited;
        assert!(waited >= wait && waited <= wait + millis(1), "{waited} for {wait}");
    });
}

#[test]
fn a_check_is_not_admitted_before_those_who_wait() {
    paused(async || {
        let world = World::spent(per_second(10, 5));
        let task = world.wait(1, world.acquire(5)).await; // leaves at 500 ms
        for _ in 0..9 {
            tokio::time::sleep(millis(50).into()).await;
            assert!(!world.limiter.check_n(KEY, Cost::micros(1)).is_admitted(), "{}", world.elapsed());
        }
        let Verdict::Deny { wait, remaining, .. } = world.limiter.check(KEY) else { panic!() };
        assert!(
            wait > millis(100) && wait <= millis(150),
            "behind the waiter, and a token of its own: {wait}"
        );
        assert_eq!(remaining.as_micros(), 0);
        task.await.unwrap().unwrap();
        tokio::time::sleep(millis(100).into()).await;
        assert!(world.limiter.check(KEY).is_admitted());
    });
}

#[test]
fn a_small_cost_does_not_overtake_a_large_one() {
    paused(async || {
        let world = World::spent(per_second(10, 5));
        let _large = world.wait(1, world.acquire(5)).await;
        let small = world.wait(2, world.acquire(1)).await;
        small.await.unwrap().unwrap();
        world.assert_left(&[(1, millis(500)), (2, millis(600))]);
    });
}

#[test]
fn keys_do_not_wait_for_one_another() {
    paused(async || {
        let world = World::spent(per_second(10, 1));
        let slow = world.wait(1, world.acquire(1)).await;
        for other in 0..100_u32 {
            let waited = world.limiter.acquire(other, Cost::ONE).await.unwrap().waited;
            assert_eq!(waited, Span::ZERO);
        }
        slow.await.unwrap().unwrap();
    });
}

#[test]
fn several_whose_time_has_come_leave_at_one_tick_of_the_timer() {
    paused(async || {
        let world = World::spent(per_second(10_000, 1)); // ten to a millisecond
        let mut tasks = Vec::new();
        for waiter in 0..100 {
            tasks.push(world.wait(waiter, world.acquire(1)).await);
        }
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let due = |nth: usize| Span::from_micros(100 * (nth as u64 + 1));
        world.assert_left(&(0..100).map(|nth| (nth, due(nth))).collect::<Vec<_>>());
    });
}

#[test]
fn tiers_of_one_key_wait_in_one_queue() {
    paused(async || {
        let world = World::spent(per_second(10, 5));
        let pro = world.limiter.default_rule().tier("pro", per_second(100, 50)).unwrap();
        let _free = world.wait(1, world.acquire(5)).await;
        let paying = world.wait(2, pro.acquire(KEY, Cost::ONE)).await;
        paying.await.unwrap().unwrap();
        let log = world.log();
        assert_eq!(log.iter().map(|(label, _)| *label).collect::<Vec<_>>(), [1, 2], "{log:?}");
    });
}
