//! Limits that the caller brings along: the stamped bucket beside the meter, and beside an exact balance and stamp.

use std::ops::Range;

use num_rational::BigRational;
use tollgate_core::{
    Cost, Decision, Limit, Meter, Moment, Span, Stamped, StampedDecision, Tokens, decide, decide_stamped,
};
use tollgate_sim::model::{minted, whole};
use tollgate_sim::seeds::{Rng, for_each_seed};

use super::any_limit::{any_cost, any_limit, any_pause};

/// Checks of one case.
pub(crate) const STEPS: u64 = 200;

/// Under one limit a stamped bucket answers as a metered one does, bit for bit, waits included, if both count from the
/// origin of time.
pub(crate) fn equal_the_meter_under_one_limit(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let limit = any_limit(rng);
        let mut now = Moment::from_nanos(rng.u64(..) >> 4);
        let meter = Meter::new(limit, Moment::from_nanos(0), rng.u64(..));
        let (mut mark, mut bucket) = (meter.level(now).full_mark(), None);
        for _ in 0..STEPS {
            now = now + any_pause(rng, &limit);
            let cost = any_cost(rng, &limit);
            match (decide(&meter, mark, cost, now), decide_stamped(&limit, bucket, cost, now)) {
                (Decision::Admit { mark: charged, remaining }, StampedDecision::Admit { bucket: stored }) => {
                    assert_eq!(stored, Stamped { balance: remaining, stamp: now });
                    (mark, bucket) = (charged, Some(stored));
                }
                (
                    Decision::Deny { wait, remaining },
                    StampedDecision::Deny { wait: stamped_wait, remaining: held, restamped },
                ) => assert_eq!((wait, remaining, None), (stamped_wait, held, restamped)),
                (Decision::Never, StampedDecision::Never) => {}
                (metered, stamped) => panic!("{metered:?} but {stamped:?}"),
            }
        }
    });
}

/// Under limits that change with every call it follows an exact balance and stamp: off by less than a micro-token for
/// every charge since it was last full, for each rate rounds in its own phase.
pub(crate) fn follow_an_exact_balance_and_stamp(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let limits: [Limit; 3] = std::array::from_fn(|_| any_limit(rng));
        let mut now = Moment::from_nanos(rng.u64(..) >> 4);
        let (mut bucket, mut exact): (Option<Stamped>, Option<(BigRational, Moment)>) = (None, None);
        let mut charges = 0_u64;
        for _ in 0..STEPS {
            let limit = limits[rng.usize(0..3)];
            now = any_moment(rng, &limit, now);
            let cost = any_cost(rng, &limit);
            let decision = decide_stamped(&limit, bucket, cost, now);
            let held = held(&limit, exact.as_ref(), now);
            let (wanted, off) = (whole(cost.as_micros()), whole(charges + 1));
            match decision {
                StampedDecision::Admit { bucket: stored } => {
                    assert!(&wanted - &held < off, "{wanted} admitted out of {held}");
                    let stamp = exact
                        .map_or(now, |(_, stamp)| if set_back(stamp, now) { now } else { stamp.max(now) });
                    assert_eq!(stored.stamp, stamp);
                    charges = if held == whole(limit.burst().as_micros()) { 0 } else { charges + 1 };
                    (bucket, exact) = (Some(stored), Some((held - wanted, stamp)));
                }
                StampedDecision::Deny { wait, remaining, restamped } => {
                    assert!(&held - wanted < off, "{cost} denied out of {held}");
                    let difference = whole(remaining.as_micros()) - held;
                    assert!(difference < off && difference > -off.clone(), "{difference}");
                    judge_wait(&limit, restamped.or(bucket), cost, now, wait);
                    if let (Some(stored), Some((balance, _))) = (restamped, exact.clone()) {
                        assert_eq!(stored.stamp, now);
                        (bucket, exact) = (Some(stored), Some((balance, now)));
                    }
                }
                StampedDecision::Never => assert!(cost.as_micros() > limit.burst().as_micros()),
            }
        }
    });
}

/// Raising the rate denies nothing that the lower rate admitted, but for the last micro-token, which each rate rounds in
/// its own phase.
pub(crate) fn are_not_denied_by_a_higher_rate(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let [one, other]: [Limit; 2] = std::array::from_fn(|_| any_limit(rng));
        let Some(other) = with_burst(&other, &one) else { return };
        let (slow, fast) = if rate(&one) < rate(&other) { (one, other) } else { (other, one) };
        let stamp = Moment::from_nanos(rng.u64(..) >> 4);
        let balance = Tokens::from_micros(rng.u64(0..slow.burst().as_micros()));
        let now = stamp + any_pause(rng, &slow);
        let cost = match decide_stamped(
            &slow,
            Some(Stamped { balance, stamp }),
            Cost::micros(slow.burst().as_micros()),
            now,
        ) {
            StampedDecision::Deny { remaining, .. } => remaining,
            _ => slow.burst(),
        };
        // All that the slower rate could pay, less the micro-token.
        let Some(cost) = cost.as_micros().checked_sub(1) else { return };
        let raised = decide_stamped(&fast, Some(Stamped { balance, stamp }), Cost::micros(cost), now);
        assert!(matches!(raised, StampedDecision::Admit { .. }), "{raised:?} {slow:?} {fast:?}");
    });
}

/// Micro-tokens per nanosecond.
fn rate(limit: &Limit) -> BigRational {
    minted(limit, 1)
}

fn with_burst(limit: &Limit, of: &Limit) -> Option<Limit> {
    let ([micros, nanos, _], [_, _, burst]) = (limit.terms(), of.terms());
    Limit::from_terms([micros, nanos, burst])
}

/// The bucket in rationals: its balance, and all that the call's rate minted since, up to the call's burst.
fn held(limit: &Limit, exact: Option<&(BigRational, Moment)>, now: Moment) -> BigRational {
    let burst = whole(limit.burst().as_micros());
    exact.map_or(burst.clone(), |(balance, stamp)| {
        (balance + minted(limit, now.since(*stamp).as_nanos())).min(burst)
    })
}

/// A6.
fn judge_wait(limit: &Limit, bucket: Option<Stamped>, cost: Cost, now: Moment, wait: Span) {
    let admits = |now| matches!(decide_stamped(limit, bucket, cost, now), StampedDecision::Admit { .. });
    assert!(wait > Span::ZERO && admits(now + wait), "{cost} still denied after {wait}");
    assert!(!admits(now + wait - Span::from_nanos(1)), "{cost} admitted before {wait}");
}

fn set_back(stamp: Moment, now: Moment) -> bool {
    stamp.since(now) > Span::from_secs(1)
}

/// Usually later; sometimes a little earlier, sometimes much.
fn any_moment(rng: &mut Rng, limit: &Limit, now: Moment) -> Moment {
    match rng.u8(0..16) {
        0 => now - Span::from_nanos(rng.u64(0..1_000_000_000)),
        1 => now - Span::from_nanos(rng.u64(0..100_000_000_000)),
        _ => now + any_pause(rng, limit),
    }
}
