//! A sliding window counter on a blackboard: every charge ever made, counted again by window of the grid.

use tollgate_core::{Moment, Span};

/// All charges, in steps. The grid begins at `start`.
#[derive(Debug, Clone)]
pub struct CounterModel {
    window: u128,
    start: Moment,
    /// When, and how many steps; negative is given back.
    charges: Vec<(Moment, i64)>,
}

impl CounterModel {
    /// Nothing charged yet.
    pub fn new(window: Span, start: Moment) -> CounterModel {
        CounterModel { window: u128::from(window.as_nanos()), start, charges: Vec::new() }
    }

    /// When the first window of the grid begins.
    pub fn start(&self) -> Moment {
        self.start
    }

    /// Micro-tokens of a step.
    pub fn step_of(quota_micros: u64) -> u64 {
        match quota_micros {
            0..=262_143 => 1,
            262_144..1_000_000 => 10,
            1_000_000..2_621_440_000 => 10_000,
            2_621_440_000..26_214_400_000 => 100_000,
            _ => 1_000_000,
        }
    }

    /// The number of the grid's window at `now`, and the nanoseconds of it that have passed.
    pub fn place(&self, now: Moment) -> (u128, u128) {
        let since = u128::from(now.since(self.start).as_nanos());
        (since / self.window, since % self.window)
    }

    /// What counts at `now`, in steps, rounded up: that of this window, and that of the one before as far as it is looked back on.
    pub fn used(&self, now: Moment) -> u128 {
        let (number, elapsed) = self.place(now);
        let before = number.checked_sub(1).map_or(0, |number| self.charged_in(number));
        (before * (self.window - elapsed)).div_ceil(self.window) + self.charged_in(number)
    }

    /// What was charged in one window of the grid.
    pub fn charged_in(&self, number: u128) -> u128 {
        let within = self.charges.iter().filter(|(at, _)| self.place(*at).0 == number);
        let sum: i128 = within.map(|(_, steps)| i128::from(*steps)).sum();
        u128::try_from(sum).unwrap_or(0)
    }

    /// Charges so many steps; negative ones are given back, as far as this window has charged any.
    pub fn charge(&mut self, steps: i64, now: Moment) {
        let charged = i64::try_from(self.charged_in(self.place(now).0)).unwrap_or(i64::MAX);
        self.charges.push((now, steps.max(-charged)));
    }

    /// Forgets what will never count again, so that long histories can be afforded.
    pub fn forget(&mut self, now: Moment) {
        let (number, _) = self.place(now);
        let kept = self.charges.iter().copied().filter(|(at, _)| self.place(*at).0 + 1 >= number);
        self.charges = kept.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_before_fades() {
        let at = Moment::from_nanos;
        let mut model = CounterModel::new(Span::from_nanos(10), at(100));
        model.charge(7, at(109));
        model.charge(1, at(110));
        assert_eq!([model.used(at(109)), model.used(at(110)), model.used(at(115))], [7, 8, 5]);
        assert_eq!([model.used(at(119)), model.used(at(120)), model.used(at(130))], [2, 1, 0]);
        model.charge(-5, at(119));
        assert_eq!([model.used(at(119)), model.used(at(120))], [1, 0]);
        assert_eq!(
            [1, 262_143, 262_144, 1_000_000, 2_000_000_000_000].map(CounterModel::step_of),
            [1, 1, 10, 10_000, 1_000_000]
        );
    }
}
