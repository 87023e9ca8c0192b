//! Many threads on few keys: the worst interval of the history is judged.

use std::thread;

use tollgate::{CLOCK_ERROR_MAX, Cost, Limit, Limiter, Stats};
use tollgate_sim::checker::{Promise, judge};
use tollgate_sim::history::Recorder;

use super::world::per_second;

const THREADS: u64 = 4;

/// Threads check `clients` keys, singly and several at once, by the machine's clock; every key keeps its promise.
pub(crate) fn keeps_its_promise(clients: u64, keys_max: usize, checks: u64, limit: Limit) -> Stats {
    let limiter = Limiter::builder().explicit_keys_max(keys_max).build(limit).unwrap();
    let recorder = Recorder::new();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (limiter, recorder) = (&limiter, &recorder);
            scope.spawn(move || {
                let (explicit, mut lane) = (limiter.explicit(), recorder.lane());
                let mut rng = fastrand::Rng::with_seed(thread);
                for _ in 0..checks {
                    let cost = Cost::micros(rng.u64(100_000..3_000_000));
                    let one = rng.u64(0..clients);
                    let other = if rng.u8(0..4) == 0 { rng.u64(0..clients) } else { one };
                    let called = limiter.now() - CLOCK_ERROR_MAX;
                    let told = if one == other {
                        explicit.check(one, &limit, cost)
                    } else {
                        explicit.check_all(&[one, other].map(|key| explicit.charge(key, &limit, cost)))
                    };
                    if told.is_admitted() {
                        let answered = limiter.now() + CLOCK_ERROR_MAX;
                        lane.check(one, cost, called, answered, true);
                        if other != one {
                            lane.check(other, cost, called, answered, true);
                        }
                    }
                }
            });
        }
    });
    let events = recorder.into_events();
    assert!(events.len() > 1_000, "{} admitted", events.len());
    let judgement = judge(events, &Promise::of(limit));
    println!("{clients} keys in a table for {keys_max}: {judgement}, {:?}", limiter.stats().explicit);
    judgement.assert_kept();
    limiter.stats()
}

#[test]
fn one_key_under_many_threads_keeps_its_promise() {
    keeps_its_promise(1, 1_000, 50_000, per_second(100_000, 500));
}

#[test]
fn several_keys_under_many_threads_keep_their_promise() {
    let stats = keeps_its_promise(20, 1_000, 50_000, per_second(5_000, 100));
    assert_eq!((stats.explicit.evicted, stats.explicit.denied_new), (0, 0));
}

#[test]
fn a_crowded_table_keeps_the_promise_of_every_key() {
    let stats = keeps_its_promise(400, 1, 50_000, per_second(500, 20));
    assert!(stats.explicit.evicted + stats.explicit.reclaimed > 1_000, "{stats:?}");
}
