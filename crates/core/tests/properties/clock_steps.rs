//! A8: a clock that steps back and forth, by anything, at any time, gives nothing.

use std::ops::Range;

use tollgate_core::{Decision, Limit, Meter, Moment, Span, decide};
use tollgate_sim::checker::worst_in_order;
use tollgate_sim::seeds::{Rng, any_magnitude, for_each_seed};

use super::any_limit::{any_cost, any_limit, any_pause};

/// Checks of one case.
pub(crate) const STEPS: usize = 300;

/// A mark further ahead of its meter than 10^12 tokens is taken for one that was lapped (see `Mark`). So this is how far
/// a clock may be stepped: by the time that 10^12 tokens take (1,000 s at the highest rate, 3,170 years at 10 per second).
const STEPPED_MICROS_MAX: u128 = 1_000_000_000_000_000_000;

/// However the clock jumps, the admits from the i-th to the j-th sum to at most `burst + minted(j) − minted(i)`.
pub(crate) fn give_nothing(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let limit = any_limit(rng);
        let earliest = Moment::from_nanos(rng.u64(..) >> 4);
        let range = range_of_steps(&limit);
        let mut now = earliest;
        let meter = Meter::new(limit, now, rng.u64(..));
        let (mut mark, mut admitted) = (meter.level(now).full_mark(), Vec::new());
        for _ in 0..STEPS {
            now =
                earliest + Span::from_nanos(any_step(rng, &limit, now.since(earliest)).as_nanos().min(range));
            let cost = any_cost(rng, &limit);
            if let Decision::Admit { mark: charged, .. } = decide(&meter, mark, cost, now) {
                mark = charged;
                admitted.push((now, cost));
            }
        }
        let excess = worst_in_order(limit, admitted);
        assert!(excess.is_none_or(|excess| excess <= 0), "over by {excess:?} micro-tokens under {limit:?}");
    });
}

/// Where the clock goes: usually on, sometimes back a little, sometimes anywhere.
fn any_step(rng: &mut Rng, limit: &Limit, since: Span) -> Span {
    match rng.u8(0..8) {
        0 => Span::from_nanos(since.as_nanos().saturating_sub(any_magnitude(rng, u64::MAX))),
        1 => Span::from_nanos(any_magnitude(rng, u64::MAX >> 1)),
        2 => Span::ZERO,
        _ => since + any_pause(rng, limit),
    }
}

fn range_of_steps(limit: &Limit) -> u64 {
    let [micros, nanos, _] = limit.terms();
    let range = STEPPED_MICROS_MAX * u128::from(nanos) / u128::from(micros);
    u64::try_from(range).unwrap_or(u64::MAX).min(u64::MAX >> 1)
}
