//! Seeded random numbers (SplitMix64): the same seed gives every subject and every run the same stream.
//!
//! Good enough to choose keys; not for anything that an attacker may guess.

/// A generator that is nothing but its seed.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    /// Starts from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 to `bound - 1`; 0 when `bound` is 0. Its bias is below `bound` ÷ 2^32.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let product = u64::from(self.next_u32()) * u64::from(bound);
        (product >> 32) as u32
    }

    /// A number from 0 up to but not including 1, in steps of 2^-32.
    pub(crate) fn unit(&mut self) -> f64 {
        f64::from(self.next_u32()) / (f64::from(u32::MAX) + 1.0)
    }

    fn next_u32(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix;

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_all_of_them() {
        let mut random = SplitMix::new(7);
        let mut seen = [false; 10];
        for _ in 0..1_000 {
            seen[random.below(10) as usize] = true;
            assert!((0.0..1.0).contains(&random.unit()));
        }
        assert_eq!(seen, [true; 10]);
        assert_eq!(random.below(0), 0);
    }
}
