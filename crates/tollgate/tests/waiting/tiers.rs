//! Clients of one key that wait on several tiers: nobody is overtaken, and together they get no more than the larger tier.

use std::task::Poll;

use tollgate::{Acquire, Cost, Limiter, Rule, Span};
use tollgate_sim::seeds;

use crate::world::{KEY, World, millis, paused, per_second, poll_once};

/// A world whose bucket is empty, and a tier ten times as fast.
fn slow_and_fast() -> (World, Rule) {
    let world = World::spent(per_second(1, 5));
    let fast = world.limiter.default_rule().tier("fast", per_second(10, 5)).unwrap();
    (world, fast)
}

fn joined(mut acquire: Acquire) -> Acquire {
    assert!(poll_once(&mut acquire).is_pending());
    acquire
}

async fn pass(time: Span) {
    tokio::time::advance(time.into()).await;
}

#[test]
fn who_waits_on_a_faster_tier_waits_behind_those_on_the_slower_one() {
    paused(async || {
        let (world, fast) = slow_and_fast();
        let mut slower = joined(world.acquire(5));
        let mut faster = joined(fast.acquire(KEY, Cost::tokens(5)));
        pass(millis(4_990)).await;
        assert!(!fast.check(KEY).is_admitted(), "it would overtake both");
        pass(millis(10)).await;
        assert!(poll_once(&mut slower).is_ready());
        assert!(poll_once(&mut faster).is_pending(), "five more take half a second");
        pass(millis(500)).await;
        assert!(poll_once(&mut faster).is_ready());
        assert!(!fast.check(KEY).is_admitted());
    });
}

#[test]
fn no_check_of_a_faster_tier_overtakes_who_waits() {
    paused(async || {
        let (world, fast) = slow_and_fast();
        let mut waiting = joined(world.acquire(5));
        for _ in 0..499 {
            assert!(!fast.check(KEY).is_admitted());
            pass(millis(10)).await;
        }
        assert!(poll_once(&mut waiting).is_pending());
        pass(millis(10)).await;
        assert!(poll_once(&mut waiting).is_ready());
        let wait = fast.check(KEY).retry_after().unwrap();
        assert!(wait <= Span::from_millis(100).into(), "then it refills at its own rate: {wait:?}");
    });
}

#[test]
fn a_debt_that_nobody_waits_for_is_repaid_at_the_rate_of_the_new_tier() {
    paused(async || {
        let (world, fast) = slow_and_fast();
        pass(millis(1_000)).await;
        let held = world.limiter.default_rule().reserve(KEY, Cost::ONE, millis(60_000)).unwrap();
        held.commit(Cost::tokens(4)).unwrap();
        let wait = fast.check(KEY).retry_after().unwrap();
        assert_eq!(wait, millis(400).into());
    });
}

#[test]
fn who_gives_up_before_another_tier_moves_nobody() {
    paused(async || {
        let (world, fast) = slow_and_fast();
        let slower = joined(world.acquire(5));
        let mut faster = joined(fast.acquire(KEY, Cost::tokens(5)));
        let last = joined(fast.acquire(KEY, Cost::tokens(5)));
        drop(slower);
        drop(last); // has nobody behind it: its place is given back
        pass(millis(5_499)).await;
        assert!(poll_once(&mut faster).is_pending());
        pass(millis(1)).await;
        assert!(poll_once(&mut faster).is_ready());
        let wait = fast.check(KEY).retry_after().unwrap();
        assert_eq!(wait, millis(100).into());
    });
}

#[test]
fn nothing_is_given_while_two_tiers_wait() {
    paused(async || {
        let (world, fast) = slow_and_fast();
        let rule = world.limiter.default_rule();
        let waiting = [joined(world.acquire(5)), joined(fast.acquire(KEY, Cost::tokens(5)))];
        assert_eq!(rule.grant(KEY, Cost::tokens(5)).unwrap().given.whole(), 0);
        assert_eq!(rule.reset(KEY).unwrap().given.whole(), 0);
        drop(waiting);
        assert_eq!(rule.reset(KEY).unwrap().balance.whole(), 5);
    });
}

/// What a history did, and when: micro-tokens charged, or given back.
type Event = (u64, i64);

/// Any mix of everything that a client can do on two tiers, the larger of which has 10 a second and a burst of 5.
fn history(random: &mut fastrand::Rng, world: &World, clock: &tollgate::Clock) -> Vec<Event> {
    let own = world.limiter.default_rule();
    let small = own.tier("small", per_second(5, 3)).unwrap();
    let (mut events, mut waiting, mut held) = (Vec::new(), Vec::<(i64, Acquire)>::new(), Vec::new());
    let mut now = 0;
    for _ in 0..120 {
        now += random.u64(0..400_000_000) >> (random.u32(0..4) * 4);
        clock.set(tollgate::Moment::from_nanos((1 << 40) + now));
        waiting.retain_mut(|(cost, acquire)| {
            let outcome = poll_once(acquire);
            events.extend(matches!(outcome, Poll::Ready(Ok(_))).then_some((now, *cost)));
            outcome.is_pending()
        });
        let rule = if random.u8(0..3) == 0 { &small } else { own };
        let tokens = random.u64(1..=3);
        let (cost, micros) = (Cost::tokens(tokens), tokens.cast_signed() * 1_000_000);
        match random.u8(0..10) {
            0 | 1 => events.extend(rule.check_n(KEY, cost).is_admitted().then_some((now, micros))),
            2 | 3 => {
                let reservation = rule.reserve(KEY, cost, Span::from_secs(3_600)).ok();
                events.extend(reservation.is_some().then_some((now, micros)));
                held.extend(reservation);
            }
            4 if !held.is_empty() => {
                let settled = held.swap_remove(random.usize(0..held.len())).cancel().unwrap();
                events.push((now, -settled.returned.as_micros().cast_signed()));
            }
            5 => {
                let given = rule.refund(KEY, cost).unwrap().given;
                events.push((now, -given.as_micros().cast_signed()));
            }
            6 if !waiting.is_empty() => drop(waiting.remove(random.usize(0..waiting.len()))),
            _ => {
                let mut acquire = rule.acquire(KEY, cost);
                match poll_once(&mut acquire) {
                    Poll::Pending => waiting.push((micros, acquire)),
                    Poll::Ready(outcome) => events.extend(outcome.is_ok().then_some((now, micros))),
                }
            }
        }
    }
    events
}

#[test]
fn whatever_they_do_on_two_tiers_the_larger_one_bounds_it() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();
    seeds::for_each_seed(0..300, |random| {
        let clock = tollgate::Clock::manual(tollgate::Moment::from_nanos(1 << 40));
        let limiter = Limiter::builder().clock(clock.clone()).build(per_second(10, 5)).unwrap();
        let events = history(random, &World::of(limiter), &clock);
        for first in 0..events.len() {
            let mut sum = 0;
            for (at, micros) in &events[first..] {
                sum += micros;
                // A token in 100 ms, LATENESS_MAX included; and ten micro-tokens of rounding.
                let most = 5_000_000 + (at - events[first].0 + 10_000_000) / 100 + 10;
                assert!(sum <= most.cast_signed(), "{sum} above {most}: {:?}", &events[first..]);
            }
        }
    });
}
