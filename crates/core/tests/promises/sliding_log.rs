//! A10, sliding log: exactly the quota in every window, whenever it begins.

use std::ops::Range;

use tollgate_core::{Demand, Log, Moment, SlidingLog, Span, Spend};
use tollgate_sim::models::{LogModel, most_in_a_window};
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::any_algorithm::{any_demand, any_quota};

/// Steps of one case.
pub(crate) const STEPS: u64 = 100;

/// Beside a list that is added up again for every question.
pub(crate) fn follows_the_list(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let window = Span::from_nanos(any_magnitude(rng, 1 << 62));
        let (limit, raised) = (any_quota(rng), any_quota(rng));
        let (limit, raised) =
            (SlidingLog::new(limit, window).unwrap(), SlidingLog::new(raised, window).unwrap());
        let changing = rng.u8(0..4) == 0;
        let mut now = Moment::from_nanos(rng.u64(..) >> 2);
        let (mut log, mut model, mut charges) = (Log::default(), LogModel::new(window), Vec::new());
        for _ in 0..STEPS {
            now = now + any_pause(rng, window);
            let limit = if changing && rng.bool() { raised } else { limit };
            log.forget(&limit, now);
            model.forget(now);
            let quota = limit.quota().as_micros();
            assert_eq!(
                i128::from(log.balance(&limit, now)),
                i128::from(quota) - model.used(now).cast_signed()
            );
            match rng.u8(0..12) {
                0 => {
                    let micros = any_magnitude(rng, quota);
                    let given = log.give_back(micros).0;
                    assert_eq!(given, model.give_back(micros, now));
                    charges.push((now, -given.cast_signed()));
                }
                1 if !charges.is_empty() => {
                    let (at, micros) = charges[rng.usize(0..charges.len())];
                    let micros = micros.unsigned_abs();
                    let given = log.give_back_of(at, micros).0;
                    assert_eq!(given, model.give_back_of(at, micros, now));
                    charges.push((now, -given.cast_signed()));
                }
                2 if changing => {
                    // A debt, as a commit above its estimate makes one.
                    let micros = any_magnitude(rng, quota);
                    log.charge(micros, now);
                    model.charge(micros, now);
                }
                _ => check(&mut log, &mut model, &limit, any_demand(rng, quota), now, &mut charges),
            }
            assert!(log.entries() <= log.charges().count());
        }
        if !changing {
            let most = most_in_a_window(&charges, window);
            assert!(most <= i128::from(limit.quota().as_micros()), "{most} micro-tokens in one window");
        }
    });
}

fn check(
    log: &mut Log,
    model: &mut LogModel,
    limit: &SlidingLog,
    demand: Demand,
    now: Moment,
    charges: &mut Vec<(Moment, i64)>,
) {
    let (quota, used) = (u128::from(limit.quota().as_micros()), model.used(now));
    let (need, keep) = (u128::from(demand.need()), u128::from(demand.keep.as_micros()));
    if need > quota {
        return;
    }
    match log.peek(limit, demand, now) {
        Ok(remaining) => {
            assert_eq!(u128::from(remaining.as_micros()) + need + used, quota);
            log.charge(demand.cost.as_micros(), now);
            model.charge(demand.cost.as_micros(), now);
            charges.push((now, demand.cost.as_micros().cast_signed()));
        }
        Err(Spend::Short { missing, held }) => {
            assert_eq!(u128::from(missing), need + used - quota);
            assert_eq!(u128::from(held.as_micros()), quota.saturating_sub(used + keep));
            let wait = log.wait(limit, demand, now);
            assert_eq!(Some(wait), model.wait_until_at_most(quota - need, now));
            let admits = |later| {
                let mut log = log.clone();
                log.forget(limit, later);
                log.peek(limit, demand, now).is_ok()
            };
            assert!(admits(now + wait) && !admits(now + wait - Span::from_nanos(1)));
        }
        Err(Spend::Paid { .. }) => panic!("a refusal that paid"),
    }
}

/// None, any, or a good part of a window.
fn any_pause(rng: &mut Rng, window: Span) -> Span {
    let longest = window.as_nanos().min(u64::MAX >> 9);
    Span::from_nanos(match rng.u8(0..8) {
        0 | 1 => 0,
        2 => rng.u64(0..=longest),
        3 => longest,
        _ => any_magnitude(rng, longest.div_ceil(8)),
    })
}

/// Beyond the maximum of entries it counts more than was charged, never less, and for no longer than a window.
pub(crate) fn merging_never_admits_more(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let entries = u64::try_from(tollgate_core::LOG_ENTRIES_MAX).unwrap();
        let window = Span::from_nanos(rng.u64(entries..=4 * entries));
        let limit = SlidingLog::new(tollgate_core::Burst::tokens(1), window).unwrap();
        let (mut log, mut charges) = (Log::default(), std::collections::VecDeque::new());
        let (mut now, mut exact) = (Moment::default(), 0_u64);
        for _ in 0..2 * entries {
            now = now + Span::from_nanos(rng.u64(0..=2));
            log.forget(&limit, now);
            while let Some((at, micros)) = charges.front().copied()
                && now.since(at) >= window
            {
                charges.pop_front();
                exact -= micros;
            }
            let micros = rng.u64(1..=5);
            if log.peek(&limit, Demand::of(tollgate_core::Cost::micros(micros)), now).is_ok() {
                log.charge(micros, now);
                charges.push_back((now, micros));
                exact += micros;
            }
            let left = log.balance(&limit, now);
            assert!(left >= 0 && left <= 1_000_000 - exact.cast_signed(), "{left} left, {exact} charged");
            assert!(log.entries() <= tollgate_core::LOG_ENTRIES_MAX);
        }
        assert!(!log.charges().any(|(at, _)| now.since(at) >= window));
        log.forget(&limit, now + window);
        assert_eq!(log.balance(&limit, now), 1_000_000, "all of it is back after a window");
    });
}
