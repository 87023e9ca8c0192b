//! How long to wait before the next attempt to connect: twice as long each time, and not as long as everybody else.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use super::LinkOptions;

/// The pauses between attempts. Jitter takes away up to half, so that a fleet that lost its store together does not return together.
pub(crate) struct BackOff {
    min: Duration,
    max: Duration,
    next: Duration,
    noise: u64,
}

impl BackOff {
    pub(crate) fn new(options: &LinkOptions) -> BackOff {
        let (min, max) = (options.back_off_min, options.back_off_max);
        // Seeded by the machine, as the hasher of every map is.
        BackOff { min, max, next: min, noise: RandomState::new().hash_one(0) }
    }

    /// The pause before the next attempt.
    pub(crate) fn next(&mut self) -> Duration {
        // The step of an xorshift.
        self.noise ^= self.noise << 13;
        self.noise ^= self.noise >> 7;
        self.noise ^= self.noise << 17;
        let pause = self.next;
        self.next = (pause * 2).min(self.max);
        let share = u32::try_from(self.noise % 512).unwrap_or(0);
        pause.saturating_sub(pause * share / 1_024)
    }

    /// The store answered: the next loss begins anew.
    pub(crate) fn reset(&mut self) {
        self.next = self.min;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_never_below_half() {
        let mut back_off = BackOff::new(&LinkOptions::default());
        for round in [10, 20, 40, 80, 160, 200, 200, 200] {
            let (full, pause) = (Duration::from_millis(round), back_off.next());
            assert!(pause <= full && pause >= full / 2, "{pause:?} of {full:?}");
        }
        back_off.reset();
        assert!(back_off.next() <= Duration::from_millis(10));
    }

    #[test]
    fn two_that_lose_the_store_together_do_not_return_together() {
        let pauses = || {
            let mut back_off = BackOff::new(&LinkOptions::default());
            (0..8).map(|_| back_off.next()).sum::<Duration>()
        };
        assert_ne!(pauses(), pauses());
    }
}
