//! What cannot be acquired is refused with a typed error; nothing panics, and nothing is minted.

use std::task::Poll;

use tollgate::{
    AcquireError, CheckError, Clock, Cost, DEBT_MAX, Limit, Limiter, Moment, Rate, Span, Verdict,
};

use crate::world::{KEY, World, millis, paused, per_second, poll_once};

#[test]
fn bad_keys_and_costs_are_refused_at_once() {
    paused(async || {
        let world = World::spent(per_second(10, 5));
        let zero = world.acquire(0).await.unwrap_err();
        assert_eq!(zero, AcquireError::Invalid(CheckError::ZeroCost));
        assert_eq!(
            world.limiter.acquire("", Cost::ONE).await.unwrap_err(),
            AcquireError::Invalid(CheckError::EmptyKey)
        );
        let never = world.acquire(6).await.unwrap_err();
        assert_eq!(never, AcquireError::Never { cost: Cost::tokens(6) });
        assert!(never.to_string().starts_with("`cost` is 6 tokens, above the burst"), "{never}");
        let saturated = world.acquire(u64::MAX).await.unwrap_err();
        assert_eq!(saturated, AcquireError::Never { cost: Cost::tokens(u64::MAX) });
        assert_eq!((world.elapsed(), world.limiter.waiters()), (Span::ZERO, 0));
    });
}

#[test]
fn a_wait_that_is_too_long_is_refused_with_the_true_wait_and_charges_nothing() {
    paused(async || {
        let world = World::spent(per_second(10, 5));
        for within in [Span::ZERO, Span::from_nanos(1), millis(299)] {
            let error = world.acquire(3).within(within).await.unwrap_err();
            assert_eq!(error, AcquireError::TooLong { wait: millis(300), wait_max: within });
        }
        let message = world.acquire(3).within(millis(299)).await.unwrap_err().to_string();
        assert_eq!(
            message,
            "`within` is 299ms, but the wait is 300ms; try again after that, or allow a longer wait"
        );
        assert_eq!(world.elapsed(), Span::ZERO, "and it is refused at once");
        let Verdict::Deny { wait, .. } = world.limiter.check_n(KEY, Cost::tokens(3)) else { panic!() };
        assert_eq!(wait, millis(300));
        world.acquire(3).within(millis(300)).await.unwrap();
        world.acquire(3).within(std::time::Duration::from_millis(300)).await.unwrap();
    });
}

#[test]
fn a_full_queue_is_said_and_charges_nothing() {
    paused(async || {
        let world = World::spent(per_second(10, 5));
        let error = world.acquire(1).behind(0).await.unwrap_err();
        assert_eq!(error, AcquireError::QueueFull { waiters_max: 0 });
        let mut tasks = Vec::new();
        for waiter in 0..3 {
            tasks.push(world.wait(waiter, world.acquire(1).behind(3)).await);
        }
        let error = world.acquire(1).behind(3).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "`behind` is 3, and as many wait for this key; try again later, or let more wait"
        );
        let last = world.acquire(1).behind(4).await.unwrap();
        assert!(last.waited >= millis(400) && last.waited <= millis(401), "{}", last.waited);
        // Nobody waits any more, so there is nothing to be behind.
        tokio::time::sleep(millis(100).into()).await;
        assert_eq!(world.acquire(1).behind(0).await.unwrap().waited, Span::ZERO);
    });
}

#[test]
fn a_debt_beyond_all_bounds_is_refused_and_mints_nothing() {
    paused(async || {
        let burst = tollgate::Burst::tokens(1_000_000_000_000);
        let world = World::spent(Limit::new(Rate::per_second(1_000_000_000), burst).unwrap());
        let error = world.acquire(1_000_000_000_000).await.unwrap_err();
        assert_eq!(error, AcquireError::TooDeep { cost: Cost::tokens(1_000_000_000_000) });
        assert!(error.to_string().contains("more than 500000000000 would be booked ahead"), "{error}");
        let deep = world.wait(1, world.limiter.acquire(KEY, Cost::micros(DEBT_MAX.as_micros()))).await;
        assert_eq!(world.acquire(1).await.unwrap_err(), AcquireError::TooDeep { cost: Cost::ONE });
        assert!(!world.limiter.check_n(KEY, Cost::micros(1)).is_admitted(), "deep in debt is not full");
        deep.await.unwrap().unwrap();
        world.assert_left(&[(1, Span::from_secs(500))]);
    });
}

/// After 584 years a clock stands still: what is missing then will never be there.
#[test]
fn at_the_end_of_time_every_wait_is_endless_and_nobody_leaves_unpaid() {
    paused(async || {
        let clock = Clock::manual(Moment::from_nanos(u64::MAX - 1));
        let limiter = Limiter::builder().clock(clock.clone()).build(per_second(10, 5)).unwrap();
        assert!(limiter.check_n(KEY, Cost::tokens(5)).is_admitted());
        let endless = Err(AcquireError::TooLong { wait: Span::MAX, wait_max: Span::MAX });
        assert_eq!(poll_once(&mut limiter.acquire(KEY, Cost::ONE)), Poll::Ready(endless));
        clock.advance(Span::from_nanos(1));
        assert_eq!(poll_once(&mut limiter.acquire(KEY, Cost::ONE)), Poll::Ready(endless));
        assert_eq!(limiter.waiters(), 0);
    });
}
