//! Plays a [`Scenario`] on a fresh limiter, request by request, in virtual time.
//!
//! This file and `trial` are the only ones of the demo that ask the engine; all others look at what it answered.
//! Time only goes forward: what lies before the moment asked for is played first.

use tollgate::{BuildError, Cost, Moment, Tokens, Verdict};
use tollgate_sim::playground::Booth;

use super::scenario::Scenario;

/// One run, under way.
#[derive(Debug)]
pub(crate) struct Replay<'s> {
    scenario: &'s Scenario,
    booth: Booth,
    played: u64,
}

/// A request and what it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// The first request is number 1.
    pub(crate) number: u64,
    pub(crate) at: Moment,
    pub(crate) verdict: Verdict,
}

/// How many requests there were, and how many of them were admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) requests: u64,
    pub(crate) admitted: u64,
}

impl<'s> Replay<'s> {
    /// A limiter on which nothing has happened, at t = 0.
    pub(crate) fn new(scenario: &'s Scenario) -> Result<Replay<'s>, BuildError> {
        Ok(Replay { scenario, booth: Booth::new(scenario.limit)?, played: 0 })
    }

    /// Plays every request before `end`, and counts.
    pub(crate) fn play_until(&mut self, end: Moment) -> Tally {
        let mut tally = Tally::default();
        while self.next_at().is_some_and(|at| at < end) {
            tally.extend(self.next());
        }
        tally
    }

    /// What the bucket holds at `now`, before any request of that very moment.
    pub(crate) fn balance(&mut self, now: Moment) -> Tokens {
        self.play_until(now);
        self.booth.balance_at(now)
    }

    /// One more request of the same client, which is not in the scenario.
    pub(crate) fn check(&self, now: Moment) -> Verdict {
        self.booth.check_at(Cost::ONE, now)
    }

    fn next_at(&self) -> Option<Moment> {
        (self.played < self.scenario.requests()).then(|| self.scenario.arrivals.moment(self.played, 1))
    }
}

impl Iterator for Replay<'_> {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let at = self.next_at()?;
        self.played += 1;
        Some(Request { number: self.played, at, verdict: self.check(at) })
    }
}

impl Tally {
    /// How many were not admitted.
    pub(crate) fn denied(self) -> u64 {
        self.requests - self.admitted
    }
}

impl Extend<Request> for Tally {
    fn extend<R: IntoIterator<Item = Request>>(&mut self, requests: R) {
        for request in requests {
            self.requests += 1;
            self.admitted += u64::from(request.verdict.is_admitted());
        }
    }
}
