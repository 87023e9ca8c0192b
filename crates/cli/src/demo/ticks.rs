//! Round numbers along an axis: 0, 5, 10 and not 0, 4.7, 9.4.
//!
//! Steps are 1, 2 or 5 times a power of ten, in whatever whole unit the axis counts. Knows no label.

/// Every round number from `from` to `to`, both included; at most `count_max` of them, which is at least 2.
pub(crate) fn between(from: u64, to: u64, count_max: u64) -> impl Iterator<Item = u64> {
    let least = u128::from(to.saturating_sub(from)).div_ceil(u128::from(count_max.max(2) - 1));
    let step = u64::try_from(round_step(least)).unwrap_or(u64::MAX);
    let first = from.div_ceil(step);
    (first..).map_while(move |tick| tick.checked_mul(step)).take_while(move |tick| *tick <= to)
}

/// The least of 1, 2, 5, 10, 20, 50, … that is not below `least`.
pub(crate) fn round_step(least: u128) -> u128 {
    let mut power = 1;
    loop {
        if let Some(factor) = [1, 2, 5].into_iter().find(|factor| factor * power >= least) {
            return factor * power;
        }
        power *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!([0, 1, 2, 3, 6, 11, 49, 51].map(round_step), [1, 1, 2, 5, 10, 20, 50, 100]);
    }

    #[test]
    fn ticks_are_round_and_few() {
        let ticks = |from, to, count| between(from, to, count).collect::<Vec<_>>();
        assert_eq!(ticks(0, 2_000, 5), [0, 500, 1_000, 1_500, 2_000]);
        assert_eq!(ticks(55, 119, 8), [60, 70, 80, 90, 100, 110]);
        assert_eq!(ticks(7, 7, 5), [7]);
        for (from, to) in [(0, 1), (3, 1_000), (0, u64::MAX), (999, 1_001)] {
            assert!(ticks(from, to, 6).len() <= 6, "{from} to {to}");
        }
    }
}
