//! A sliding window on a blackboard: every charge ever made, added up again for every question.

use tollgate_core::{Moment, Span};

/// All charges. A charge at time t counts from t on, and no longer from t + window on.
#[derive(Debug, Clone)]
pub struct LogModel {
    window: Span,
    /// When, and how many micro-tokens; in order.
    charges: Vec<(Moment, u64)>,
}

impl LogModel {
    /// Nothing charged yet.
    pub fn new(window: Span) -> LogModel {
        LogModel { window, charges: Vec::new() }
    }

    /// What counts at `now`, in micro-tokens.
    pub fn used(&self, now: Moment) -> u128 {
        self.charges
            .iter()
            .filter(|(at, _)| self.counts(*at, now))
            .map(|(_, micros)| u128::from(*micros))
            .sum()
    }

    /// The least whole number of nanoseconds after `now` at which at most `room` micro-tokens count: tries every moment at which
    /// a charge ceases to count.
    pub fn wait_until_at_most(&self, room: u128, now: Moment) -> Option<Span> {
        let ends = self.charges.iter().map(|(at, _)| *at + self.window).filter(|end| *end > now);
        let mut moments: Vec<Moment> = ends.collect();
        moments.push(now);
        moments.sort_unstable();
        moments.into_iter().find(|moment| self.used(*moment) <= room).map(|moment| moment.since(now))
    }

    /// Charges so many micro-tokens.
    pub fn charge(&mut self, micros: u64, now: Moment) {
        self.charges.push((now, micros));
    }

    /// Gives back up to so many of the micro-tokens that still count, the youngest first. Returns how many.
    pub fn give_back(&mut self, micros: u64, now: Moment) -> u64 {
        let (mut left, window) = (micros, self.window);
        for (at, charged) in self.charges.iter_mut().rev() {
            if now.since(*at) < window {
                let part = left.min(*charged);
                *charged -= part;
                left -= part;
            }
        }
        micros - left
    }

    /// Gives back up to so many of the micro-tokens charged at one moment, if they still count. Returns how many.
    pub fn give_back_of(&mut self, charged_at: Moment, micros: u64, now: Moment) -> u64 {
        let (mut left, window) = (micros, self.window);
        for (at, charged) in &mut self.charges {
            if *at == charged_at && now.since(*at) < window {
                let part = left.min(*charged);
                *charged -= part;
                left -= part;
            }
        }
        micros - left
    }

    /// Forgets what will never count again, so that long histories can be afforded.
    pub fn forget(&mut self, now: Moment) {
        let window = self.window;
        self.charges.retain(|(at, micros)| now.since(*at) < window && *micros > 0);
    }

    fn counts(&self, at: Moment, now: Moment) -> bool {
        at <= now && now.since(at) < self.window
    }
}

/// The most, in micro-tokens, that any interval [t, t + window) holds of charges (and refunds, which are negative) in order.
pub fn most_in_a_window(charges: &[(Moment, i64)], window: Span) -> i128 {
    let mut most = 0;
    for (from, (start, _)) in charges.iter().enumerate() {
        let mut sum = 0;
        for (_, micros) in charges[from..].iter().take_while(|(at, _)| at.since(*start) < window) {
            sum += i128::from(*micros);
            most = most.max(sum);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_counts_for_one_window_and_not_a_nanosecond_longer() {
        let at = Moment::from_nanos;
        let mut model = LogModel::new(Span::from_nanos(10));
        model.charge(3, at(5));
        model.charge(4, at(7));
        assert_eq!([model.used(at(14)), model.used(at(15)), model.used(at(17))], [7, 4, 0]);
        assert_eq!(model.wait_until_at_most(4, at(8)), Some(Span::from_nanos(7)));
        assert_eq!(most_in_a_window(&[(at(5), 3), (at(7), 4), (at(15), 5)], Span::from_nanos(10)), 9);
    }
}
