//! Nothing panics, whatever the word, the time or the demand; and no word is fuller than full.

use std::ops::Range;

use tollgate_core::{
    Algorithm, Cost, Demand, Log, Mark, Moment, Reading, Ruler, SlidingLog, Spend, Start, Tokens,
};
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::any_algorithm::any_algorithm;

/// Everything a ruler can be asked, with anything at all.
pub(crate) fn rulers_answer_anything(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let start = Start { now: any_moment(rng), offset: any_word(rng), origin: any_word(rng) };
        let mut ruler = Ruler::new(any_algorithm(rng), start);
        for _ in 0..20 {
            let (now, mark, demand) = (any_moment(rng), Mark::from_word(any_word(rng)), any_wild_demand(rng));
            judge_reading(rng, &ruler, mark, demand, now);
            let other = Ruler::new(any_algorithm(rng), Start { now, ..start });
            assert_ne!(ruler.carry_over(mark, &other, now).word(), Mark::RESERVED_WORD);
            if let Some(changed) = ruler.change(other.algorithm(), now) {
                ruler = changed;
            }
            ruler = ruler.transplant(now, any_moment(rng), any_word(rng));
            assert_eq!(Ruler::try_from_words(ruler.words()), Some(ruler));
        }
    });
}

/// Words that were never those of a ruler are refused, or are those of one that answers anything.
pub(crate) fn any_words_are_refused_or_answer_anything(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let mut words = [0; Ruler::WORDS].map(|_| any_word(rng));
        words[10] = rng.u64(0..8);
        // Else nearly all are refused for the first word that makes no sense.
        let start = Start { now: any_moment(rng), offset: any_word(rng), origin: any_word(rng) };
        let sound = Ruler::new(any_algorithm(rng), start).words();
        for (place, word) in words.iter_mut().enumerate() {
            if rng.u8(0..8) != 0 {
                *word = sound[place];
            }
        }
        if let Some(ruler) = Ruler::try_from_words(words) {
            let (now, mark, demand) = (any_moment(rng), Mark::from_word(any_word(rng)), any_wild_demand(rng));
            judge_reading(rng, &ruler, mark, demand, now);
            let _ = ruler.transplant(now, any_moment(rng), any_word(rng));
        }
    });
}

fn judge_reading(rng: &mut Rng, ruler: &Ruler, mark: Mark, demand: Demand, now: Moment) {
    let (reading, full) = (ruler.reading(now), ruler.full().as_micros());
    let balance = reading.balance(mark);
    assert!(balance <= full.cast_signed(), "{balance} of {full}");
    let _ = (reading.is_full(mark), reading.full_mark(), ruler.delay(mark, now));
    let _ = reading.emptier(mark, Mark::from_word(any_word(rng)));
    let never = ruler.never_admits(demand);
    match reading.spend(mark, demand) {
        Spend::Paid { mark: paid, remaining } => {
            assert!(!never, "{demand:?} was paid and never is");
            let after = reading.balance(paid);
            assert!(i128::from(after) <= i128::from(balance) - i128::from(demand.cost.as_micros()));
            // One emptier in place of the word that is no mark.
            assert!(i128::from(after) + 1 >= i128::from(demand.keep.as_micros()), "{demand:?} left {after}");
            assert!(remaining.as_micros() <= full);
        }
        Spend::Short { missing, held } => {
            // A mark that its meter seems to have lapped counts as full now, and may be lapped no more later.
            let is_a_mark = matches!(reading, Reading::Level { .. });
            let mark = if is_a_mark { reading.mark_of(balance) } else { mark };
            let wait = ruler.wait(mark, demand, now);
            // After the end of time, or of the wall clock: the last word of a fixed window is its origin.
            let ends = (now + wait).as_nanos().saturating_add(ruler.words()[Ruler::WORDS - 1]);
            let after_all = (now + wait).as_nanos().max(ends) == u64::MAX;
            let unsure = never || ruler.log().is_some() || after_all;
            assert!(missing > 0 && held.as_micros() <= full);
            let then = ruler.reading(now + wait).spend(mark, demand);
            assert!(
                unsure || matches!(then, Spend::Paid { .. }),
                "denied after {wait}: {demand:?}, {mark:?}"
            );
        }
    }
    let micros = any_word(rng).cast_signed();
    let adjusted = reading.balance(reading.adjust(mark, micros));
    assert!(adjusted <= full.cast_signed() && (micros < 0 || adjusted <= balance.saturating_add(micros)));
    let _ = reading.balance(reading.mark_of(micros));
    let cost = Cost::micros(any_word(rng));
    assert!(reading.returnable(Mark::from_word(any_word(rng)), cost) <= cost.as_micros());
    let (paid, debt_max) = (Mark::from_word(any_word(rng)), Tokens::from_micros(any_word(rng)));
    let given = reading.give_back(mark, paid, cost, any_word(rng), debt_max);
    assert!(
        (balance..=full.cast_signed()).contains(&reading.balance(given)),
        "{reading:?} {mark:?} {paid:?}"
    );
    let other = reading.other_than(mark, mark);
    assert!(other != mark && reading.balance(other) <= full.cast_signed());
    if let Reading::Places(places) = reading {
        let generation = places.generation(mark);
        let back = places.give_back(mark, generation, Cost::micros(any_word(rng))).unwrap();
        assert!(reading.balance(back) >= balance);
    }
}

/// A log that is charged and asked anything; the moments go forward, as its callers' do.
pub(crate) fn logs_answer_anything(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let limit = loop {
            if let Algorithm::SlidingLog(limit) = any_algorithm(rng) {
                break limit;
            }
        };
        let (mut log, mut now, mut exact) = (Log::default(), any_moment(rng), Vec::new());
        for _ in 0..20 {
            now = now.max(any_moment(rng));
            log.forget(&limit, now);
            judge_log(&log, &limit, &mut exact, any_wild_demand(rng), now);
            let micros = any_word(rng);
            if rng.u8(0..4) == 0 {
                let before = log.balance(&limit, now);
                let given =
                    if rng.bool() { log.give_back(micros).0 } else { log.give_back_of(now, micros).0 };
                assert!(given <= micros && log.balance(&limit, now) >= before);
                exact = log.charges().collect();
            } else {
                log.charge(micros, now);
                exact.push((now, micros));
            }
            assert!(log.empty_at(&limit).is_none_or(|at| at >= now));
        }
    });
}

fn judge_log(log: &Log, limit: &SlidingLog, exact: &mut Vec<(Moment, u64)>, demand: Demand, now: Moment) {
    exact.retain(|(at, _)| now.since(*at) < limit.window());
    let used: u128 = exact.iter().map(|(_, micros)| u128::from(*micros)).sum();
    let left = i128::from(limit.quota().as_micros()) - used.cast_signed();
    assert!(i128::from(log.balance(limit, now)) == left.max(i128::from(i64::MIN)), "{left} left");
    let _ = log.wait(limit, demand, now);
    match log.peek(limit, demand, now) {
        Ok(_) => assert!(i128::from(demand.need()) <= left),
        Err(Spend::Short { missing, .. }) => assert!(missing > 0),
        Err(Spend::Paid { .. }) => panic!("a refusal that paid"),
    }
}

fn any_wild_demand(rng: &mut Rng) -> Demand {
    let keep = if rng.bool() { 0 } else { any_word(rng) };
    Demand { cost: Cost::micros(any_word(rng).max(1)), keep: Tokens::from_micros(keep) }
}

fn any_moment(rng: &mut Rng) -> Moment {
    Moment::from_nanos(any_word(rng))
}

/// Any at all, of any magnitude, or about the ends.
fn any_word(rng: &mut Rng) -> u64 {
    match rng.u8(0..5) {
        0 => u64::MAX - rng.u64(0..3),
        1 => (1 << 63) - 2 + rng.u64(0..4),
        2 => rng.u64(0..3),
        3 => rng.u64(..),
        _ => any_magnitude(rng, u64::MAX),
    }
}
