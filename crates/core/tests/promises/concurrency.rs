//! A10, concurrency: never more at work than there are places, and no place lost for good.

use std::ops::Range;

use tollgate_core::{Concurrency, Cost, Demand, Generation, Moment, PlacesReading, Reading, Span, Tokens};
use tollgate_sim::models::PlacesModel;
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::any_algorithm::{any_concurrency, any_start};
use super::bucket::{Answer, Bucket};

/// Steps of one case.
pub(crate) const STEPS: u64 = 100;

/// Whoever holds places, and has not given them back.
#[derive(Debug, Clone, Copy)]
struct Holder {
    taken: Moment,
    generation: Generation,
    places: u64,
}

/// Beside a list of holders who come, go, and get lost.
pub(crate) fn never_has_more_at_work(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (concurrency, start) = (any_concurrency(rng), any_start(rng));
        let (mut bucket, mut now) = (Bucket::new(concurrency, start), start.now);
        let mut model = PlacesModel::new(concurrency.timeout());
        let mut holders: Vec<Holder> = Vec::new();
        for _ in 0..STEPS {
            now = now + any_pause(rng, concurrency.timeout());
            let (safe, possible) = (model.surely_held(now), model.possibly_held(now));
            let free = bucket.balance(now) / 1_000_000;
            let places = i64::from(concurrency.places());
            assert!(
                free <= places - safe.cast_signed(),
                "the places of a holder that may be at work are free"
            );
            assert!(free >= places - possible.cast_signed(), "places are lost for good");
            if rng.bool() && !holders.is_empty() {
                let holder = holders.swap_remove(rng.usize(0..holders.len()));
                give_back(&mut bucket, holder, concurrency.timeout(), now);
                model.give_back(holder.places, holder.taken);
            } else {
                let demand = any_places(rng, &concurrency);
                let generation = bucket.ruler.reading(now).generation(bucket.mark).unwrap();
                let taken = demand.cost.as_micros().div_ceil(1_000_000);
                let keep = demand.keep.as_micros().div_ceil(1_000_000);
                let left = free - taken.cast_signed() - keep.cast_signed();
                match bucket.check(demand, now) {
                    Answer::Admit { remaining, .. } => {
                        assert_eq!(remaining, u64::try_from(left).unwrap() * 1_000_000);
                        model.take(taken, now);
                        holders.push(Holder { taken: now, generation, places: taken });
                        assert!(model.surely_held(now) <= u64::from(concurrency.places()));
                    }
                    Answer::Deny { missing, held, wait } => {
                        assert_eq!(missing, left.unsigned_abs() * 1_000_000);
                        assert_eq!(held, u64::try_from(free - keep.cast_signed()).unwrap_or(0) * 1_000_000);
                        // Nobody gives back: then, and not a nanosecond earlier.
                        bucket.judge_wait(demand, wait, now);
                    }
                    Answer::Never => assert!(taken + keep > u64::from(concurrency.places())),
                }
            }
            let longest = Span::from_nanos(concurrency.timeout().as_nanos().saturating_mul(2));
            model.forget(now);
            holders.retain(|holder| now.since(holder.taken) <= longest);
        }
    });
}

/// Gives back once, and once more, which cannot happen but would free nothing that others hold in other generations.
fn give_back(bucket: &mut Bucket, holder: Holder, timeout: Span, now: Moment) {
    let (reading, before, age) = (places_at(bucket, now), bucket.balance(now), now.since(holder.taken));
    match reading.give_back(bucket.mark, holder.generation, Cost::tokens(holder.places)) {
        Some(mark) => {
            bucket.mark = mark;
            assert_eq!(bucket.balance(now), before + holder.places.cast_signed() * 1_000_000);
            assert!(u128::from(age.as_nanos()) * 2 < u128::from(timeout.as_nanos()) * 3);
        }
        None => assert!(age > timeout, "given back in time, and refused"),
    }
}

/// A lost place is safe for the timeout, to the last nanosecond, and free again after at most half as much more; giving back
/// twice, or too late, frees nothing.
pub(crate) fn lost_places_come_back_in_time(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (concurrency, start) = (any_concurrency(rng), any_start(rng));
        let taken = start.now + Span::from_nanos(rng.u64(0..=concurrency.timeout().as_nanos()));
        let mut bucket = Bucket::new(concurrency, start);
        let all = Demand::of(Cost::tokens(u64::from(concurrency.places())));
        let generation = bucket.ruler.reading(taken).generation(bucket.mark).unwrap();
        assert!(matches!(bucket.check(all, taken), Answer::Admit { .. }));
        assert!(!bucket.admits(Demand::of(Cost::ONE), taken + concurrency.timeout()), "safe for the timeout");
        let latest = taken + Span::from_nanos(concurrency.timeout().as_nanos() / 2 * 3);
        assert!(bucket.admits(all, latest), "free after one and a half times the timeout");
        let places = u64::from(concurrency.places());
        assert_eq!(places_at(&bucket, latest).give_back(bucket.mark, generation, Cost::tokens(places)), None);
        let in_time = places_at(&bucket, taken + concurrency.timeout());
        let once = in_time.give_back(bucket.mark, generation, Cost::tokens(places)).unwrap();
        let twice = in_time.give_back(once, generation, Cost::tokens(places)).unwrap();
        let balance = |mark| Reading::Places(in_time).balance(mark);
        assert_eq!([balance(once), balance(twice)], [places.cast_signed() * 1_000_000; 2]);
    });
}

/// A thread whose clock is up to a generation behind reads and writes words of one whose clock is right.
pub(crate) fn words_of_the_next_generation_give_nothing(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let (concurrency, start) = (any_concurrency(rng), any_start(rng));
        let generation = concurrency.timeout().as_nanos() / 2;
        let (mut bucket, mut now) = (Bucket::new(concurrency, start), start.now);
        for _ in 0..STEPS {
            now = now + any_pause(rng, concurrency.timeout());
            let slow = (now - Span::from_nanos(rng.u64(0..=generation))).max(start.now);
            // The right clock writes first, nothing but its generation.
            let kept = bucket.ruler.reading(now).generation(bucket.mark).unwrap();
            bucket.mark = places_at(&bucket, now).give_back(bucket.mark, kept, Cost::micros(0)).unwrap();
            let before = bucket.balance(now);
            assert_eq!(bucket.balance(slow), before, "both clocks see the same places");
            let demand = any_places(rng, &concurrency);
            let taken_in = bucket.ruler.reading(slow).generation(bucket.mark).unwrap();
            match bucket.check(demand, slow) {
                Answer::Admit { .. } => {
                    let taken = demand.cost.as_micros().div_ceil(1_000_000);
                    assert_eq!(bucket.balance(now), before - taken.cast_signed() * 1_000_000);
                    if rng.bool() {
                        bucket.mark =
                            places_at(&bucket, now).give_back(bucket.mark, taken_in, demand.cost).unwrap();
                        assert_eq!(bucket.balance(now), before);
                    }
                }
                Answer::Deny { wait, .. } => bucket.judge_wait(demand, wait, slow),
                Answer::Never => {}
            }
        }
    });
}

fn places_at(bucket: &Bucket, now: Moment) -> PlacesReading {
    match bucket.ruler.reading(now) {
        Reading::Places(places) => places,
        other => panic!("{other:?} is not of places"),
    }
}

fn any_places(rng: &mut Rng, concurrency: &Concurrency) -> Demand {
    let places = u64::from(concurrency.places());
    let cost = match rng.u8(0..4) {
        0 => Cost::tokens(any_magnitude(rng, places)),
        1 => Cost::micros(any_magnitude(rng, places * 1_000_000)),
        _ => Cost::ONE,
    };
    let keep = if rng.u8(0..4) == 0 { any_magnitude(rng, places * 1_000_000) } else { 0 };
    Demand { cost, keep: Tokens::from_micros(keep) }
}

/// None, any, or a small part of the timeout.
fn any_pause(rng: &mut Rng, timeout: Span) -> Span {
    let longest = timeout.as_nanos().min(u64::MAX >> 9);
    Span::from_nanos(match rng.u8(0..8) {
        0 | 1 => 0,
        2 => rng.u64(0..=longest),
        3 => longest / 2,
        _ => any_magnitude(rng, longest.div_ceil(8)),
    })
}
