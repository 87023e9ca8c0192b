//! What was asked and answered, recorded by many threads.
//!
//! Recording costs a push to a vector that no other thread touches. A history promises nothing about the order of its
//! events, and does not know limits: [`crate::checker`] judges it.

use std::mem;
use std::sync::{Mutex, PoisonError};

use tollgate_core::{Cost, Moment};

/// One check and its answer. It took effect at some moment from `called` to `answered`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Which bucket; the recording test chooses the numbers.
    pub key: u64,
    /// Just before the check was made.
    pub called: Moment,
    /// Just after the answer was there.
    pub answered: Moment,
    /// What was charged, in micro-tokens; a refund is negative.
    pub cost: i64,
    /// Whether it was admitted. What was denied counts for nothing.
    pub admitted: bool,
}

/// Collects the events of many threads: each has a lane of its own.
#[derive(Debug, Default)]
pub struct Recorder {
    finished: Mutex<Vec<Vec<Event>>>,
}

/// The events of one thread. Handed over to the recorder when it is dropped.
#[derive(Debug)]
pub struct Lane<'a> {
    recorder: &'a Recorder,
    events: Vec<Event>,
}

impl Recorder {
    /// Without events.
    pub fn new() -> Recorder {
        Recorder::default()
    }

    /// A lane for the calling thread.
    pub fn lane(&self) -> Lane<'_> {
        Lane { recorder: self, events: Vec::new() }
    }

    /// All events of the lanes that were dropped.
    pub fn into_events(self) -> Vec<Event> {
        self.finished.into_inner().unwrap_or_else(PoisonError::into_inner).concat()
    }
}

impl Lane<'_> {
    /// Records any event.
    pub fn record(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Records a check. A cost above 9·10^18 micro-tokens, which no burst allows, is recorded as that.
    pub fn check(&mut self, key: u64, cost: Cost, called: Moment, answered: Moment, admitted: bool) {
        let cost = i64::try_from(cost.as_micros()).unwrap_or(i64::MAX);
        self.record(Event { key, called, answered, cost, admitted });
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        let mut finished = self.recorder.finished.lock().unwrap_or_else(PoisonError::into_inner);
        finished.push(mem::take(&mut self.events));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn every_lane_is_in_the_history() {
        let recorder = Recorder::new();
        thread::scope(|scope| {
            for key in 0..4 {
                let recorder = &recorder;
                scope.spawn(move || {
                    let mut lane = recorder.lane();
                    for nanos in 0..100 {
                        let now = Moment::from_nanos(nanos);
                        lane.check(key, Cost::ONE, now, now, true);
                    }
                });
            }
        });
        let events = recorder.into_events();
        assert_eq!(events.len(), 400);
        assert!((0..4).all(|key| events.iter().filter(|event| event.key == key).count() == 100));
    }
}
