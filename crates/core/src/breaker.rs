//! A circuit breaker: who asks a store that does not answer, and who does not.
//!
//! ```text
//!             no reply for `away_after`          its time has come
//!   closed ──────────────────────► open ◄──────────────────────────► half-open
//!     ▲                                     fails, or no answer         │
//!     └─────────────────────────────────────────────────────────────────┘
//!                                   the probe succeeds
//! ```
//!
//! A late reply does not open it: only the time without any reply does, counted from when the first call was sent that failed or is overdue.
//! Time in which no call was sent for [`LULL`] does not count: a call that failed before it says nothing of the store after it.
//! While it is open, one caller at a time is let through as a probe: 100 ms after the last one failed, or 250 ms after the last one was sent
//! without an answer. A probe's reply may be late as well. Calls that were allowed before a change do not count after it. The breaker reads no
//! clock and knows no store.

use crate::{Moment, Span};

/// A probe comes so long after the breaker opened, or after the last probe failed.
const PROBE_PAUSE: Span = Span::from_millis(100);
/// A probe that says nothing for so long has failed.
const PROBE_SILENCE_MAX: Span = Span::from_millis(250);

/// A pause this long between a call that failed or is overdue and the next one ends the silence; at least `away_after`.
const LULL: Span = Span::from_secs(2);

/// Decides who may ask a store.
#[derive(Debug, Default)]
pub struct Breaker {
    state: State,
    /// Ascends with every change and every probe: passes of another era do not count.
    era: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed { silence: Option<Silence> },
    Open { since: Moment, probe_at: Moment },
    HalfOpen { since: Moment, probed: Moment },
}

/// Calls failed or are overdue, without any reply to any call since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Silence {
    /// When the first of the calls was sent.
    since: Moment,
    /// When the last of them was found to have failed, or to be overdue.
    latest: Moment,
}

impl Default for State {
    fn default() -> State {
        State::Closed { silence: None }
    }
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
    sent: Moment,
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
    /// Whether the store may be asked at `now`; if not, nobody should wait for it.
    pub fn allow(&mut self, now: Moment) -> Option<Pass> {
        match self.state {
            State::Closed { .. } => {}
            State::Open { since, probe_at } if now >= probe_at => self.probe(since, now),
            // The probe was lost; another may go.
            State::HalfOpen { since, probed } if now.since(probed) >= PROBE_SILENCE_MAX => {
                self.probe(since, now);
            }
            State::Open { .. } | State::HalfOpen { .. } => return None,
        }
        Some(Pass { era: self.era, sent: now })
    }

    /// The store replied by `now`, in time or late.
    #[expect(clippy::needless_pass_by_value, reason = "a pass is good for one outcome")]
    pub fn succeeded(&mut self, pass: Pass, now: Moment) -> Option<BreakerChange> {
        if pass.era != self.era {
            return None;
        }
        match self.state {
            State::Closed { .. } => {
                self.state = State::Closed { silence: None };
                None
            }
            State::Open { since, .. } | State::HalfOpen { since, .. } => {
                self.turn(State::Closed { silence: None });
                Some(BreakerChange::Closed { after: now.since(since) })
            }
        }
    }

    /// The reply to a call is overdue, and may still come. Opens the breaker if there was no reply to any call for `away_after`.
    pub fn overdue(&mut self, pass: &Pass, now: Moment, away_after: Span) -> Option<BreakerChange> {
        let State::Closed { silence } = &mut self.state else { return None };
        if pass.era != self.era {
            return None;
        }
        let is_lull = |silence: &Silence| pass.sent.since(silence.latest) > LULL.max(away_after);
        let since = silence.filter(|silence| !is_lull(silence)).map_or(pass.sent, |silence| silence.since);
        let since = since.min(pass.sent);
        *silence = Some(Silence { since, latest: now });
        if now.since(since) < away_after {
            return None;
        }
        self.turn(State::Open { since: now, probe_at: now + PROBE_PAUSE });
        Some(BreakerChange::Opened)
    }

    /// There will be no reply, or the store replied that it cannot.
    #[expect(clippy::needless_pass_by_value, reason = "a pass is good for one outcome")]
    pub fn failed(&mut self, pass: Pass, now: Moment, away_after: Span) -> Option<BreakerChange> {
        if pass.era != self.era {
            return None;
        }
        match self.state {
            State::Closed { .. } => self.overdue(&pass, now, away_after),
            State::Open { since, .. } | State::HalfOpen { since, .. } => {
                self.turn(State::Open { since, probe_at: now + PROBE_PAUSE });
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

    fn probe(&mut self, since: Moment, now: Moment) {
        self.turn(State::HalfOpen { since, probed: now });
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

    const AWAY_AFTER: Span = Span::from_millis(250);

    /// Opened at 0: nothing was answered for a quarter of a second before.
    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        let early = Moment::from_nanos(at(0).as_nanos() - AWAY_AFTER.as_nanos());
        let first = breaker.allow(early).unwrap();
        assert_eq!(breaker.failed(first, early, AWAY_AFTER), None);
        let last = breaker.allow(at(0)).unwrap();
        assert_eq!(breaker.failed(last, at(0), AWAY_AFTER), Some(BreakerChange::Opened));
        breaker
    }

    #[test]
    fn only_time_without_any_reply_opens_it() {
        let mut breaker = Breaker::default();
        let mut pending = Vec::new();
        // Every reply is 200 ms late; there is one every millisecond.
        for millis in 0..2_000 {
            pending.push(breaker.allow(at(millis)).unwrap());
            if let Some(overdue) = millis.checked_sub(15) {
                let pass = &pending[usize::try_from(overdue).unwrap().min(pending.len() - 1)];
                assert_eq!(breaker.overdue(pass, at(millis), AWAY_AFTER), None);
            }
            if millis >= 200 {
                let pass = Pass { era: 0, sent: at(millis - 200) };
                assert_eq!(breaker.succeeded(pass, at(millis)), None);
            }
        }
        // Then there is none.
        let mut opened_at = None;
        for millis in 2_000..3_000 {
            let Some(pass) = breaker.allow(at(millis)) else { break };
            if breaker.failed(pass, at(millis), AWAY_AFTER).is_some() {
                opened_at = Some(millis);
            }
        }
        assert_eq!(opened_at, Some(2_250));
    }

    /// One call fails, a minute later another one is late.
    #[test]
    fn a_failure_before_a_lull_does_not_open_it() {
        let mut breaker = Breaker::default();
        let lost = breaker.allow(at(0)).unwrap();
        assert_eq!(breaker.failed(lost, at(1), AWAY_AFTER), None);
        let late = breaker.allow(at(60_000)).unwrap();
        assert_eq!(breaker.overdue(&late, at(60_015), AWAY_AFTER), None);
        // A store that then stays silent is unreachable, however seldom it is asked.
        let next = breaker.allow(at(61_500)).unwrap();
        assert_eq!(breaker.overdue(&next, at(61_515), AWAY_AFTER), Some(BreakerChange::Opened));
    }

    #[test]
    fn a_probe_may_be_answered_late() {
        let mut breaker = opened();
        let probe = breaker.allow(at(100)).unwrap();
        assert_eq!(breaker.overdue(&probe, at(115), AWAY_AFTER), None);
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        assert!(breaker.succeeded(probe, at(160)).is_some());
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[test]
    fn while_it_is_open_one_probe_at_a_time_is_let_through() {
        let mut breaker = opened();
        assert_eq!(breaker.allow(at(99)), None);
        let probe = breaker.allow(at(100)).unwrap();
        assert_eq!((breaker.state(), breaker.allow(at(100))), (BreakerState::HalfOpen, None));
        assert_eq!(breaker.failed(probe, at(110), AWAY_AFTER), None, "no line in the log for every probe");
        assert_eq!(breaker.state(), BreakerState::Open);
        assert_eq!(breaker.allow(at(209)), None);
        let probe = breaker.allow(at(210)).unwrap();
        assert_eq!(
            breaker.succeeded(probe, at(211)),
            Some(BreakerChange::Closed { after: Span::from_millis(211) })
        );
        assert!(breaker.allow(at(211)).is_some() && breaker.allow(at(211)).is_some());
    }

    #[test]
    fn what_was_asked_before_a_change_does_not_count_after_it() {
        let mut breaker = Breaker::default();
        let [early, late, later] = [(); 3].map(|()| breaker.allow(at(0)).unwrap());
        assert_eq!(breaker.failed(early, at(1), Span::from_millis(1)), Some(BreakerChange::Opened));
        assert_eq!((breaker.failed(late, at(2), AWAY_AFTER), breaker.succeeded(later, at(3))), (None, None));
        assert_eq!(breaker.state(), BreakerState::Open);
        let lost = breaker.allow(at(101)).unwrap();
        let probe = breaker.allow(at(351)).unwrap();
        assert_eq!(breaker.failed(lost, at(352), AWAY_AFTER), None);
        assert!(breaker.succeeded(probe, at(353)).is_some(), "the old probe says nothing about the new one");
    }

    /// Whatever an outage looks like, with a check every millisecond.
    #[test]
    fn a_store_that_is_back_is_noticed_within_a_quarter_of_a_second_and_every_change_is_reported_once() {
        for outage in [1, 50, 99, 100, 101, 500, 10_000, 10_013] {
            for is_silent in [false, true] {
                let (mut breaker, mut changes, mut asked) = (Breaker::default(), Vec::new(), 0);
                let away_after = Span::from_millis(3);
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
                        breaker.failed(pass, at(millis), away_after)
                    };
                    closed_at = closed_at
                        .or(change.filter(|change| *change != BreakerChange::Opened).map(|_| millis));
                    changes.extend(change);
                }
                assert!(asked <= 4 + 2 + outage / 100, "{asked} asked in {outage} ms");
                let expected = if outage > 3 { 2 } else { 0 };
                assert_eq!(changes.len(), expected, "{changes:?} in {outage} ms");
                let latest = if is_silent { 250 } else { 100 };
                assert!(
                    closed_at.is_none_or(|millis| millis <= 10 + outage + latest + 1),
                    "{outage}: {closed_at:?}"
                );
            }
        }
    }
}
