//! A circuit breaker: who asks a store that does not answer, and who does not.
//!
//! ```text
//!             failures in a row                  its time has come
//!   closed ──────────────────────► open ◄──────────────────────────► half-open
//!     ▲                                     fails, or no answer         │
//!     └─────────────────────────────────────────────────────────────────┘
//!                                   the probe succeeds
//! ```
//!
//! While it is open, one caller at a time is let through as a probe, every 100 to 250 ms, so that a store that is back is noticed within
//! a second. What was asked before a change does not count after it. It reads no clock and knows no store.

use crate::{Moment, Span};

/// Failures in a row that open a breaker, unless somebody says otherwise. One late answer in a hundred never makes so many.
pub const BREAKER_FAILURES: u32 = 8;
/// The first probe comes so long after the breaker opened; each that fails doubles the pause, up to [`PROBE_PAUSE_MAX`].
const PROBE_PAUSE: Span = Span::from_millis(100);
const PROBE_PAUSE_MAX: Span = Span::from_millis(250);
/// A probe that says nothing for so long has failed.
const PROBE_SILENCE_MAX: Span = Span::from_millis(250);

/// Decides who may ask a store.
#[derive(Debug)]
pub struct Breaker {
    failures_max: u32,
    state: State,
    /// Ascends with every change and every probe: passes of another era do not count.
    era: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { since: Moment, probe_at: Moment, pause: Span },
    HalfOpen { since: Moment, probed: Moment, pause: Span },
}

/// What a breaker is, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Everybody may ask.
    Closed,
    /// Nobody may.
    Open,
    /// One is asking on behalf of all.
    HalfOpen,
}

/// Leave to ask the store once. Its outcome is to be told to the breaker.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "tell the breaker what came of it"]
pub struct Pass {
    era: u64,
}

/// What is worth a line in the log. Probes that fail are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerChange {
    /// The store is not asked any more, but for probes.
    Opened,
    /// The store answers again.
    Closed {
        /// How long it was not asked.
        after: Span,
    },
}

impl Breaker {
    /// A closed one that opens after so many failures in a row, at least one.
    pub const fn new(failures_max: u32) -> Breaker {
        let failures_max = if failures_max == 0 { 1 } else { failures_max };
        Breaker { failures_max, state: State::Closed { failures: 0 }, era: 0 }
    }

    /// Whether the store may be asked at `now`; if not, nobody should wait for it.
    pub fn allow(&mut self, now: Moment) -> Option<Pass> {
        match self.state {
            State::Closed { .. } => {}
            State::Open { since, probe_at, pause } if now >= probe_at => self.probe(since, pause, now),
            // The probe was lost; another may go.
            State::HalfOpen { since, probed, pause } if now.since(probed) >= PROBE_SILENCE_MAX => {
                self.probe(since, pause, now);
            }
            State::Open { .. } | State::HalfOpen { .. } => return None,
        }
        Some(Pass { era: self.era })
    }

    /// The store answered in time, by `now`.
    #[expect(clippy::needless_pass_by_value, reason = "a pass is good for one outcome")]
    pub fn succeeded(&mut self, pass: Pass, now: Moment) -> Option<BreakerChange> {
        if pass.era != self.era {
            return None;
        }
        match self.state {
            State::Closed { .. } => {
                self.state = State::Closed { failures: 0 };
                None
            }
            State::Open { since, .. } | State::HalfOpen { since, .. } => {
                self.turn(State::Closed { failures: 0 });
                Some(BreakerChange::Closed { after: now.since(since) })
            }
        }
    }

    /// The store did not answer in time, or answered that it cannot.
    #[expect(clippy::needless_pass_by_value, reason = "a pass is good for one outcome")]
    pub fn failed(&mut self, pass: Pass, now: Moment) -> Option<BreakerChange> {
        if pass.era != self.era {
            return None;
        }
        match self.state {
            State::Closed { failures } if failures + 1 < self.failures_max => {
                self.state = State::Closed { failures: failures + 1 };
                None
            }
            State::Closed { .. } => {
                self.turn(State::Open { since: now, probe_at: now + PROBE_PAUSE, pause: PROBE_PAUSE });
                Some(BreakerChange::Opened)
            }
            State::Open { since, pause, .. } | State::HalfOpen { since, pause, .. } => {
                let pause = (pause + pause).min(PROBE_PAUSE_MAX);
                self.turn(State::Open { since, probe_at: now + pause, pause });
                None
            }
        }
    }

    /// What it is.
    pub const fn state(&self) -> BreakerState {
        match self.state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    fn probe(&mut self, since: Moment, pause: Span, now: Moment) {
        self.turn(State::HalfOpen { since, probed: now, pause });
    }

    fn turn(&mut self, state: State) {
        self.state = state;
        self.era += 1;
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(1_000_000_000 + millis * 1_000_000)
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::new(3);
        let changes: Vec<_> = (0..3)
            .map(|_| {
                let pass = breaker.allow(at(0)).unwrap();
                breaker.failed(pass, at(0))
            })
            .collect();
        assert_eq!(changes, [None, None, Some(BreakerChange::Opened)]);
        breaker
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_not_for_some_among_many() {
        opened();
        let mut breaker = Breaker::new(3);
        for check in 0..1_000 {
            let pass = breaker.allow(at(check)).unwrap();
            let change = if check % 3 == 0 {
                breaker.succeeded(pass, at(check))
            } else {
                breaker.failed(pass, at(check))
            };
            assert_eq!(change, None);
        }
    }

    #[test]
    fn while_it_is_open_one_probe_at_a_time_is_let_through() {
        let mut breaker = opened();
        assert_eq!(breaker.allow(at(99)), None);
        let probe = breaker.allow(at(100)).unwrap();
        assert_eq!((breaker.state(), breaker.allow(at(100))), (BreakerState::HalfOpen, None));
        assert_eq!(breaker.failed(probe, at(110)), None, "no line in the log for every probe");
        assert_eq!(breaker.state(), BreakerState::Open);
        assert_eq!(breaker.allow(at(309)), None, "the pause has doubled");
        let probe = breaker.allow(at(310)).unwrap();
        assert_eq!(
            breaker.succeeded(probe, at(311)),
            Some(BreakerChange::Closed { after: Span::from_millis(311) })
        );
        assert!(breaker.allow(at(311)).is_some() && breaker.allow(at(311)).is_some());
    }

    #[test]
    fn what_was_asked_before_a_change_does_not_count_after_it() {
        let mut breaker = Breaker::new(1);
        let [early, late, later] = [(); 3].map(|()| breaker.allow(at(0)).unwrap());
        assert_eq!(breaker.failed(early, at(1)), Some(BreakerChange::Opened));
        assert_eq!((breaker.failed(late, at(2)), breaker.succeeded(later, at(3))), (None, None));
        assert_eq!(breaker.state(), BreakerState::Open);
        let lost = breaker.allow(at(101)).unwrap();
        let probe = breaker.allow(at(351)).unwrap();
        assert_eq!(breaker.failed(lost, at(352)), None);
        assert!(breaker.succeeded(probe, at(353)).is_some(), "the old probe says nothing about the new one");
    }

    /// Whatever an outage looks like, with a check every millisecond.
    #[test]
    fn a_store_that_is_back_is_noticed_within_a_second_and_every_change_is_said_once() {
        for outage in [1, 50, 99, 100, 101, 500, 10_000, 10_013] {
            for is_silent in [false, true] {
                let (mut breaker, mut changes, mut asked) = (Breaker::new(3), Vec::new(), 0);
                let mut closed_at = None;
                for millis in 0..outage + 2_000 {
                    let Some(pass) = breaker.allow(at(millis)) else { continue };
                    let is_back = millis >= 10 + outage;
                    asked += u64::from(millis >= 10 && !is_back);
                    let change = if millis < 10 || is_back {
                        breaker.succeeded(pass, at(millis))
                    } else if is_silent && breaker.state() == BreakerState::HalfOpen {
                        None
                    } else {
                        breaker.failed(pass, at(millis))
                    };
                    closed_at = closed_at
                        .or(change.filter(|change| *change != BreakerChange::Opened).map(|_| millis));
                    changes.extend(change);
                }
                assert!(asked <= 3 + 2 + outage / 250, "{asked} asked in {outage} ms");
                let expected = if outage >= 3 { 2 } else { 0 };
                assert_eq!(changes.len(), expected, "{changes:?} in {outage} ms");
                assert!(
                    closed_at.is_none_or(|millis| millis <= 10 + outage + 251),
                    "{outage}: {closed_at:?}"
                );
            }
        }
    }
}
