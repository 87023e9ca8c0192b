//! What was admitted, by when it leaves: at once, or after the delay that a leaky bucket told it to wait.
//!
//! The worst over-admission is found by the history checker, not by this file.

use tollgate::{Cost, Limit, Moment, Span, Tokens};

use crate::checker::{Promise, judge, most_within};
use crate::history::Event;

/// An admitted request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// When it was sent.
    pub came: Moment,
    /// When it goes ahead.
    pub leaves: Moment,
    /// What it was charged.
    pub cost: Cost,
}

/// All that one run admitted, in the order in which it leaves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passages(Vec<Passage>);

impl FromIterator<Passage> for Passages {
    fn from_iter<P: IntoIterator<Item = Passage>>(passages: P) -> Passages {
        let mut passages = Vec::from_iter(passages);
        passages.sort_by_key(|passage| passage.leaves);
        Passages(passages)
    }
}

impl Passages {
    /// How many leave from `from` on and before `to`.
    pub fn left(&self, from: Moment, to: Moment) -> u64 {
        let before = |end: Moment| self.0.partition_point(|passage| passage.leaves < end);
        (before(to) - before(from.min(to))) as u64
    }

    /// How many of those that came from `from` on and before `to` were admitted, whenever they leave.
    pub fn admitted(&self, from: Moment, to: Moment) -> u64 {
        self.0.iter().filter(|passage| passage.came >= from && passage.came < to).count() as u64
    }

    /// The longest that an admitted request had to wait.
    pub fn longest_delay(&self) -> Span {
        let delays = self.0.iter().map(|passage| passage.leaves.since(passage.came));
        delays.max().unwrap_or(Span::ZERO)
    }

    /// The worst `left − (burst + rate · d)` over all intervals; nothing if the promise was kept. Saturates at 1.8·10^13 tokens.
    pub fn over(&self, promise: Limit) -> Tokens {
        let judgement = judge(self.history(), &Promise::of(promise));
        judgement.worst().map_or(Tokens::ZERO, |worst| tokens(worst.excess))
    }

    /// The most that left in any interval of this length. Saturates at 1.8·10^13 tokens.
    pub fn most_within(&self, length: Span) -> Tokens {
        most_within(self.history(), length).map_or(Tokens::ZERO, |busiest| tokens(busiest.admitted))
    }

    fn history(&self) -> Vec<Event> {
        let event = |passage: &Passage| {
            let (leaves, cost) = (passage.leaves, passage.cost.as_micros());
            let cost = i64::try_from(cost).unwrap_or(i64::MAX);
            Event { key: 0, called: leaves, answered: leaves, cost, admitted: true }
        };
        self.0.iter().map(event).collect()
    }
}

/// Micro-tokens, none if there are less than none.
fn tokens(micros: i128) -> Tokens {
    Tokens::from_micros(u64::try_from(micros.max(0)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use tollgate::{Algorithm, Burst, FixedWindow, LeakyBucket, Rate, Verdict, Window};

    use super::*;
    use crate::playground::Booth;

    fn at(millis: u64) -> Moment {
        Moment::default() + Span::from_millis(millis)
    }

    fn passages(limit: impl Into<Algorithm>, arrivals: &[Moment]) -> Passages {
        let booth = Booth::new(limit).unwrap();
        let pass = |&came: &Moment| match booth.check_at(Cost::ONE, came) {
            Verdict::Admit { delay, .. } => Some(Passage { came, leaves: came + delay, cost: Cost::ONE }),
            _ => None,
        };
        arrivals.iter().filter_map(pass).collect()
    }

    #[test]
    fn a_leaky_bucket_is_judged_by_what_leaves() {
        let leaky = LeakyBucket::new(Rate::per_second(10), Burst::tokens(5)).unwrap();
        let passages = passages(leaky, &[at(0); 8]);
        assert_eq!(passages.admitted(at(0), at(1)), 5, "the queue");
        assert_eq!([at(1), at(101), at(401)].map(|end| passages.left(at(0), end)), [1, 2, 5]);
        assert_eq!(passages.longest_delay(), Span::from_millis(400));
        let even = Limit::new(Rate::per_second(10), Burst::tokens(1)).unwrap();
        assert_eq!(passages.over(even), Tokens::ZERO);
    }

    #[test]
    fn over_admission_is_what_the_history_checker_finds() {
        let window = Window::every(Span::from_secs(1)).unwrap();
        let fixed = FixedWindow::new(Burst::tokens(10), window).unwrap();
        let passages = passages(fixed, &[[at(999); 10], [at(1_000); 10]].concat());
        let promise = Limit::new(Rate::per_second(10), Burst::tokens(10)).unwrap();
        let over = passages.over(promise).as_micros();
        assert_eq!(over, 9_989_999, "20 in a millisecond, 10.01 and a micro-token allowed");
        assert_eq!(passages.most_within(Span::from_secs(1)).whole(), 20);
    }

    #[test]
    fn nothing_that_left_breaks_no_promise() {
        let promise = Limit::new(Rate::per_second(10), Burst::tokens(10)).unwrap();
        let none = Passages::default();
        assert_eq!((none.over(promise), none.most_within(Span::from_secs(1))), (Tokens::ZERO, Tokens::ZERO));
        assert_eq!((none.left(at(0), at(9)), none.longest_delay()), (0, Span::ZERO));
    }
}
