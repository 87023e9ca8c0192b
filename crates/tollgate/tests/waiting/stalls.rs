//! A program that stands still for a while does not let everybody go at once when it wakes up.

use tollgate::Limiter;

use crate::world::{KEY, World, millis, paused, per_second, poll_once};

#[test]
fn what_ran_over_in_a_stall_is_gone_for_those_who_wait() {
    paused(async || {
        let world = World::spent(per_second(10, 2));
        let mut tasks = Vec::new();
        for waiter in 1..=6 {
            tasks.push(world.wait(waiter, world.acquire(1)).await);
        }
        // Ten seconds in which nobody is polled: the bucket is full, and no more than that.
        tokio::time::advance(millis(10_000).into()).await;
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let log = world.log();
        let at_once = log.iter().filter(|(_, left)| *left <= millis(10_001)).count();
        assert_eq!(at_once, 2, "a burst, and then at the rate: {log:?}");
        assert!(log.is_sorted(), "{log:?}");
        let last = log[5].1;
        assert!(last >= millis(10_390) && last <= millis(10_401), "{log:?}");
    });
}

#[test]
fn who_leaves_late_and_last_takes_its_tokens_out_of_a_full_bucket() {
    paused(async || {
        let world = World::spent(per_second(1, 10));
        let mut late = world.acquire(7);
        assert!(poll_once(&mut late).is_pending());
        tokio::time::advance(millis(110_000).into()).await;
        assert!(poll_once(&mut late).is_ready());
        let admitted = (0..20).filter(|_| world.limiter.check(KEY).is_admitted()).count();
        assert_eq!(admitted, 3, "seven and three are a burst");
    });
}

#[test]
fn who_comes_after_a_stall_leaves_behind_those_who_were_delayed() {
    paused(async || {
        let world = World::spent(per_second(10, 1));
        for waiter in 1..=3 {
            world.wait(waiter, world.acquire(1)).await;
        }
        tokio::time::advance(millis(10_000).into()).await;
        let late = world.wait(4, world.acquire(1)).await;
        assert!(!world.limiter.check(KEY).is_admitted());
        late.await.unwrap().unwrap();
        let log = world.log();
        assert_eq!(log.iter().map(|(label, _)| *label).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert!(log[3].1 >= millis(10_290), "{log:?}");
    });
}

#[test]
fn who_does_not_wait_for_ever_gives_up_when_a_stall_made_it_too_long() {
    paused(async || {
        let world = World::spent(per_second(10, 1));
        let _patient = world.wait(1, world.acquire(1)).await;
        let impatient = world.wait(2, world.acquire(1).within(millis(200))).await;
        tokio::time::advance(millis(10_000).into()).await;
        impatient.await.unwrap().unwrap_err();
        assert!(world.elapsed() <= millis(10_001), "{}", world.elapsed());
        assert_eq!(world.limiter.waiters(), 0);
    });
}

/// While nobody looked the bucket filled up, so another client may take its place in the table.
#[test]
fn a_bucket_that_was_forgotten_in_a_stall_still_owes_what_is_waited_for() {
    paused(async || {
        let world = World::with(Limiter::builder().keys_max(1), per_second(10, 1));
        assert!(world.limiter.check(KEY).is_admitted());
        for waiter in 1..=3 {
            world.wait(waiter, world.acquire(1)).await;
        }
        let limiter = world.limiter.clone();
        // No time for anybody else between the stall and those who push the bucket out.
        let crowd = async move {
            tokio::time::advance(millis(10_000).into()).await;
            (0..2_000_u32).filter(|client| limiter.check(*client).is_admitted()).count()
        };
        assert!(crowd.await > 0);
        let late = world.wait(4, world.acquire(1)).await;
        assert!(!world.limiter.check(KEY).is_admitted(), "before those who wait");
        late.await.unwrap().unwrap();
        let log = world.log();
        assert!(log.is_sorted() && log[3].1 >= millis(10_290), "{log:?}");
    });
}
