//! Limits that come with the call, at full size: a million live keys, ten million passing by, and threads that cross.

use std::thread;

use tollgate::{
    Burst, CLOCK_ERROR_MAX, Cost, ExplicitStats, Limit, Limiter, Rate, Span, Stats, TableFull, Verdict,
};
use tollgate_sim::checker::{Promise, judge, judge_each};
use tollgate_sim::history::Recorder;
use tollgate_sim::seeds::Rng;

use super::resident;

const KEYS_MAX: usize = 1_000_000;
const THREADS: u64 = 2;
/// Clients that are checked again and again, and whose history is judged.
const WATCHED: u64 = 64;
/// One check of a watched client after so many of others.
const PACE: u64 = 64;
/// What a watched client asks for: so much that it meets its limit.
const WATCHED_COST: Cost = Cost::micros(100_000);
const TABLE_BYTES_MAX: u64 = 50_000_000;
const RESIDENT_GROWTH_MAX: u64 = 2 * 1024 * 1024;

fn limiter(table_full: TableFull) -> Limiter {
    let builder = Limiter::builder().keys_max(1).explicit_keys_max(KEYS_MAX).table_full(table_full);
    builder.build(slow(0)).unwrap()
}

/// Limits of three sizes, of which none gives a token before the test is over, even on a slow machine.
fn slow(key: u64) -> Limit {
    let [rate, burst] = [[1, 10], [2, 30], [5, 100]][usize::try_from(key % 3).unwrap()];
    Limit::new(Rate::new(rate, Span::from_secs(1_000)), Burst::tokens(burst)).unwrap()
}

fn growth_since(before: Option<u64>) -> u64 {
    resident::bytes().zip(before).map_or(0, |(now, before)| now.saturating_sub(before))
}

#[test]
fn a_million_live_keys_cost_at_most_50_mb_and_hardly_any_meets_the_crowding_rule() {
    for table_full in [TableFull::Inherit, TableFull::DenyNew] {
        let limiter = limiter(table_full);
        let before = resident::bytes();
        let explicit = limiter.explicit();
        let denied = (0..KEYS_MAX as u64).filter(|key| {
            let limit = Limit::new(Rate::new(1, Span::from_secs(1_000)), Burst::tokens(10)).unwrap();
            !explicit.check(*key, &limit, Cost::ONE).is_admitted()
        });
        let denied = denied.count() as u64;
        let (growth, stats) = (growth_since(before), limiter.stats().explicit);
        println!("{table_full:?}: {growth} bytes, {denied} denied, {stats:?}");
        assert!(growth <= TABLE_BYTES_MAX, "{growth} bytes");
        assert!(stats.evicted + stats.denied_new <= 100 && denied <= 100, "{stats:?}");
        assert_eq!(stats.slots_taken, KEYS_MAX as u64 - stats.evicted - stats.denied_new);
    }
}

#[test]
fn who_does_not_use_it_pays_nothing_for_it() {
    let before = resident::bytes();
    let limiter = limiter(TableFull::Inherit);
    assert!(limiter.check("a").is_admitted());
    assert!(growth_since(before) <= RESIDENT_GROWTH_MAX, "{} bytes", growth_since(before));
}

/// Lets ten times as many keys through the table as it is for, and judges what the watched ones were admitted.
fn flood(table_full: TableFull) -> ExplicitStats {
    let (limiter, recorder) = (limiter(table_full), Recorder::new());
    let wave = |from: u64, count: u64| {
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (limiter, recorder) = (&limiter, &recorder);
                scope.spawn(move || {
                    let (explicit, mut lane) = (limiter.explicit(), recorder.lane());
                    let mut rng = Rng::with_seed(from + thread);
                    for key in (thread << 40) + from..(thread << 40) + from + count / THREADS {
                        let _ = explicit.check(key, &slow(key), Cost::ONE);
                        if key % PACE == 0 {
                            let client = rng.u64(0..WATCHED).min(rng.u64(0..WATCHED));
                            let called = limiter.now() - CLOCK_ERROR_MAX;
                            if explicit.check(u64::MAX - client, &slow(client), WATCHED_COST).is_admitted() {
                                let answered = limiter.now() + CLOCK_ERROR_MAX;
                                lane.check(client, WATCHED_COST, called, answered, true);
                            }
                        }
                    }
                });
            }
        });
    };
    wave(0, 2 * KEYS_MAX as u64);
    let warm = resident::bytes();
    wave(1 << 32, 8 * KEYS_MAX as u64);
    let growth = growth_since(warm);
    assert!(growth <= RESIDENT_GROWTH_MAX, "resident memory grew by {growth} bytes");
    let stats = limiter.stats().explicit;
    let judgement = judge_each(recorder.into_events(), |client| Promise::of(slow(client)));
    println!("{table_full:?}: resident +{growth} bytes, {stats:?}; {judgement}");
    judgement.assert_kept();
    assert!(stats.slots_taken <= KEYS_MAX as u64 * 8 / 6 + 8, "{stats:?}");
    stats
}

#[test]
fn ten_million_keys_of_three_limits_pass_through_a_table_of_a_million() {
    let stats = flood(TableFull::Inherit);
    assert!(stats.evicted > 500_000 && stats.denied_new == 0, "{stats:?}");
}

#[test]
fn ten_million_keys_of_three_limits_pass_by_a_table_that_denies_newcomers() {
    let stats = flood(TableFull::DenyNew);
    assert!(stats.denied_new > 5_000_000 && stats.evicted == 0, "{stats:?}");
}

/// Four threads, singly and several at once, on so many keys in a table for `keys_max`; every key keeps its promise.
fn stress(clients: u64, keys_max: usize, limit: Limit) -> Stats {
    let limiter = Limiter::builder().keys_max(1).explicit_keys_max(keys_max).build(limit).unwrap();
    let recorder = Recorder::new();
    thread::scope(|scope| {
        for thread in 0..4 {
            let (limiter, recorder) = (&limiter, &recorder);
            scope.spawn(move || {
                let (explicit, mut lane) = (limiter.explicit(), recorder.lane());
                let mut rng = Rng::with_seed(thread);
                for _ in 0..600_000 {
                    let cost = Cost::micros(rng.u64(100_000..3_000_000));
                    let keys = [rng.u64(0..clients), rng.u64(0..clients), rng.u64(0..clients)];
                    let keys = &keys[..if rng.u8(0..4) == 0 { 3 } else { 1 }];
                    let called = limiter.now() - CLOCK_ERROR_MAX;
                    let told = match keys {
                        [key] => explicit.check(*key, &limit, cost),
                        keys => {
                            let charges: Vec<_> =
                                keys.iter().map(|key| explicit.charge(*key, &limit, cost)).collect();
                            explicit.check_all(&charges)
                        }
                    };
                    if let Verdict::Admit { .. } = told.verdict {
                        let answered = limiter.now() + CLOCK_ERROR_MAX;
                        for key in keys {
                            lane.check(*key, cost, called, answered, true);
                        }
                    }
                }
            });
        }
    });
    let judgement = judge(recorder.into_events(), &Promise::of(limit));
    println!("{clients} keys in a table for {keys_max}: {judgement}, {:?}", limiter.stats().explicit);
    judgement.assert_kept();
    limiter.stats()
}

#[test]
fn explicit_keys_under_many_threads_keep_their_promise() {
    let limit = |rate, burst| Limit::new(Rate::per_second(rate), Burst::tokens(burst)).unwrap();
    stress(1, 1_000, limit(1_000_000, 500));
    stress(30, 1_000, limit(50_000, 100));
    let crowded = stress(400, 1, limit(5_000, 20));
    assert!(crowded.explicit.evicted + crowded.explicit.reclaimed > 10_000, "{crowded:?}");
}
