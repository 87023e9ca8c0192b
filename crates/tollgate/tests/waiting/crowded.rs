//! Waiting in a table without room.

use std::task::Poll;

use tollgate::{AcquireError, Burst, Cost, Limit, Limiter, Rate, Span, TableFull};

use crate::world::{KEY, World, millis, paused, per_second, poll_once};

/// A world for one key with so many others in its table that nobody finds room any more.
fn crowded(table_full: TableFull) -> World {
    let world = World::with(Limiter::builder().keys_max(1).table_full(table_full), per_second(1, 1));
    for client in 0..2_000_u32 {
        let _ = world.limiter.check(client);
    }
    world
}

#[test]
fn who_finds_no_room_is_told_when_there_may_be_some() {
    paused(async || {
        let world = crowded(TableFull::DenyNew);
        let AcquireError::TableFull { wait } = world.acquire(1).await.unwrap_err() else { panic!() };
        assert!(wait > millis(0) && wait <= millis(1_001), "{wait}");
    });
}

#[test]
fn those_without_room_wait_for_the_bucket_they_share() {
    paused(async || {
        let world = crowded(TableFull::SharedOverflow);
        let (mut tasks, before) = (Vec::new(), world.limiter.stats().overflowed);
        for client in 0..5_u32 {
            let acquire = world.limiter.acquire(10_000 + client, Cost::ONE);
            tasks.push(world.wait(client as usize, acquire).await);
        }
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let log = world.log();
        assert_eq!(log.len(), 5);
        assert!(world.limiter.stats().overflowed > before);
        assert!(world.elapsed() >= millis(4_000), "one a second between them all: {log:?}");
    });
}

#[test]
fn those_who_displaced_others_wait_too_and_nobody_gains() {
    paused(async || {
        let world = crowded(TableFull::Inherit);
        let (mut tasks, mut refused) = (Vec::new(), 0);
        for client in 0..50_u32 {
            let acquire = world.limiter.acquire(10_000 + client, Cost::ONE);
            tasks.push(world.wait(client as usize, acquire).await);
        }
        for task in tasks {
            refused += usize::from(task.await.unwrap().is_err());
        }
        assert_eq!(world.log().len() + refused, 50);
        assert_eq!(world.limiter.waiters(), 0);
    });
}

/// A world in which others, who fill up slowly, have taken every place.
fn overflowing(limit: Limit) -> World {
    let world = World::with(Limiter::builder().keys_max(1).table_full(TableFull::SharedOverflow), limit);
    let slow = Limit::new(Rate::per_hour(1), Burst::tokens(5)).unwrap();
    let others = world.limiter.rule("others", slow).unwrap();
    for client in 0..2_000_u32 {
        let _ = others.check(client);
    }
    world
}

#[test]
fn who_gives_up_without_room_gives_its_place_back() {
    paused(async || {
        let world = overflowing(per_second(1, 10));
        assert!(world.limiter.check_n(KEY, Cost::tokens(10)).is_admitted());
        for _ in 0..50 {
            assert!(poll_once(&mut world.acquire(1)).is_pending());
        }
        tokio::time::advance(Span::from_secs(1).into()).await;
        assert!(world.limiter.check(KEY).is_admitted());
    });
}

#[test]
fn those_without_room_wait_in_one_queue_and_move_forward_together() {
    paused(async || {
        let world = overflowing(per_second(1, 1));
        assert!(world.limiter.check(KEY).is_admitted());
        let mut waiting: Vec<_> = (0..4_u32).map(|client| world.limiter.acquire(client, Cost::ONE)).collect();
        assert!(waiting.iter_mut().all(|acquire| poll_once(acquire).is_pending()));
        drop(waiting.remove(1));
        for client in 0..3 {
            tokio::time::advance(Span::from_secs(1).into()).await;
            let ready: Vec<_> = waiting.iter_mut().map(|acquire| poll_once(acquire).is_ready()).collect();
            assert_eq!(ready.iter().filter(|ready| **ready).count(), 1, "{client}: {ready:?}");
            assert!(ready[0], "the first of those who are left");
            drop(waiting.remove(0));
        }
    });
}

#[test]
fn those_without_room_do_not_all_leave_after_a_stall() {
    paused(async || {
        let world = overflowing(per_second(1, 1));
        assert!(world.limiter.check(KEY).is_admitted());
        let mut waiting: Vec<_> =
            (0..20_u32).map(|client| world.limiter.acquire(client, Cost::ONE)).collect();
        assert!(waiting.iter_mut().all(|acquire| poll_once(acquire).is_pending()));
        tokio::time::advance(Span::from_secs(15).into()).await;
        let left = waiting.iter_mut().map(poll_once).filter(Poll::is_ready).count();
        assert_eq!(left, 1, "burst 1");
        assert!(!world.limiter.check(KEY).is_admitted(), "and nobody overtakes the others");
    });
}

#[test]
fn what_is_given_to_the_overflow_bucket_lets_nobody_leave_another() {
    paused(async || {
        let world = World::with(
            Limiter::builder().keys_max(1).table_full(TableFull::SharedOverflow),
            per_second(1, 10),
        );
        let others = world.limiter.rule("others", per_second(1, 5)).unwrap();
        for client in 0..2_000_u32 {
            let _ = others.check(client);
        }
        let held = world.limiter.default_rule().reserve(KEY, Cost::tokens(10), millis(60_000)).unwrap();
        assert!(world.limiter.stats().overflowed > 0);
        tokio::time::advance(millis(1_001).into()).await; // the others are full again: there is room
        assert!(world.limiter.check(KEY).is_admitted());
        let mut waiting: Vec<_> = (0..9).map(|_| world.acquire(1)).collect();
        assert!(waiting.iter_mut().all(|acquire| poll_once(acquire).is_pending()));
        assert_eq!(world.limiter.live_buckets().filter(|bucket| bucket.rule == "default").count(), 1);
        held.cancel().unwrap();
        assert!(
            waiting.iter_mut().all(|acquire| poll_once(acquire).is_pending()),
            "their bucket got nothing"
        );
    });
}
