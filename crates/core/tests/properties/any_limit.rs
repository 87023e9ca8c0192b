//! Random limits, costs and pauses that are interesting to a bucket: of every magnitude, and about its own size.

use tollgate_core::{Burst, Cost, Limit, Rate, Span};
use tollgate_sim::seeds::{Rng, any_magnitude};

/// Longest pause that a case of 200 steps can take 200 times without running out of time: 1.4 years.
const PAUSE_NANOS_MAX: u64 = u64::MAX / 400;
/// A bucket left alone while 2^64 micro-tokens are minted may look emptier (see `Mark`); a pause stays well below that.
const PAUSE_MICROS_MAX: u64 = 1 << 62;

/// A limit from the whole range that is allowed: 1 per year to 10^9 per second, bursts to 10^12 tokens.
pub(crate) fn any_limit(rng: &mut Rng) -> Limit {
    loop {
        let period = Span::from_nanos(any_magnitude(rng, 31_536_000_000_000_000));
        let rate = match rng.u8(0..4) {
            0 => Rate::per_second(any_magnitude(rng, 1_000_000_000)),
            1 => Rate::new(any_magnitude(rng, 1_000), Span::from_secs(any_magnitude(rng, 86_400))),
            _ => Rate::new(any_magnitude(rng, 1_000_000_000_000), period),
        };
        let burst = match rng.u8(0..2) {
            0 => Burst::tokens(any_magnitude(rng, 1_000_000_000_000)),
            _ => Burst::micros(any_magnitude(rng, 1_000_000_000_000_000_000)),
        };
        if let Ok(limit) = Limit::new(rate, burst) {
            return limit;
        }
    }
}

/// A cost from one micro-token to a little more than the burst; often a good part of it.
pub(crate) fn any_cost(rng: &mut Rng, limit: &Limit) -> Cost {
    let burst = limit.burst().as_micros();
    Cost::micros(match rng.u8(0..8) {
        0 => burst + rng.u64(0..3),
        1 => rng.u64(1..=1_000_000),
        2..=4 => any_magnitude(rng, burst),
        _ => rng.u64(1..=burst),
    })
}

/// A pause: none, of any magnitude, or about what this bucket needs to fill.
pub(crate) fn any_pause(rng: &mut Rng, limit: &Limit) -> Span {
    let [micros, nanos, _] = limit.terms();
    let longest = u128::from(PAUSE_MICROS_MAX) * u128::from(nanos) / u128::from(micros);
    let longest = u64::try_from(longest).unwrap_or(u64::MAX).clamp(1, PAUSE_NANOS_MAX);
    let to_full = limit.time_to_full().as_nanos().min(longest);
    Span::from_nanos(match rng.u8(0..8) {
        0 => 0,
        1..=3 => any_magnitude(rng, longest),
        _ => rng.u64(0..=to_full),
    })
}
