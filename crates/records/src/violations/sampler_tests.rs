//! The sampling beside an exact count of the same denials.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::{KEYS_SAMPLED_MAX, SECONDS, SKIPPED_MAX, Sample, Sampler, Slot, TAG_SHIFT, is_later, lane};

/// A generator of our own, so that a failure is replayed by its seed.
struct Splitmix(u64);

impl Splitmix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// With as many places as there can be.
fn sampler(stored_per_second: u32) -> Sampler {
    Sampler::new(stored_per_second, u32::MAX)
}

/// A key's denials, counted without bounds.
#[derive(Default)]
struct Exact {
    second: i64,
    stored: u32,
    skipped: u64,
}

impl Exact {
    fn sample(&mut self, second: i64, stored_per_second: u32) -> Sample {
        if second > self.second {
            (self.second, self.stored) = (second, 0);
        }
        if self.stored >= stored_per_second {
            self.skipped += 1;
            return Sample::Out;
        }
        self.stored += 1;
        Sample::Stored { sampled_for: 1 + std::mem::take(&mut self.skipped) }
    }
}

#[test]
fn the_first_of_each_second_are_stored_and_stand_for_exactly_the_others() {
    for seed in 0..200 {
        let mut random = Splitmix(seed);
        let stored_per_second = u32::try_from(random.below(6)).unwrap();
        let keys = 1 + random.below(200);
        let sampler = sampler(stored_per_second);
        let mut exact: HashMap<u64, Exact> = HashMap::new();
        let mut second = i64::try_from(random.below(2_000_000_000)).unwrap();
        let (mut denied, mut told) = (0, 0);
        for _ in 0..5_000 {
            if random.below(50) == 0 {
                second += i64::try_from(1 + random.below(5)).unwrap();
            }
            let hash = mix(random.below(keys) + 1);
            let expected = exact.entry(hash).or_default().sample(second, stored_per_second);
            let sample = sampler.sample(hash, second, || true);
            assert_eq!(sample, expected, "seed {seed}");
            denied += 1;
            told += if let Sample::Stored { sampled_for } = sample { sampled_for } else { 0 };
        }
        let open: u64 = exact.values().map(|key| key.skipped).sum();
        assert_eq!(
            told + open,
            denied,
            "seed {seed}: rows stand for all but those after the last row of a key"
        );
    }
}

#[test]
fn more_keys_than_it_can_tell_apart_are_not_stored_more_often() {
    let sampler = sampler(2);
    for second in [7, 8] {
        let mut stored = 0;
        for key in 0..200_000 {
            stored += usize::from(sampler.sample(mix(key), second, || true) != Sample::Out);
        }
        assert!(stored <= 2 * KEYS_SAMPLED_MAX, "{stored}");
        assert!(stored > KEYS_SAMPLED_MAX / 2, "{stored}: another second, other keys");
    }
}

#[test]
fn hardly_a_key_finds_no_room_where_each_row_of_a_second_is_another_key() {
    for rows_per_second in [1, 3, 500, 1_000, 4_000] {
        let sampler = Sampler::new(3, rows_per_second);
        for second in 0..20 {
            let new = |row: u32| mix(second << 32 | u64::from(row));
            let is_stored =
                |row: &u32| sampler.sample(new(*row), i64::try_from(second).unwrap(), || true) != Sample::Out;
            let stored = (0..rows_per_second).filter(is_stored).count();
            assert!(stored * 100 >= rows_per_second as usize * 99, "{stored} of {rows_per_second}");
        }
    }
}

#[test]
fn one_that_may_not_be_stored_is_carried_by_the_next_that_may() {
    let sampler = sampler(1);
    assert_eq!(sampler.sample(mix(1), 5, || true), Sample::Stored { sampled_for: 1 });
    assert_eq!(sampler.sample(mix(1), 6, || false), Sample::Out);
    assert_eq!(sampler.sample(mix(1), 6, || true), Sample::Stored { sampled_for: 2 });
}

#[test]
fn a_thread_that_is_late_by_a_second_opens_no_second_anew() {
    let sampler = sampler(1);
    assert_eq!(sampler.sample(mix(1), 9, || true), Sample::Stored { sampled_for: 1 });
    assert_eq!(sampler.sample(mix(1), 8, || true), Sample::Out);
    assert_eq!(sampler.sample(mix(1), 9, || true), Sample::Out);
    assert_eq!(
        sampler.sample(mix(1), 2, || true),
        Sample::Stored { sampled_for: 3 },
        "a clock that was set back"
    );
}

#[test]
fn what_a_row_stands_for_has_a_maximum_and_spills_into_nothing_else() {
    let full = Slot { tag: (1 << TAG_SHIFT) - 1, second: SECONDS - 1, stored: 15 };
    assert_eq!((Slot::of(full.word()), full.word()), (full, u64::MAX));
    let sampler = sampler(1);
    let hash = mix(1);
    for _ in 0..2 {
        sampler.sample(hash, 1, || true);
    }
    let words = &sampler.skipped[lane()].0;
    let word = words.iter().find(|word| word.load(Ordering::Relaxed) != 0).unwrap();
    word.fetch_add(SKIPPED_MAX - 1, Ordering::Relaxed);
    assert_eq!(sampler.sample(hash, 1, || true), Sample::Out);
    assert_eq!(sampler.sample(hash, 2, || true), Sample::Stored { sampled_for: SKIPPED_MAX + 1 });
}

#[test]
fn threads_that_meet_a_new_key_at_once_store_no_more_of_it() {
    const THREADS: usize = 4;
    const SECONDS: i64 = 3_000;
    for stored_per_second in [1, 3] {
        let (sampler, start) = (sampler(stored_per_second), std::sync::Barrier::new(THREADS));
        let play = || {
            let second_by_second = (0..SECONDS).map(|second| {
                start.wait();
                let new = mix(u64::try_from(second).unwrap() + 1);
                let stored = (0..6).filter(|_| sampler.sample(new, second, || true) != Sample::Out);
                stored.count()
            });
            second_by_second.collect::<Vec<usize>>()
        };
        let stored: Vec<Vec<usize>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(play)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for second in 0..usize::try_from(SECONDS).unwrap() {
            let of_all: usize = stored.iter().map(|of_thread| of_thread[second]).sum();
            assert!(of_all <= stored_per_second as usize, "{of_all} of second {second}");
        }
    }
}

#[test]
fn a_key_that_was_driven_out_brings_nothing_of_before() {
    let sampler = sampler(1);
    // All of one set.
    let key = |number: u64| mix(number) << TAG_SHIFT;
    for _ in 0..1_000 {
        sampler.sample(key(1), 100, || true);
    }
    for other in 2..10 {
        assert_eq!(sampler.sample(key(other), 200, || true), Sample::Stored { sampled_for: 1 });
    }
    assert_eq!(sampler.sample(key(1), 50_000, || true), Sample::Stored { sampled_for: 1 });
    assert_eq!(sampler.sample(key(1), 50_001, || true), Sample::Stored { sampled_for: 1 });
}

#[test]
fn late_threads_add_nothing_to_a_second_that_is_full() {
    let sampler = sampler(3);
    let stored = |second| sampler.sample(mix(1), second, || true) != Sample::Out;
    assert_eq!(
        [100, 100, 100, 100, 101, 100, 100, 101].map(stored),
        [true, true, true, false, true, false, false, true]
    );
}

#[test]
fn threads_that_deny_the_same_keys_claim_no_more_than_there_were() {
    const THREADS: u64 = 12;
    const EACH: u64 = 20_000;
    let sampler = sampler(3);
    // Few keys of one set, so that they drive each other out.
    let keys: Vec<u64> = (1..=12).map(|key| mix(key) << TAG_SHIFT).collect();
    let play = |thread: u64| {
        let mut random = Splitmix(thread);
        let (mut stored, mut told) = (0, 0);
        for step in 0..EACH {
            let key = keys[usize::try_from(random.below(12)).unwrap()];
            if let Sample::Stored { sampled_for } =
                sampler.sample(key, i64::try_from(step / 2_000).unwrap(), || true)
            {
                (stored, told) = (stored + 1, told + sampled_for);
            }
        }
        (stored, told)
    };
    let sums: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || play(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (stored, told) = sums.iter().fold((0, 0), |(stored, told), sum| (stored + sum.0, told + sum.1));
    assert!(stored > 0 && told >= stored && told <= THREADS * EACH, "{stored} rows for {told}");
}

#[test]
fn seconds_go_in_a_circle() {
    let last = SECONDS - 1;
    assert!(is_later(0, last) && !is_later(last, 0) && !is_later(5, 5) && is_later(9, 5));
}
