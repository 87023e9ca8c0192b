//! A3: ten years of checks and re-basings at random moments mint rate × time, to one micro-token.

use std::ops::Range;

use num_rational::BigRational;
use tollgate_core::{Burst, Cost, Decision, Limit, Meter, Moment, Rate, Span, decide};
use tollgate_sim::model::{minted, whole};
use tollgate_sim::seeds::{Rng, for_each_seed};

const TEN_YEARS: Span = Span::from_secs(10 * 31_536_000);
/// A case pauses about this often, or more often where its burst is too small for such pauses.
const PAUSES: u64 = 5_000;
/// Changes of one case of [`re_basing_keeps_every_fraction`].
const CHANGES: u64 = 2_000;
const BURST_TOKENS_MAX: u64 = 1_000_000_000_000;

/// From 1 per year to 10^9 per second.
const RATES: [(u64, Span); 8] = [
    (1, Span::from_secs(31_536_000)),
    (7, Span::from_secs(86_400)),
    (3, Span::from_secs(1_000)),
    (1, Span::from_secs(1)),
    (17, Span::from_millis(60)),
    (1_000_000, Span::from_secs(1)),
    (300_000_000, Span::from_secs(1)),
    (1_000_000_000, Span::from_secs(1)),
];

/// One case for each seed and each of [`RATES`]; gives the number of checks.
pub(crate) fn mint_rate_times_time(seeds: Range<u64>) -> u64 {
    let mut checks = 0;
    for_each_seed(seeds, |rng| {
        for rate in RATES {
            checks += ten_years_of(rng, rate);
        }
    });
    checks
}

/// The hardest case for re-basing: rates in small terms that do not divide each other, changed every few nanoseconds, so
/// that nearly every change falls on a fraction of a micro-token.
pub(crate) fn re_basing_keeps_every_fraction(seeds: Range<u64>) {
    for_each_seed(seeds, |rng| {
        let mut now = Moment::from_nanos(rng.u64(..) >> 4);
        let small = |rng: &mut Rng| {
            let rate = Rate::new(rng.u64(1..=13), Span::from_nanos(rng.u64(1..=13) * 1_000_000));
            Limit::new(rate, Burst::tokens(1_000_000_000)).unwrap()
        };
        let mut meter = Meter::new(small(rng), now, rng.u64(..));
        let (mark, mut exact) = (meter.level(now).mark_of(0), whole(0));
        for _ in 0..CHANGES {
            let pause = rng.u64(0..50);
            exact += minted(meter.limit(), pause);
            now = now + Span::from_nanos(pause);
            meter = meter.change(small(rng), now);
        }
        let lost = exact - whole(meter.level(now).balance(mark));
        let allowed = whole(1) + BigRational::new(CHANGES.into(), num_bigint::BigInt::from(1_u128 << 64));
        assert!(lost >= whole(0) && lost < allowed, "{lost} micro-tokens lost");
    });
}

/// Three limits take turns at random moments. The bucket starts empty and never runs full, so every micro-token can be
/// accounted for: what was admitted and what is left is what was minted.
fn ten_years_of(rng: &mut Rng, rate: (u64, Span)) -> u64 {
    let limits = three_limits(rng, rate);
    let smallest_burst = limits.iter().map(|limit| limit.burst().as_micros()).min().unwrap();
    let pause = |limit: &Limit| {
        let [micros, nanos, _] = limit.terms();
        u128::from(smallest_burst / 2) * u128::from(nanos) / u128::from(micros)
    };
    let pause = u64::try_from(limits.iter().map(pause).min().unwrap()).unwrap_or(u64::MAX);
    let pause = pause.min(2 * TEN_YEARS.as_nanos() / PAUSES);

    let start = Moment::from_nanos(rng.u64(..) >> 2);
    let (mut now, end) = (start, start + TEN_YEARS);
    let mut meter = Meter::new(limits[0], start, rng.u64(..));
    let mut mark = meter.level(start).mark_of(0);
    let (mut in_force, mut nanos_of_each) = (0, [0_u64; 3]);
    let (mut admitted, mut changes, mut checks) = (0_u128, 0_u32, 0);
    while now < end {
        let next = (now + Span::from_nanos(rng.u64(1..=pause))).min(end);
        nanos_of_each[in_force] += next.since(now).as_nanos();
        now = next;
        let balance = meter.level(now).balance(mark).cast_unsigned();
        let cost = if balance > smallest_burst / 2 { balance } else { rng.u64(0..=balance) };
        if cost > 0 {
            let Decision::Admit { mark: spent, .. } = decide(&meter, mark, Cost::micros(cost), now) else {
                panic!()
            };
            (mark, admitted, checks) = (spent, admitted + u128::from(cost), checks + 1);
        }
        if rng.u8(0..4) == 0 {
            in_force = rng.usize(0..3);
            meter = meter.change(limits[in_force], now);
            changes += 1;
        }
    }
    let left = meter.level(now).balance(mark).cast_unsigned();
    let ours = whole(admitted + u128::from(left));
    let exact = limits.iter().zip(nanos_of_each).map(|(limit, nanos)| minted(limit, nanos));
    let exact = exact.fold(whole(0), |sum, part| sum + part);
    assert!(ours <= exact, "minted {ours} instead of {exact}");
    // Rounded down once, however often the rule was re-based: 2^-64 of a micro-token each is all that gets lost.
    let lost = BigRational::new(changes.into(), num_bigint::BigInt::from(1_u128 << 64));
    assert!(&exact - &ours < whole(1) + lost, "minted {ours} instead of {exact}");
    checks
}

/// Rates at most a tenth away from the given one, in awkward ratios, and bursts that an average pause does not fill.
fn three_limits(rng: &mut Rng, (tokens, period): (u64, Span)) -> [Limit; 3] {
    std::array::from_fn(|_| {
        let off = rng.u64(0..=period.as_nanos() / 10);
        // The slowest rate may only be made faster, the fastest only slower.
        let nanos =
            if period > Span::from_secs(1) { period.as_nanos() - off } else { period.as_nanos() + off };
        let in_ten_years = u128::from(tokens) * u128::from(TEN_YEARS.as_nanos()) / u128::from(nanos);
        let burst = u64::try_from(4 * in_ten_years / u128::from(PAUSES)).unwrap().clamp(1, BURST_TOKENS_MAX);
        Limit::new(Rate::new(tokens, Span::from_nanos(nanos)), Burst::tokens(burst)).unwrap()
    })
}
