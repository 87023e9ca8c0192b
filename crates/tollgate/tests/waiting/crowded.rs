//! Waiting in a table without room.

use tollgate::{AcquireError, Cost, Crowding, Limiter};

use crate::world::{World, millis, paused, per_second};

/// A world for one key with so many others in its table that nobody finds room any more.
fn crowded(crowding: Crowding) -> World {
    let world = World::with(Limiter::builder().keys_max(1).crowding(crowding), per_second(1, 1));
    for client in 0..2_000_u32 {
        let _ = world.limiter.check(client);
    }
    world
}

#[test]
fn who_finds_no_room_is_told_when_there_may_be_some() {
    paused(async || {
        let world = crowded(Crowding::DenyNew);
        let AcquireError::Crowded { wait } = world.acquire(1).await.unwrap_err() else { panic!() };
        assert!(wait > millis(0) && wait <= millis(1_001), "{wait}");
    });
}

#[test]
fn those_without_room_wait_for_the_bucket_they_share() {
    paused(async || {
        let world = crowded(Crowding::SharedOverflow);
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
        let world = crowded(Crowding::Inherit);
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
