//! Random tests that can be replayed.
//!
//! Every generated case comes from a seed of its own; a case that fails names its seed, and `TOLLGATE_SEED=…` runs that
//! case alone. It does not know what is tested, and the same seeds run every time: a gate must not be a lottery.

use std::env;
use std::ops::Range;

pub use fastrand::Rng;

/// The environment variable that names the one seed to run.
pub const SEED_VARIABLE: &str = "TOLLGATE_SEED";

/// Runs `case` once for every seed, or only for the one that [`SEED_VARIABLE`] names.
pub fn for_each_seed(seeds: Range<u64>, mut case: impl FnMut(&mut Rng)) {
    let chosen = env::var(SEED_VARIABLE).ok().and_then(|seed| seed.parse().ok());
    for seed in chosen.map_or(seeds, |seed: u64| seed..seed.saturating_add(1)) {
        let _named = NamedOnPanic(seed);
        case(&mut Rng::with_seed(seed));
    }
}

/// Says which seed was running if it is dropped by a panic.
struct NamedOnPanic(u64);

impl Drop for NamedOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the failing case is replayed by {SEED_VARIABLE}={}", self.0);
        }
    }
}

/// A number whose magnitude is random too, from 1 to `max`: as often below 1,000 as above `max / 1,000`.
pub fn any_magnitude(rng: &mut Rng, max: u64) -> u64 {
    let bits = u64::BITS - max.leading_zeros();
    let ceiling = u64::MAX >> (u64::BITS - rng.u32(1..=bits));
    rng.u64(1..=ceiling.min(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_case_every_time() {
        let cases = || {
            let mut drawn = Vec::new();
            for_each_seed(0..20, |rng| drawn.push(any_magnitude(rng, 1_000)));
            drawn
        };
        assert_eq!(cases(), cases());
        assert!(cases().iter().all(|number| (1..=1_000).contains(number)));
    }
}
