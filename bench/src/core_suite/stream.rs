//! The keys that a round checks, made before the clock starts and read by every subject in the same order.

use super::case::Distribution;
use super::zipf::Zipf;
use crate::splitmix::SplitMix;

const SEED: u64 = 0x0007_0011_6A7E;

/// `checks` keys like `user:123456`, drawn from `keys` of them.
pub(crate) fn users(distribution: Distribution, keys: u32, checks: u32) -> Vec<String> {
    let mut random = SplitMix::new(SEED);
    let named = |user: u32| format!("user:{user}");
    match distribution {
        Distribution::Hot => (0..checks).map(|_| named(0)).collect(),
        Distribution::Uniform => (0..checks).map(|_| named(random.below(keys))).collect(),
        Distribution::Zipf => {
            let zipf = Zipf::new(keys);
            (0..checks).map(|_| named(zipf.draw(&mut random))).collect()
        }
    }
}

/// `checks` keys made of `prefix` and a number below `keys`; independent of [`users`].
pub(crate) fn others(prefix: &str, keys: u32, checks: u32) -> Vec<String> {
    let mut random = SplitMix::new(SEED ^ u64::from(keys));
    (0..checks).map(|_| format!("{prefix}{}", random.below(keys))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Distribution, others, users};

    #[test]
    fn two_streams_of_a_kind_are_the_same() {
        for distribution in [Distribution::Hot, Distribution::Uniform, Distribution::Zipf] {
            let stream = users(distribution, 1_000, 500);
            assert_eq!(stream, users(distribution, 1_000, 500));
            assert_eq!(stream.len(), 500);
            assert!(stream.iter().all(|key| key.starts_with("user:")));
        }
    }

    #[test]
    fn a_hot_stream_names_one_key_and_a_uniform_one_nearly_all() {
        let distinct = |mut keys: Vec<String>| {
            keys.sort_unstable();
            keys.dedup();
            keys.len()
        };
        assert_eq!(distinct(users(Distribution::Hot, 1, 100)), 1);
        assert!(distinct(users(Distribution::Uniform, 100, 2_000)) >= 99);
        assert_eq!(distinct(others("org:", 10, 1_000)), 10);
    }
}
