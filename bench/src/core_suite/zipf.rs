//! Draws keys as a few popular clients and many rare ones would: Zipf's law.
//!
//! The cumulative weights are kept whole (8 bytes per key) and searched; simple, exact, and never timed.

use crate::splitmix::SplitMix;

/// The n-th most frequent key is drawn n^-1 times as often as the first.
pub(crate) const EXPONENT: f64 = 1.0;

/// Coprime to every count of keys that is not its multiple, so that multiplying by it permutes them.
const SCATTER: u64 = 15_485_863;

/// The law for a fixed number of keys.
pub(crate) struct Zipf {
    cumulative: Vec<f64>,
}

impl Zipf {
    /// The law over `keys` keys; at least 1.
    pub(crate) fn new(keys: u32) -> Self {
        let mut sum = 0.0;
        let weights = (1..=keys.max(1)).map(|rank| f64::from(rank).powf(-EXPONENT));
        Self {
            cumulative: weights
                .map(|weight| {
                    sum += weight;
                    sum
                })
                .collect(),
        }
    }

    /// A key from 0 to `keys - 1`. Popular keys are scattered over the range, else those inserted side by side would
    /// be hot side by side, and share cache lines that they would not share in life.
    pub(crate) fn draw(&self, random: &mut SplitMix) -> u32 {
        let total = self.cumulative.last().copied().unwrap_or(0.0);
        let aim = random.unit() * total;
        let rank = self.cumulative.partition_point(|&sum| sum <= aim);
        let scattered = rank as u64 * SCATTER % self.cumulative.len() as u64;
        u32::try_from(scattered).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{SplitMix, Zipf};

    #[test]
    fn the_first_is_drawn_about_twice_as_often_as_the_second() {
        let zipf = Zipf::new(100);
        let mut random = SplitMix::new(1);
        let mut drawn = vec![0_u32; 100];
        for _ in 0..100_000 {
            drawn[zipf.draw(&mut random) as usize] += 1;
        }
        drawn.sort_unstable_by(|a, b| b.cmp(a));
        // 1 / H(100) = 19.28 %.
        assert!((18_900..19_700).contains(&drawn[0]), "{}", drawn[0]);
        assert!((9_300..10_000).contains(&drawn[1]), "{}", drawn[1]);
        assert!(drawn[99] > 0, "every key has its own rank");
    }

    #[test]
    fn one_key_is_always_itself() {
        assert_eq!(Zipf::new(1).draw(&mut SplitMix::new(3)), 0);
    }
}
