//! Waiting in a leaky bucket beside checks that were told when to leave: whoever gives up, nobody leaves with one of those.

use std::time::Duration;

use tollgate::{Acquire, Burst, Cost, LeakyBucket, Limiter, Rate, Span};
use tollgate_sim::seeds;

use crate::world::{KEY, World, millis, paused, poll_once};

const APART: Duration = Duration::from_secs(1);

/// One a second, thirty at most on their way out.
fn world() -> World {
    World::with(Limiter::builder(), LeakyBucket::new(Rate::per_second(1), Burst::tokens(30)).unwrap())
}

fn joined(world: &World) -> Acquire {
    let mut acquire = world.acquire(1);
    assert!(poll_once(&mut acquire).is_pending());
    acquire
}

#[test]
fn who_gives_up_before_a_check_that_was_told_when_to_leave_gives_nothing_back() {
    paused(async || {
        let world = world();
        assert_eq!(world.limiter.check(KEY).delay(), Some(Duration::ZERO));
        let waiter = joined(&world);
        let told = world.limiter.check(KEY).delay().unwrap();
        drop(waiter);
        assert_eq!(world.limiter.check(KEY).delay(), Some(told + APART));
    });
}

#[test]
fn who_gives_up_last_gives_its_room_back() {
    paused(async || {
        let world = world();
        assert!(world.limiter.check(KEY).is_admitted());
        let (first, second) = (joined(&world), joined(&world));
        drop(first); // and the second moves forward
        assert_eq!(world.limiter.check(KEY).delay(), Some(2 * APART));
        drop(second);
        assert_eq!(world.limiter.check(KEY).delay(), Some(3 * APART), "behind the check");
    });
}

#[test]
fn a_crowd_that_gives_up_lets_nobody_out_at_once() {
    paused(async || {
        let (world, mut delays) = (world(), Vec::new());
        for _ in 0..20 {
            let waiters: Vec<_> = (0..28)
                .map(|_| world.acquire(1))
                .map(|mut acquire| {
                    let _ = poll_once(&mut acquire);
                    acquire
                })
                .collect();
            delays.extend(world.limiter.check(KEY).delay());
            drop(waiters);
        }
        delays.sort();
        assert!(delays.windows(2).all(|pair| pair[1] >= pair[0] + APART), "{delays:?}");
    });
}

#[test]
fn nobody_who_waits_moves_over_a_check_that_was_told_when_to_leave() {
    paused(async || {
        let world = world();
        assert!(world.limiter.check(KEY).is_admitted());
        let first = joined(&world);
        assert_eq!(world.limiter.check(KEY).delay(), Some(2 * APART));
        let mut behind = joined(&world);
        drop(first);
        tokio::time::advance(2 * APART).await;
        assert!(poll_once(&mut behind).is_pending(), "it would leave with the check");
        tokio::time::advance(APART).await;
        assert!(poll_once(&mut behind).is_ready());
    });
}

#[test]
fn who_was_let_go_and_never_noticed_moves_nobody_over_a_check() {
    paused(async || {
        let world = world();
        assert!(world.limiter.check(KEY).is_admitted());
        let first = joined(&world);
        assert_eq!(world.limiter.check(KEY).delay(), Some(2 * APART));
        let mut behind = joined(&world);
        tokio::time::advance(APART).await;
        drop(joined(&world)); // lets the first one go
        assert_eq!(world.limiter.waiters(), 1);
        drop(first);
        tokio::time::advance(APART * 3 / 2).await;
        assert!(poll_once(&mut behind).is_pending(), "the check left half a second ago");
    });
}

#[test]
fn a_reservation_behind_who_waits_moves_nobody_forward_when_it_is_cancelled() {
    paused(async || {
        let world = world();
        assert!(world.limiter.check(KEY).is_admitted());
        let mut waiter = joined(&world);
        let last = world.limiter.default_rule().reserve(KEY, Cost::ONE, Span::from_secs(60)).unwrap();
        assert_eq!(last.cancel().unwrap().returned.whole(), 1);
        tokio::time::advance(APART / 2).await;
        assert!(poll_once(&mut waiter).is_pending(), "it leaves a second after the check");
        tokio::time::advance(APART / 2).await;
        assert!(poll_once(&mut waiter).is_ready());
    });
}

/// Checks, and some who wait and may give up, in any order: what leaves in any interval is what drains in it, and one more.
#[test]
fn in_any_history_they_leave_one_after_the_other() {
    seeds::for_each_seed(0..200, |random| {
        paused(async || {
            let world = World::with(
                Limiter::builder(),
                LeakyBucket::new(Rate::per_second(10), Burst::tokens(12)).unwrap(),
            );
            let (mut leaving, mut waiting) = (Vec::<(Span, u64)>::new(), Vec::<(u64, Acquire)>::new());
            for _ in 0..100 {
                // Whole milliseconds at a time, so that nobody is let go late.
                for _ in 0..random.u64(0..200) * u64::from(random.bool()) {
                    tokio::time::advance(millis(1).into()).await;
                    waiting.retain_mut(|(cost, acquire)| {
                        let has_left = poll_once(acquire).is_ready();
                        leaving.extend(has_left.then(|| (world.elapsed(), *cost)));
                        !has_left
                    });
                }
                let cost = random.u64(1..=3);
                match random.u8(0..3) {
                    0 => {
                        let delay = world.limiter.check_n(KEY, Cost::tokens(cost)).delay();
                        leaving.extend(delay.map(|delay| (world.elapsed() + Span::from(delay), cost)));
                    }
                    1 => {
                        let mut acquire = world.acquire(cost);
                        match poll_once(&mut acquire) {
                            std::task::Poll::Pending => waiting.push((cost, acquire)),
                            std::task::Poll::Ready(Ok(_)) => leaving.push((world.elapsed(), cost)),
                            std::task::Poll::Ready(Err(_)) => {}
                        }
                    }
                    _ if !waiting.is_empty() => drop(waiting.remove(random.usize(0..waiting.len()))),
                    _ => {}
                }
            }
            leaving.sort();
            for first in 0..leaving.len() {
                let mut before = 0;
                for (at, cost) in &leaving[first..] {
                    let drained = (at.as_nanos() - leaving[first].0.as_nanos()) / 1_000_000;
                    assert!(before * 100 <= drained + 2, "{before} left in {drained} ms: {leaving:?}");
                    before += cost;
                }
            }
        });
    });
}
