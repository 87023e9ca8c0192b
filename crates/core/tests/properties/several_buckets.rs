//! A5: one check over several buckets, beside one exact model for each.

use std::ops::Range;

use tollgate_core::{
    CHARGES_MAX, Charged, Cost, Decision, JointDecision, Limit, Mark, Meter, Moment, Span, Tokens, decide,
    decide_all,
};
use tollgate_sim::model::{Model, whole};
use tollgate_sim::seeds::{Rng, for_each_seed};

use super::any_limit::{any_cost, any_limit, any_pause};

/// Checks of one case.
pub(crate) const STEPS: u64 = 60;

/// One bucket of a check, with the model that is told of every charge.
struct Bucket {
    limit: Limit,
    meter: Meter,
    mark: Mark,
    model: Model,
    cost: Cost,
}

/// All are charged or none is; the verdict names exactly those that denied, with the longest wait and the least left.
pub(crate) fn are_charged_all_or_none(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let mut now = Moment::from_nanos(rng.u64(..) >> 4);
        let count = rng.usize(1..=4).max(rng.usize(1..=CHARGES_MAX) / 4);
        let mut buckets: Vec<Bucket> = (0..count).map(|_| any_bucket(rng, now)).collect();
        for _ in 0..STEPS {
            // Such as suits the fastest of them, so that none is lapped.
            let fastest = buckets
                .iter()
                .map(|bucket| bucket.limit)
                .min_by_key(|limit| limit.time_to_mint(Tokens::from_micros(1 << 40)))
                .unwrap();
            now = now + any_pause(rng, &fastest);
            for bucket in &mut buckets {
                bucket.cost = Cost::micros(any_cost(rng, &bucket.limit).as_micros().div_ceil(2));
                if rng.u8(0..100) == 0 {
                    bucket.cost = Cost::micros(u64::MAX);
                }
            }
            check(&mut buckets, now);
        }
    });
}

fn check(buckets: &mut [Bucket], now: Moment) {
    let alone: Vec<Decision> =
        buckets.iter().map(|bucket| decide(&bucket.meter, bucket.mark, bucket.cost, now)).collect();
    let names = |wanted: fn(&Decision) -> bool| {
        alone.iter().enumerate().filter(move |(_, decision)| wanted(decision)).map(|(index, _)| index)
    };
    let charges: Vec<Charged> = buckets
        .iter()
        .map(|bucket| Charged { meter: &bucket.meter, mark: bucket.mark, cost: bucket.cost })
        .collect();
    match decide_all(&charges, now) {
        JointDecision::Admit { marks, remaining } => {
            let mut least = Tokens::from_micros(u64::MAX);
            for ((bucket, mark), alone) in buckets.iter_mut().zip(marks).zip(&alone) {
                let missing = whole(bucket.cost.as_micros()) - bucket.model.balance(now);
                assert!(missing < whole(1), "charged {} although {missing} was missing", bucket.cost);
                let Decision::Admit { mark: expected, remaining } = *alone else { panic!("{alone:?}") };
                assert_eq!(mark, expected);
                least = least.min(remaining);
                bucket.mark = mark;
                bucket.model.spend(bucket.cost, now);
            }
            assert_eq!(remaining, least);
        }
        JointDecision::Deny { wait, denied, remaining } => {
            assert!(denied.iter().eq(names(|decision| matches!(decision, Decision::Deny { .. }))));
            let denials = alone.iter().filter_map(|decision| match decision {
                Decision::Deny { wait, remaining } => Some((*wait, *remaining)),
                _ => None,
            });
            assert_eq!(Some(wait), denials.clone().map(|(wait, _)| wait).max());
            assert_eq!(Some(remaining), denials.map(|(_, remaining)| remaining).min());
            let affordable = buckets.iter().all(|bucket| bucket.model.affords(bucket.cost, now));
            assert!(!affordable, "every model could pay");
        }
        JointDecision::Never { denied } => {
            assert!(denied.iter().eq(names(|decision| matches!(decision, Decision::Never))));
            assert!(!denied.is_empty());
        }
    }
}

fn any_bucket(rng: &mut Rng, now: Moment) -> Bucket {
    // At most an hour to fill: buckets of one check should meet each other half full.
    let limit = std::iter::repeat_with(|| any_limit(rng))
        .find(|limit| limit.time_to_full() < Span::from_secs(3_600))
        .unwrap();
    let meter = Meter::new(limit, now, rng.u64(..));
    let mark = meter.level(now).full_mark();
    Bucket { limit, meter, mark, model: Model::full(&limit, now), cost: Cost::ONE }
}
