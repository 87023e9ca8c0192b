//! Snapshots of buckets whose limits come with the call (S7): a limiter that was restarted answers as one that never stopped.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "snapshot/scratch.rs"]
mod scratch;

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use scratch::{Scratch, saved_at};
use tollgate::{
    Burst, Clock, Cost, ExplicitVerdict, Limit, Limiter, LimiterBuilder, Moment, Rate, Span, TableFull,
};
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

const KEYS: usize = 1_000;
const SECOND: u64 = 1_000_000_000;
const DAY: Span = Span::from_secs(86_400);
/// Late enough that all that a test has charged is after the clock's origin.
const START: Moment = Moment::from_nanos(1_000_000 * SECOND);
/// What a rate of one per day mints while a test runs, and much more: a minute's worth, in micro-tokens.
const MEANWHILE: u64 = 700;

fn per_day(tokens: u64, burst: u64) -> Limit {
    Limit::new(Rate::per_day(tokens), Burst::tokens(burst)).unwrap()
}

fn settings(clock: &Clock) -> LimiterBuilder {
    Limiter::builder().keys_max(1).explicit_keys_max(KEYS).clock(clock.clone())
}

fn fresh() -> Limiter {
    settings(&Clock::manual(START)).build(per_day(1, 1)).unwrap()
}

/// Saves a limiter, changes the time that the file says, and restores it by another clock.
fn restarted(limiter: &Limiter, scratch: &Scratch, clock: &Clock, wall: impl FnOnce(u64) -> u64) -> Limiter {
    limiter.save(scratch.file()).unwrap();
    scratch.write(&saved_at(&fs::read(scratch.file()).unwrap(), wall));
    settings(clock).restore(scratch.file()).build(per_day(1, 1)).unwrap()
}

/// A time that is yet to come by the wall clock: between saving and restoring passes exactly nothing.
fn no_time(wall: u64) -> u64 {
    wall + 3_600 * SECOND
}

fn held(limiter: &Limiter, key: &str, limit: &Limit) -> u64 {
    limiter.explicit().peek(key, limit, Cost::micros(0)).remaining.as_micros()
}

#[test]
fn balances_are_what_they_would_have_been_and_time_away_refills() {
    let (scratch, limit) = (Scratch::new("explicit_balances"), per_day(1, 50));
    let limiter = fresh();
    let explicit = limiter.explicit();
    assert!(explicit.check("alice", &limit, Cost::tokens(30)).is_admitted());
    assert!(explicit.check("bob", &limit, Cost::tokens(50)).is_admitted());
    for days in [0, 3] {
        let clock = Clock::manual(Moment::from_nanos(START.as_nanos() / 2));
        let away = days * DAY.as_nanos();
        let limiter = restarted(&limiter, &scratch, &clock, |wall| wall - away);
        for (key, tokens) in [("alice", 20 + days), ("bob", days)] {
            let (found, least) = (held(&limiter, key, &limit), tokens * 1_000_000);
            assert!((least..least + MEANWHILE).contains(&found), "{key} after {days} days: {found}");
        }
        assert_eq!(held(&limiter, "never seen", &limit), 50_000_000);
        assert_eq!(limiter.stats().explicit.slots_taken, 2);
    }
}

#[test]
fn a_wall_clock_that_ran_back_gives_nothing() {
    let (scratch, limit) = (Scratch::new("explicit_ran_back"), per_day(1, 50));
    let limiter = fresh();
    assert!(limiter.explicit().check("alice", &limit, Cost::tokens(49)).is_admitted());
    let limiter = restarted(&limiter, &scratch, &Clock::manual(START), no_time);
    assert_eq!(held(&limiter, "alice", &limit), 1_000_000);
}

#[test]
fn debt_is_still_owed() {
    let (scratch, limit) = (Scratch::new("explicit_debt"), per_day(1, 50));
    let limiter = fresh();
    let charge = limiter.explicit().charge("alice", &limit, Cost::tokens(50));
    let reservation = limiter.explicit().reserve(&[charge], Span::from_secs(60)).unwrap();
    reservation.commit(Cost::tokens(60)).unwrap();
    let told = |limiter: &Limiter| limiter.explicit().peek("alice", &limit, Cost::ONE);
    let before = told(&limiter);
    assert!(before.time_to_full > Span::from_secs(59 * 86_400));
    assert_eq!(told(&restarted(&limiter, &scratch, &Clock::manual(START), no_time)), before);
}

#[test]
fn a_full_bucket_takes_no_room_in_the_file() {
    let (scratch, clock) = (Scratch::new("explicit_size"), Clock::manual(START));
    let limiter = settings(&clock).build(per_day(1, 1)).unwrap();
    limiter.save(scratch.file()).unwrap();
    let empty = fs::metadata(scratch.file()).unwrap().len();
    assert!(limiter.explicit().check("alice", &per_day(86_400, 5), Cost::ONE).is_admitted());
    limiter.save(scratch.file()).unwrap();
    assert_eq!(fs::metadata(scratch.file()).unwrap().len() - empty, 5 * 8 + 4 * 8);
    clock.advance(Span::from_secs(2));
    limiter.save(scratch.file()).unwrap();
    assert_eq!(fs::metadata(scratch.file()).unwrap().len(), empty);
}

/// One thing that a client may ask, of two limiters in the same way. Each key has one limit: under another one, a bucket that was
/// full is full again once it is forgotten, by a restart or otherwise.
fn ask_both(rng: &mut Rng, limits: &[Limit; 6], both: [&Limiter; 2]) {
    let key = rng.usize(0..6);
    let (other_key, limit) = ((key + 1) % 6, limits[key]);
    let cost = Cost::micros(rng.u64(1..=limit.burst().as_micros()));
    match rng.u8(0..8) {
        0 => {
            let [one, other] = both.map(|limiter| limiter.explicit().refund(key, &limit, cost).unwrap());
            assert_eq!(one.given, other.given);
        }
        1 => {
            let [one, other] = both.map(|limiter| {
                let explicit = limiter.explicit();
                let beside = explicit.charge(other_key, &limits[other_key], Cost::micros(1_000));
                explicit.check_all(&[explicit.charge(key, &limit, cost), beside])
            });
            // Which of two that are as tight is named is chance.
            let of = |told: &ExplicitVerdict| (told.verdict, told.remaining);
            assert_eq!(of(&one), of(&other));
        }
        _ => {
            let [one, other] = both.map(|limiter| limiter.explicit().check(key, &limit, cost));
            assert_eq!(one, other);
        }
    }
}

#[test]
fn a_limiter_that_is_restarted_at_any_moment_answers_as_one_that_never_stopped() {
    let scratch = Scratch::new("explicit_never_stopped");
    for_each_seed(0..25, |rng| {
        // Rates per whole second and clocks whole seconds apart are in phase, so every answer is the same to the micro-token.
        let limits: [Limit; 6] = std::array::from_fn(|_| {
            Limit::new(Rate::per_second(rng.u64(1..20)), Burst::micros(rng.u64(1..90_000_000))).unwrap()
        });
        let clock = Clock::manual(START);
        let steady = settings(&clock).build(per_day(1, 1)).unwrap();
        let mut other_clock = Clock::manual(START);
        let mut other = settings(&other_clock).build(per_day(1, 1)).unwrap();
        for _ in 0..300 {
            let pause = Span::from_nanos(any_magnitude(rng, 3 * SECOND));
            clock.advance(pause);
            other_clock.advance(pause);
            if rng.u8(0..20) == 0 {
                let phase = other_clock.now().as_nanos() % SECOND;
                other_clock = Clock::manual(Moment::from_nanos(rng.u64(100_000..9_000_000) * SECOND + phase));
                other = restarted(&other, &scratch, &other_clock, no_time);
            }
            ask_both(rng, &limits, [&steady, &other]);
        }
    });
}

#[test]
fn under_any_limit_and_by_any_clock_a_restart_changes_at_most_a_micro_token() {
    let scratch = Scratch::new("explicit_any_limit");
    for_each_seed(0..200, |rng| {
        let limit = loop {
            let rate =
                Rate::new(any_magnitude(rng, 100_000), Span::from_nanos(any_magnitude(rng, 100 * SECOND)));
            if let Ok(limit) = Limit::new(rate, Burst::micros(any_magnitude(rng, 1_000_000_000_000))) {
                break limit;
            }
        };
        let clock = Clock::manual(START);
        let steady = settings(&clock).build(per_day(1, 1)).unwrap();
        for _ in 0..rng.u8(1..5) {
            let cost = Cost::micros(rng.u64(1..=limit.burst().as_micros()));
            let _ = steady.explicit().check("alice", &limit, cost);
            clock.advance(Span::from_nanos(any_magnitude(rng, 10 * SECOND)));
        }
        let other_clock = Clock::manual(Moment::from_nanos(rng.u64(START.as_nanos()..u64::MAX / 2)));
        let other = restarted(&steady, &scratch, &other_clock, no_time);
        for _ in 0..5 {
            let [one, two] = [&steady, &other].map(|limiter| held(limiter, "alice", &limit));
            assert!(one.abs_diff(two) <= 1, "{one} and {two} under {limit:?}");
            let pause = Span::from_nanos(any_magnitude(rng, 10 * SECOND));
            clock.advance(pause);
            other_clock.advance(pause);
        }
    });
}

#[test]
fn in_a_crowded_table_nobody_gains_by_restarts() {
    for table_full in [TableFull::Inherit, TableFull::DenyNew, TableFull::SharedOverflow] {
        let (scratch, limit) = (Scratch::new("explicit_crowded"), per_day(1, 10));
        let mut spent = vec![0; 1_000];
        for _ in 0..5 {
            let settings = settings(&Clock::manual(START)).explicit_keys_max(1).table_full(table_full);
            let limiter = settings.restore(scratch.file()).build(limit).unwrap();
            for (client, spent) in (0_u32..).zip(&mut spent) {
                let ask = || limiter.explicit().check(client, &limit, Cost::ONE).is_admitted();
                *spent += (0..3).filter(|_| ask()).count();
            }
            limiter.save(scratch.file()).unwrap();
        }
        let most = spent.iter().max().unwrap();
        assert!(*most <= 10, "{most} under {table_full:?}");
    }
}

#[test]
fn what_was_charged_before_a_save_is_in_it_though_checks_go_on() {
    let (scratch, limit) = (Scratch::new("explicit_busy"), per_day(100, 200_000));
    let build = || settings(&Clock::manual(START)).explicit_keys_max(8).restore(scratch.file()).build(limit);
    let (limiter, is_over, admitted) = (build().unwrap(), AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Beside strangers, so that buckets move in and out while the table is read.
            for stranger in (0_u32..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                let _ = limiter.explicit().check(stranger % 500, &per_day(86_400, 3), Cost::ONE);
                if limiter.explicit().check("alice", &limit, Cost::ONE).is_admitted() {
                    admitted.fetch_add(1, Ordering::Release);
                }
            }
        });
        for _ in 0..40 {
            let before = admitted.load(Ordering::Acquire);
            limiter.save(scratch.file()).unwrap();
            let revived = build().unwrap();
            let left = revived.explicit().peek("alice", &limit, Cost::micros(0)).remaining.whole();
            assert!(left <= 200_000 - before, "{left} left, though {before} were admitted before");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
