//! Plays the same requests on one algorithm after the other, each on a fresh limiter in virtual time.
//!
//! What counts is when a request *leaves*: at once, or after the delay that a leaky bucket told it to wait.
//! The worst over-admission is found by the history checker of the wind tunnel, not by this file.

use tollgate::{BuildError, Clock, Cost, Limit, Limiter, Moment, Span, Verdict};
use tollgate_sim::checker::{Promise, judge, most_within};
use tollgate_sim::history::Event;

use super::contender::Contender;
use super::replay::CLIENT;

/// One algorithm's run.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    pub(crate) contender: Contender,
    /// What was admitted, in the order in which it leaves.
    passages: Vec<Passage>,
}

/// An admitted request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Passage {
    came: Moment,
    leaves: Moment,
}

impl Trial {
    /// Sends a request of one token at each of `arrivals`, which ascend.
    pub(crate) fn play(contender: Contender, arrivals: &[Moment]) -> Result<Trial, BuildError> {
        let limiter = fresh_limiter(&contender)?;
        let mut passages: Vec<Passage> = arrivals
            .iter()
            .filter_map(|&came| match limiter.check_at(CLIENT, Cost::ONE, came) {
                Verdict::Admit { delay, .. } => Some(Passage { came, leaves: came + delay }),
                _ => None,
            })
            .collect();
        passages.sort_by_key(|passage| passage.leaves);
        Ok(Trial { contender, passages })
    }

    /// How many leave from `from` on and before `to`.
    pub(crate) fn left(&self, from: Moment, to: Moment) -> u64 {
        let before = |end: Moment| self.passages.partition_point(|passage| passage.leaves < end);
        (before(to) - before(from.min(to))) as u64
    }

    /// How many of those that came from `from` on and before `to` were admitted, whenever they leave.
    pub(crate) fn admitted(&self, from: Moment, to: Moment) -> u64 {
        self.passages.iter().filter(|passage| passage.came >= from && passage.came < to).count() as u64
    }

    /// The longest that an admitted request had to wait.
    pub(crate) fn longest_delay(&self) -> Span {
        let delays = self.passages.iter().map(|passage| passage.leaves.since(passage.came));
        delays.max().unwrap_or(Span::ZERO)
    }

    /// The worst `left − (burst + rate · d)` over all intervals, in micro-tokens; 0 if the promise was kept.
    pub(crate) fn over(&self, promise: Limit) -> u64 {
        let judgement = judge(self.history(), &Promise::of(promise));
        judgement.worst().and_then(|worst| u64::try_from(worst.excess).ok()).unwrap_or(0)
    }

    /// The most that left in any interval of this length.
    pub(crate) fn most_within(&self, length: Span) -> u64 {
        let micros = most_within(self.history(), length).map_or(0, |busiest| busiest.admitted);
        u64::try_from(micros / i128::from(Cost::ONE.as_micros())).unwrap_or(0)
    }

    fn history(&self) -> Vec<Event> {
        let cost = Cost::ONE.as_micros().cast_signed();
        let event = |passage: &Passage| {
            let leaves = passage.leaves;
            Event { key: 0, called: leaves, answered: leaves, cost, admitted: true }
        };
        self.passages.iter().map(event).collect()
    }
}

/// Spends all that is there at `spent_at`, asks for nothing for a while, and then sends requests at once until one is denied or
/// told to wait: how many leave that very moment, for each of the `idle` spans.
pub(crate) fn let_through_after(
    contender: &Contender,
    spent_at: Moment,
    idle: impl Iterator<Item = Span>,
) -> Result<Vec<u64>, BuildError> {
    let all = Cost::micros(contender.limit.full().as_micros());
    idle.map(|idle| {
        let limiter = fresh_limiter(contender)?;
        let _ = limiter.check_at(CLIENT, all, spent_at);
        let check = || limiter.check_at(CLIENT, Cost::ONE, spent_at + idle);
        let leaves_now = |verdict: &Verdict| matches!(verdict, Verdict::Admit { delay: Span::ZERO, .. });
        Ok(std::iter::repeat_with(check).take_while(leaves_now).count() as u64)
    })
    .collect()
}

/// A limiter on which nothing has happened, at 1970-01-01T00:00Z, to which windows of the calendar align.
fn fresh_limiter(contender: &Contender) -> Result<Limiter, BuildError> {
    Limiter::builder().keys_max(1).clock(Clock::manual(Moment::default())).build(contender.limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate::{Burst, Rate};

    fn at(millis: u64) -> Moment {
        Moment::default() + Span::from_millis(millis)
    }

    #[test]
    fn a_leaky_bucket_is_judged_by_what_leaves() {
        let contender = Contender::leaky_bucket(Rate::per_second(10), 5).unwrap();
        let trial = Trial::play(contender, &[at(0); 8]).unwrap();
        assert_eq!(trial.admitted(at(0), at(1)), 5, "the queue");
        assert_eq!([at(1), at(101), at(401)].map(|end| trial.left(at(0), end)), [1, 2, 5]);
        assert_eq!(trial.longest_delay(), Span::from_millis(400));
        let even = Limit::new(Rate::per_second(10), Burst::tokens(1)).unwrap();
        assert_eq!(trial.over(even), 0);
    }

    #[test]
    fn over_admission_is_what_the_history_checker_finds() {
        let contender = Contender::fixed_window(10, Span::from_secs(1)).unwrap();
        let trial = Trial::play(contender, &[[at(999); 10], [at(1_000); 10]].concat()).unwrap();
        let promise = Limit::new(Rate::per_second(10), Burst::tokens(10)).unwrap();
        assert_eq!(trial.over(promise), 9_989_999, "20 in a millisecond, 10.01 and a micro-token allowed");
        assert_eq!(trial.most_within(Span::from_secs(1)), 20);
    }

    #[test]
    fn who_was_idle_is_let_through() {
        let contender = Contender::token_bucket(Rate::per_second(10), 20).unwrap();
        let idle = [0, 1, 2, 3].map(Span::from_secs).into_iter();
        assert_eq!(let_through_after(&contender, at(0), idle).unwrap(), [0, 10, 20, 20]);
    }
}
