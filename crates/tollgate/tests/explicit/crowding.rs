//! A table that is too small: who goes, what newcomers get, and that nobody gains by it.

use tollgate::{BucketSet, Cause, Cost, Limit, Span, TableFull, Verdict};
use tollgate_sim::checker::{Promise, judge};
use tollgate_sim::history::Recorder;
use tollgate_sim::seeds::for_each_seed;

use super::world::{limiter, per_second, tokens};

#[test]
fn a_full_bucket_is_the_first_to_go_and_loses_nothing() {
    let (limiter, clock) = limiter(1, TableFull::DenyNew);
    let (explicit, limit) = (limiter.explicit(), per_second(1, 3));
    for client in 0..2_000_u32 {
        clock.advance(Span::from_secs(1));
        assert!(explicit.check(client, &limit, Cost::ONE).is_admitted());
    }
    let stats = limiter.stats().explicit;
    assert!(stats.slots_taken <= 64 && stats.reclaimed > 1_900, "{stats:?}");
    assert_eq!((stats.evicted, stats.denied_new), (0, 0));
    assert_eq!(explicit.check(0_u32, &limit, tokens(3)).remaining.whole(), 0, "it came back full");
}

#[test]
fn where_newcomers_are_denied_those_within_stay_and_the_wait_is_until_there_is_room() {
    let (limiter, clock) = limiter(1, TableFull::DenyNew);
    let (explicit, limit) = (limiter.explicit(), per_second(1, 10));
    let mut denied = Vec::new();
    for client in 0..500_u32 {
        let told = explicit.check(client, &limit, tokens(10));
        if let Verdict::Deny { wait, cause, .. } = told.verdict {
            assert_eq!(cause, Cause::TableFull(BucketSet::FIRST));
            denied.push((client, wait));
        }
    }
    let stats = limiter.stats().explicit;
    assert_eq!((stats.denied_new, stats.evicted), (denied.len() as u64, 0));
    assert!(stats.slots_taken <= 64 && denied.len() > 430);
    let (client, wait) = denied[0];
    clock.advance(wait);
    assert!(explicit.check(client, &limit, tokens(10)).is_admitted());
}

#[test]
fn a_newcomer_displaces_the_bucket_that_would_be_full_soonest() {
    let (limiter, clock) = limiter(1, TableFull::Inherit);
    let (explicit, slow, fast) = (limiter.explicit(), per_second(1, 1_000), per_second(100, 1_000));
    for client in 0..300_u32 {
        let _ = explicit.check(client, &slow, tokens(1_000));
    }
    // Time enough for a bucket of its own limit to have filled since the last eviction.
    clock.advance(Span::from_secs(10));
    assert!(explicit.check("fast", &fast, tokens(500)).is_admitted());
    let evicted = limiter.stats().explicit.evicted;
    clock.advance(Span::from_secs(2));
    let mut still_there = 0;
    for client in 1_000..1_100_u32 {
        let _ = explicit.check(client, &slow, Cost::ONE);
        still_there += u32::from(explicit.peek("fast", &fast, Cost::ONE).remaining.whole() == 699);
    }
    assert!(limiter.stats().explicit.evicted > evicted && still_there < 100, "{still_there}");
}

/// A flood of buckets that take years to fill must not shut out clients of quick limits for years.
#[test]
fn a_table_full_of_slow_buckets_lets_quick_newcomers_in_within_their_own_time() {
    let (limiter, clock) = limiter(1, TableFull::Inherit);
    let explicit = limiter.explicit();
    let year =
        Limit::new(tollgate::Rate::new(1, Span::from_secs(31_536_000)), tollgate::Burst::tokens(1)).unwrap();
    for client in 0..10_000_u32 {
        let _ = explicit.check(client, &year, Cost::ONE);
    }
    let quick = per_second(10, 50);
    let mut admitted = 0;
    for client in 0..100_u64 {
        clock.advance(Span::from_millis(100));
        admitted += u32::from(explicit.check(client, &quick, Cost::ONE).is_admitted());
    }
    assert!(admitted >= 90, "{admitted}");
    assert!(explicit.check("late", &quick, Cost::ONE).is_admitted());
}

#[test]
fn one_that_owes_is_never_displaced() {
    let (limiter, _) = limiter(1, TableFull::Inherit);
    let (explicit, limit) = (limiter.explicit(), per_second(1, 10));
    let owing =
        explicit.reserve(&[explicit.charge("owing", &limit, tokens(10))], Span::from_secs(60)).unwrap();
    owing.commit(tokens(19)).unwrap();
    for client in 0..5_000_u32 {
        let _ = explicit.check(client, &limit, Cost::ONE);
    }
    assert!(limiter.stats().explicit.evicted > 100);
    let told = explicit.check("owing", &limit, Cost::ONE);
    assert_eq!(super::world::wait_of(&told), Span::from_secs(10));
}

/// A new client that inherits too little is denied for lack of room; the same bucket in the table denies as any other.
#[test]
fn newcomer_that_inherits_too_little_has_reason_table_full() {
    let (limiter, _) = limiter(1, TableFull::Inherit);
    let (explicit, limit) = (limiter.explicit(), per_second(1, 5));
    let checks = || (0..600_u32).map(|client| (client, explicit.check(client, &limit, tokens(5))));
    let denied: Vec<_> = checks().filter(|(_, told)| !told.is_admitted()).collect();
    assert!(denied.len() > 500, "{}", denied.len());
    let is_table_full =
        |verdict: &Verdict| matches!(verdict, Verdict::Deny { cause: Cause::TableFull(_), .. });
    assert!(denied.iter().all(|(_, told)| is_table_full(&told.verdict)));

    let of = |client: u32| explicit.charge(client, &limit, tokens(5));
    let told = explicit.check_all(&[of(denied[0].0), of(denied[1].0)]);
    let cause = Cause::TableFull(BucketSet::FIRST.union(BucketSet::of(1)));
    assert!(matches!(told.verdict, Verdict::Deny { cause: because, .. } if because == cause), "{told}");
    let causes: Vec<_> = checks().map(|(_, told)| is_table_full(&told.verdict)).collect();
    assert!(causes.contains(&false), "a bucket in the table that is used up");
}

/// Whatever is evicted when, every key keeps its promise: 300 keys of three limits in a table of 64 places.
#[test]
fn nobody_gains_by_being_evicted() {
    for_each_seed(0..30, |rng| {
        let (limiter, clock) = limiter(1, TableFull::Inherit);
        let (explicit, recorder) = (limiter.explicit(), Recorder::new());
        let limits = [per_second(1, 10), per_second(7, 5), per_second(100, 30)];
        let mut lane = recorder.lane();
        for _ in 0..5_000 {
            clock.advance(Span::from_nanos(rng.u64(0..20_000_000)));
            let key = rng.u64(0..300).min(rng.u64(0..300));
            let (limit, cost) =
                (limits[usize::try_from(key % 3).unwrap()], Cost::micros(rng.u64(1..5_000_000)));
            let told = explicit.check(key, &limit, cost);
            lane.check(key, cost, limiter.now(), limiter.now(), told.is_admitted());
        }
        drop(lane);
        assert!(limiter.stats().explicit.evicted > 50, "{:?}", limiter.stats().explicit);
        let events = recorder.into_events();
        for of_limit in 0..3 {
            let events = events.iter().copied().filter(|event| event.key % 3 == of_limit).collect();
            judge(events, &Promise::of(limits[usize::try_from(of_limit).unwrap()])).assert_kept();
        }
    });
}

#[test]
fn the_rule_about_a_shared_overflow_is_the_default_one_here() {
    let told = |table_full| {
        let (limiter, _) = limiter(1, table_full);
        for client in 0..500_u32 {
            let _ = limiter.explicit().check(client, &per_second(1, 3), Cost::ONE);
        }
        let stats = limiter.stats().explicit;
        (stats.evicted > 10, stats.denied_new)
    };
    assert_eq!(told(TableFull::SharedOverflow), told(TableFull::Inherit));
    assert_eq!(told(TableFull::Inherit), (true, 0));
}
