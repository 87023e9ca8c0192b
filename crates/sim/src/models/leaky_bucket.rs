//! A leaky bucket on a blackboard: a backlog that drains at a rate.

use tollgate_core::Moment;

/// What is on its way out, exactly: in grains, so many to a micro-token that every rate is a whole number of grains per
/// nanosecond.
#[derive(Debug, Clone)]
pub struct LeakyModel {
    grains_per_micro: u128,
    grains_per_nano: u128,
    /// In grains, at `at`.
    backlog: u128,
    at: Moment,
}

impl LeakyModel {
    /// Nothing queues. `grains_per_micro` is a multiple of the denominator of every rate that will be used.
    pub fn empty(grains_per_micro: u128, [micros, nanos]: [u64; 2], now: Moment) -> LeakyModel {
        let mut model = LeakyModel { grains_per_micro, grains_per_nano: 0, backlog: 0, at: now };
        model.change([micros, nanos], now);
        model
    }

    /// Puts a rate of so many micro-tokens every so many nanoseconds in force; what queues stays in the queue.
    ///
    /// # Panics
    /// If the rate is no whole number of grains per nanosecond.
    pub fn change(&mut self, [micros, nanos]: [u64; 2], now: Moment) {
        self.drain(now);
        assert_eq!(self.grains_per_micro % u128::from(nanos), 0, "grains too coarse for this rate");
        self.grains_per_nano = self.grains_per_micro / u128::from(nanos) * u128::from(micros);
    }

    /// What queues at `now`, in grains.
    pub fn backlog(&self, now: Moment) -> u128 {
        let drained = u128::from(now.since(self.at).as_nanos()).saturating_mul(self.grains_per_nano);
        self.backlog.saturating_sub(drained)
    }

    /// How long whoever joins the queue at `now` waits before it leaves: until all that is ahead has left, to the nanosecond
    /// above.
    pub fn delay(&self, now: Moment) -> u128 {
        self.backlog(now).div_ceil(self.grains_per_nano)
    }

    /// How long after `now` at most `micros` are left in the queue, to the nanosecond above.
    pub fn wait_until_at_most(&self, micros: u64, now: Moment) -> u128 {
        let room = u128::from(micros) * self.grains_per_micro;
        self.backlog(now).saturating_sub(room).div_ceil(self.grains_per_nano)
    }

    /// So many micro-tokens join the queue.
    pub fn join(&mut self, micros: u64, now: Moment) {
        self.drain(now);
        self.backlog += u128::from(micros) * self.grains_per_micro;
    }

    /// How many grains make a micro-token.
    pub fn grains_per_micro(&self) -> u128 {
        self.grains_per_micro
    }

    /// How long one micro-token takes to leave, to the nanosecond above.
    pub fn time_of_one_micro(&self) -> u128 {
        self.grains_per_micro.div_ceil(self.grains_per_nano)
    }

    fn drain(&mut self, now: Moment) {
        self.backlog = self.backlog(now);
        self.at = self.at + now.since(self.at);
    }
}

/// The most by which departures, in order, exceed `rate · d` and the last of them, in micro-tokens, rounded down, over all
/// intervals from one departure to a later one. Each is when, and how many micro-tokens.
pub fn worst_excess(departures: &[(Moment, u64)], [micros, nanos]: [u64; 2]) -> i128 {
    let mut worst = i128::MIN;
    for (from, (start, _)) in departures.iter().enumerate() {
        let mut left = 0;
        for (end, cost) in &departures[from..] {
            let drained = i128::from(end.since(*start).as_nanos()) * i128::from(micros) / i128::from(nanos);
            worst = worst.max(left - drained);
            left += i128::from(*cost);
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::Span;

    #[test]
    fn two_at_once_leave_one_period_apart() {
        let start = Moment::from_nanos(5);
        let mut model = LeakyModel::empty(3, [1, 3], start);
        assert_eq!(model.delay(start), 0);
        model.join(2, start);
        assert_eq!(model.delay(start), 6);
        assert_eq!(model.delay(start + Span::from_nanos(1)), 5);
        assert_eq!(model.wait_until_at_most(1, start), 3);
        assert_eq!(model.delay(start + Span::from_secs(1)), 0);
    }
}
