//! A dropped future gives its place back, and those behind it move forward.

use tollgate::{Acquire, Cost, Verdict};
use tollgate_sim::seeds;

use crate::world::{KEY, World, millis, paused, per_second, poll_once};

#[test]
fn those_behind_who_gave_up_leave_earlier_and_those_before_do_not() {
    paused(async || {
        let world = World::spent(per_second(10, 5));
        let _first = world.wait(1, world.acquire(2)).await;
        let dropped = world.wait(2, world.acquire(3)).await;
        let _third = world.wait(3, world.acquire(1)).await;
        let last = world.wait(4, world.acquire(1)).await;
        dropped.abort();
        last.await.unwrap().unwrap();
        world.assert_left(&[(1, millis(200)), (3, millis(300)), (4, millis(400))]);
        assert_eq!(world.limiter.waiters(), 0);
    });
}

#[test]
fn the_next_one_takes_over_from_a_head_that_gave_up() {
    paused(async || {
        let world = World::spent(per_second(10, 5));
        let head = world.wait(1, world.acquire(5)).await;
        let next = world.wait(2, world.acquire(1)).await;
        tokio::time::sleep(millis(50).into()).await;
        head.abort();
        next.await.unwrap().unwrap();
        world.assert_left(&[(2, millis(100))]);
    });
}

#[test]
fn checks_are_admitted_as_if_who_gave_up_had_never_come() {
    paused(async || {
        let world = World::spent(per_second(10, 5));
        let Verdict::Deny { wait: before, .. } = world.limiter.check(KEY) else { panic!() };
        let mut waiting: Vec<Acquire> = (0..10).map(|_| world.acquire(3)).collect();
        assert!(waiting.iter_mut().all(|acquire| poll_once(acquire).is_pending()));
        assert_eq!(world.limiter.waiters(), 10);
        let Verdict::Deny { wait: behind, .. } = world.limiter.check(KEY) else { panic!() };
        assert_eq!(behind, before + millis(3_000));
        waiting.truncate(4);
        let Verdict::Deny { wait: behind, .. } = world.limiter.check(KEY) else { panic!() };
        assert_eq!(behind, before + millis(1_200));
        drop(waiting);
        let Verdict::Deny { wait: after, .. } = world.limiter.check(KEY) else { panic!() };
        assert_eq!((after, world.limiter.waiters()), (before, 0));
    });
}

#[test]
fn who_was_let_go_but_never_noticed_gives_its_tokens_back() {
    paused(async || {
        let world = World::spent(per_second(10, 1));
        let mut unlucky = world.acquire(1);
        assert!(poll_once(&mut unlucky).is_pending());
        let next = world.wait(2, world.acquire(1)).await;
        tokio::time::sleep(millis(100).into()).await;
        // Whoever joins lets the first one go; nobody polls that one again.
        let last = world.wait(3, world.acquire(1)).await;
        assert_eq!(world.limiter.waiters(), 2, "the first one has left");
        drop(unlucky);
        next.await.unwrap().unwrap();
        last.await.unwrap().unwrap();
        world.assert_left(&[(2, millis(100)), (3, millis(200))]);
    });
}

/// Ten who wait for a whole burst each, one of them due every ten seconds.
fn ten_bursts(world: &World) -> Vec<Acquire> {
    let mut waiting: Vec<Acquire> = (0..10).map(|_| world.acquire(10)).collect();
    assert!(waiting.iter_mut().all(|acquire| poll_once(acquire).is_pending()));
    waiting
}

/// How many checks are admitted while one after the other gives up.
fn admitted_at_once(world: &World, waiting: Vec<Acquire>) -> usize {
    let admitted = || (0..200).filter(|_| world.limiter.check(KEY).is_admitted()).count();
    let before = admitted();
    waiting.into_iter().fold(before, |sum, acquire| {
        drop(acquire);
        sum + admitted()
    })
}

#[test]
fn who_was_let_go_long_ago_gives_back_no_more_than_there_would_be_had_it_never_come() {
    paused(async || {
        let world = World::spent(per_second(1, 10));
        let waiting = ten_bursts(&world);
        for _ in 0..10 {
            tokio::time::advance(millis(10_000).into()).await;
            // A neighbour that comes and gives up lets those go whose time has come.
            let _ = poll_once(&mut world.acquire(1));
        }
        assert_eq!(world.limiter.waiters(), 0, "all were let go on time");
        tokio::time::advance(millis(10_000).into()).await;
        assert_eq!(admitted_at_once(&world, waiting), 10, "one burst");
    });
}

#[test]
fn who_could_have_gone_long_ago_gives_back_no_more_either() {
    paused(async || {
        let world = World::spent(per_second(1, 10));
        let waiting = ten_bursts(&world);
        tokio::time::advance(millis(110_000).into()).await;
        assert_eq!(admitted_at_once(&world, waiting), 10, "one burst");
    });
}

#[test]
fn what_the_unnoticed_give_back_moves_those_behind_forward_by_just_that() {
    paused(async || {
        let world = World::spent(per_second(10, 10));
        let mut unnoticed = world.acquire(10); // at 1 s
        assert!(poll_once(&mut unnoticed).is_pending());
        let _next = world.wait(1, world.acquire(10)).await; // at 2 s
        let last = world.wait(2, world.acquire(5)).await; // at 2.5 s
        tokio::time::sleep(millis(1_000).into()).await;
        let _ = poll_once(&mut world.acquire(1));
        tokio::time::sleep(millis(400).into()).await;
        drop(unnoticed); // had it never come, four of its ten would have run over
        last.await.unwrap().unwrap();
        world.assert_left(&[(1, millis(1_400)), (2, millis(1_900))]);
    });
}

#[test]
fn a_future_that_was_never_polled_never_came() {
    paused(async || {
        let world = World::spent(per_second(10, 1));
        drop(world.acquire(1));
        let waited = world.acquire(1).await.unwrap().waited;
        assert!(waited <= millis(101), "{waited}");
    });
}

#[test]
fn a_timeout_around_it_is_a_way_to_give_up() {
    paused(async || {
        let world = World::spent(per_second(10, 1));
        assert!(tokio::time::timeout(millis(30).into(), world.acquire(1)).await.is_err());
        let waited = world.acquire(1).await.unwrap().waited;
        assert!(waited >= millis(69) && waited <= millis(70), "{waited}");
    });
}

/// Any of them may give up at any time: the others leave in order, at the pace of the bucket, and nothing is lost.
#[test]
fn in_a_storm_of_cancellations_nobody_else_loses_a_place_or_a_token() {
    seeds::for_each_seed(0..30, |random| {
        paused(async || {
            let world = World::spent(per_second(1_000, 20));
            let (mut tasks, mut costs) = (Vec::new(), Vec::new());
            for waiter in 0..300_usize {
                costs.push(random.u64(1..=20));
                tasks.push(Some(world.wait(waiter, world.acquire(costs[waiter])).await));
                if random.u8(0..3) == 0 {
                    tokio::time::sleep(millis(random.u64(0..8)).into()).await;
                }
                for _ in 0..random.u8(0..2) {
                    if let Some(task) = tasks[random.usize(0..=waiter)].take() {
                        task.abort();
                    }
                }
            }
            for task in tasks.into_iter().flatten() {
                task.await.unwrap().unwrap();
            }
            let log = world.log();
            assert!(log.is_sorted_by(|(one, then), (next, later)| one < next && then <= later), "{log:?}");
            assert_eq!(world.limiter.waiters(), 0);
            // What left was charged, and what gave up was not.
            let left: u64 = log.iter().map(|(waiter, _)| costs[*waiter]).sum();
            let Verdict::Deny { wait, .. } = world.limiter.check_n(KEY, Cost::tokens(20)) else { panic!() };
            let minted = (world.elapsed() + wait).as_nanos() / 1_000_000;
            assert_eq!(minted, left + 20, "{log:?}");
        });
    });
}
