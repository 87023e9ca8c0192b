//! Rulers of every kind: as words, changed, carried over, and on another clock.

use std::ops::Range;

use tollgate_core::{Algorithm, Mark, Meter, Moment, Ruler, Span, Start};
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::any_algorithm::{any_algorithm, any_demand, any_start};
use super::bucket::Bucket;

/// What was stored is what is read, and what was damaged is refused or is a ruler all the same.
pub(crate) fn words_come_back(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (ruler, now, _) = any_ruler(rng);
        let words = ruler.words();
        assert_eq!(Ruler::from_words(words), ruler);
        assert_eq!(Ruler::try_from_words(words), Some(ruler), "a real ruler is refused");
        let quick = Meter::from_quick_words(words[..Meter::QUICK_WORDS].try_into().unwrap());
        if !matches!(ruler.algorithm(), Algorithm::TokenBucket(_)) {
            let later = now + Span::from_nanos(any_magnitude(rng, u64::MAX));
            assert_eq!([quick.quick_level(now), quick.quick_level(later)], [None; 2]);
        }
        let mut damaged = words;
        let place = rng.usize(0..Ruler::WORDS);
        damaged[place] = match rng.u8(0..4) {
            0 => 0,
            1 => u64::MAX - rng.u64(0..2),
            2 => damaged[place] ^ 1 << rng.u8(0..64),
            _ => any_magnitude(rng, u64::MAX),
        };
        if let Some(other) = Ruler::try_from_words(damaged) {
            assert_eq!(other.words(), damaged);
            let full = other.reading(now).full_mark();
            let balance = other.reading(now).balance(full);
            assert!(other.log().is_some() || balance <= other.full().as_micros().cast_signed());
        }
        for place in DETERMINED {
            let mut damaged = words;
            damaged[place] ^= 1 << rng.u8(0..64);
            let refused = Ruler::try_from_words(damaged).is_none();
            assert!(refused || place == KIND, "word {place} of {ruler:?} is determined by the others");
        }
    });
}

/// The inverse, and which kind it is.
const DETERMINED: [usize; 2] = [3, KIND];
const KIND: usize = 10;

/// A change, a sibling and another clock keep what a bucket holds; none makes it fuller than full.
pub(crate) fn keep_balances(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (ruler, mut now, first_mark) = any_ruler(rng);
        if ruler.log().is_some() {
            return;
        }
        // Where a mark reads as lapped depends on the length of the queue; so not one that may have been.
        let is_leaky = matches!(ruler.algorithm(), Algorithm::LeakyBucket(_));
        let mark = if rng.bool() && !is_leaky { first_mark } else { ruler.reading(now).full_mark() };
        let mut bucket = Bucket { ruler, mark };
        for _ in 0..rng.usize(0..4) {
            bucket.check(any_demand(rng, bucket.full()), now);
        }
        if rng.u8(0..4) == 0 {
            bucket.adjust(-any_magnitude(rng, 1 << 58).cast_signed(), now);
        }
        // Idle for a while: its mark lies far behind, and it must not be taken for what the new limit calls full.
        if rng.bool() && !is_leaky {
            now = now + Span::from_nanos(any_magnitude(rng, 1 << 58));
        }
        let next = any_successor(rng, &ruler);
        if let Some(changed) = ruler.change(next, now) {
            judge_change(&bucket, &Bucket { ruler: changed, mark: bucket.mark }, now);
        }
        if let Some(sibling) = ruler.sibling(next, Start { now, ..any_start(rng) }) {
            let mark = sibling.carry_over(bucket.mark, &ruler, now);
            judge_change(&bucket, &Bucket { ruler: sibling, mark }, now);
        }
        if !ruler.is_of_places() {
            judge_transplant(rng, &bucket, now);
        }
    });
}

fn judge_change(old: &Bucket, new: &Bucket, now: Moment) {
    let (before, after) = (old.balance(now), new.balance(now));
    let (old_full, new_full) = (old.full().cast_signed(), new.full().cast_signed());
    assert!(after <= new_full, "fuller than full");
    match new.ruler.algorithm() {
        // So deep in debt that under a shorter queue its mark reads as lapped: more than 10^12 tokens ahead.
        Algorithm::LeakyBucket(_) if old_full - before > 1_000_000_000_000_000_000 => {}
        // What is used or queued stays so.
        Algorithm::LeakyBucket(_) => judge_close(old_full - before, new_full - after, 1),
        Algorithm::SlidingCounter(_) | Algorithm::Concurrency(_) => {
            judge_close(old_full - before, new_full - after, 0);
        }
        // What is left stays, but for the word that is no mark.
        _ => judge_close(before.min(new_full), after, 1),
    }
}

fn judge_close(one: i64, other: i64, slack: u64) {
    assert!(one.abs_diff(other) <= slack, "{one} became {other}");
}

/// As it goes on by the old clock, it goes on by the new one; for windows of the calendar, if both show the same wall time.
fn judge_transplant(rng: &mut Rng, bucket: &Bucket, now: Moment) {
    let origin = bucket.ruler.words()[14];
    let is_of_the_calendar = matches!(bucket.ruler.algorithm(), Algorithm::FixedWindow(_));
    let back = if is_of_the_calendar {
        rng.u64(0..=origin.min(now.as_nanos()))
    } else {
        rng.u64(0..=now.as_nanos())
    };
    let (there, origin) = (now - Span::from_nanos(back), origin.saturating_add(back));
    let carried = Bucket { ruler: bucket.ruler.transplant(now, there, origin), mark: bucket.mark };
    for later in [0, 1, any_magnitude(rng, 1 << 61), any_magnitude(rng, 1 << 61)].map(Span::from_nanos) {
        assert_eq!(carried.balance(there + later), bucket.balance(now + later), "{later} later");
    }
}

/// A ruler that was changed a few times, the moment of the last change, and the word of a bucket that was full at first.
fn any_ruler(rng: &mut Rng) -> (Ruler, Moment, Mark) {
    let start = any_start(rng);
    let (mut ruler, mut now) = (Ruler::new(any_algorithm(rng), start), start.now);
    let first_mark = ruler.reading(now).full_mark();
    for _ in 0..rng.usize(0..4) {
        now = now + Span::from_nanos(any_magnitude(rng, 1 << 58));
        if let Some(changed) = ruler.change(any_successor(rng, &ruler), now) {
            ruler = changed;
        }
    }
    (ruler, now, first_mark)
}

/// A limit of the same algorithm, and if it may not change, of the same length.
fn any_successor(rng: &mut Rng, ruler: &Ruler) -> Algorithm {
    use tollgate_core::{Burst, Concurrency, PLACES_MAX, SlidingCounter, SlidingLog};
    match ruler.algorithm() {
        Algorithm::SlidingCounter(counter) => {
            let most = (counter.quota().as_micros() * 16).min(tollgate_core::COUNTER_TOKENS_MAX * 1_000_000);
            SlidingCounter::new(Burst::micros(any_magnitude(rng, most)), counter.window()).unwrap().into()
        }
        Algorithm::SlidingLog(log) => {
            SlidingLog::new(super::any_algorithm::any_quota(rng), log.window()).unwrap().into()
        }
        Algorithm::Concurrency(places) => {
            Concurrency::new(rng.u32(1..=PLACES_MAX), places.timeout()).unwrap().into()
        }
        other => loop {
            let next = any_algorithm(rng);
            if next.name() == other.name() {
                return next;
            }
        },
    }
}
