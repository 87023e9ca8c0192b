//! Several buckets in one check: all are charged, or none.

use std::sync::Barrier;
use std::thread;

use tollgate::{Cost, Span, Verdict};

use super::world::{per_second, roomy, tokens, wait_of};

#[test]
fn if_one_denies_none_is_charged_and_all_who_deny_are_named() {
    let (limiter, _) = roomy();
    let (explicit, small, large) = (limiter.explicit(), per_second(1, 2), per_second(10, 100));
    assert!(explicit.check("spent", &small, tokens(2)).is_admitted());
    let charges = [
        explicit.charge("fine", &large, Cost::ONE),
        explicit.charge("spent", &small, Cost::ONE),
        explicit.charge("nearly", &small, tokens(2)),
    ];
    assert!(explicit.check("nearly", &small, Cost::ONE).is_admitted());
    let told = explicit.check_all(&charges);
    let Verdict::Deny { denied, .. } = told.verdict else { panic!("{told}") };
    assert_eq!([0, 1, 2].map(|index| denied.contains(index)), [false, true, true]);
    assert_eq!((wait_of(&told), told.tightest, told.remaining.whole()), (Span::from_secs(1), 1, 0));
    assert_eq!(explicit.peek("fine", &large, Cost::ONE).remaining.whole(), 99, "it was not charged");
    assert_eq!(limiter.stats().explicit.slots_taken, 2, "and not even placed");
}

#[test]
fn equal_keys_are_charged_their_sum() {
    let (limiter, _) = roomy();
    let (explicit, limit) = (limiter.explicit(), per_second(1, 5));
    let twice = [explicit.charge("a", &limit, tokens(2)), explicit.charge("a", &limit, tokens(2))];
    assert_eq!(explicit.check_all(&twice).to_string(), "admitted, 1 left");
    let told = explicit.check_all(&twice);
    let Verdict::Deny { denied, wait, .. } = told.verdict else { panic!("{told}") };
    assert!(denied.contains(0) && denied.contains(1));
    assert_eq!(wait, Span::from_secs(3));
    assert!(matches!(explicit.check_all(&[twice[0]; 3]).verdict, Verdict::Never { .. }), "6 of 5");
}

#[test]
fn the_tightest_bucket_is_named() {
    let (limiter, _) = roomy();
    let explicit = limiter.explicit();
    let charges = [
        explicit.charge("wide", &per_second(100, 1_000), Cost::ONE),
        explicit.charge("narrow", &per_second(1, 5), tokens(2)),
    ];
    let told = explicit.check_all(&charges);
    assert_eq!((told.tightest, told.remaining.whole(), told.time_to_full), (1, 3, Span::from_secs(2)));
}

#[test]
fn sixteen_at_once_work_in_a_table_for_one() {
    let (limiter, _) = super::world::limiter(1, tollgate::TableFull::DenyNew);
    let (explicit, limit) = (limiter.explicit(), per_second(1, 2));
    for _ in 0..2 {
        let charges: Vec<_> = (0..16_u32).map(|key| explicit.charge(key, &limit, Cost::ONE)).collect();
        assert!(explicit.check_all(&charges).is_admitted());
    }
}

/// Tokens are neither lost nor charged twice by checks that cross one another in every order.
#[test]
fn what_was_admitted_is_what_is_missing_whatever_the_threads_did() {
    const ROUNDS: u64 = 20_000;
    const KEYS: usize = 6;
    let (limiter, _) = roomy();
    let limit = per_second(1, 30_000);
    let barrier = Barrier::new(4);
    let spent: Vec<Vec<u64>> = thread::scope(|scope| {
        let work = |thread: u64| {
            let (limiter, barrier) = (&limiter, &barrier);
            move || {
                let explicit = limiter.explicit();
                let mut rng = fastrand::Rng::with_seed(thread);
                let mut spent = vec![0; KEYS];
                barrier.wait();
                for _ in 0..ROUNDS {
                    let keys: Vec<usize> = (0..rng.usize(1..4)).map(|_| rng.usize(0..KEYS)).collect();
                    let charges: Vec<_> =
                        keys.iter().map(|key| explicit.charge(*key, &limit, Cost::ONE)).collect();
                    if explicit.check_all(&charges).is_admitted() {
                        for key in keys {
                            spent[key] += 1;
                        }
                    }
                }
                spent
            }
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for key in 0..KEYS {
        let total: u64 = spent.iter().map(|of| of[key]).sum();
        let left = limiter.explicit().peek(key, &limit, Cost::micros(0)).remaining.whole();
        assert_eq!(total + left, 30_000, "key {key}");
        assert!(total > 20_000);
    }
}
