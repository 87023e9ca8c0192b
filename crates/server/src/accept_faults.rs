//! Connections that could not be accepted, as they are told of: the first at once, then how many there were, now and then.

use std::io;

use tollgate_core::{Moment, Span};

use crate::door::Door;

/// Least time between two lines of one door.
const TOLD_EVERY: Span = Span::from_secs(10);

/// What one door could not accept.
#[derive(Debug, Default)]
pub(crate) struct AcceptFaults {
    /// Since the last line.
    times: u64,
    told_at: Option<Moment>,
}

impl AcceptFaults {
    /// Writes a line, unless there was one a moment ago.
    pub(crate) fn note(&mut self, door: Door, error: &io::Error, now: Moment) {
        if let Some(times) = self.due(now) {
            tracing::warn!(%door, %error, times, "cannot accept connections; trying again");
        }
    }

    /// How often it has failed since the last line, if one is due.
    fn due(&mut self, now: Moment) -> Option<u64> {
        self.times = self.times.saturating_add(1);
        if self.told_at.is_some_and(|told_at| now < told_at + TOLD_EVERY) {
            return None;
        }
        self.told_at = Some(now);
        Some(std::mem::take(&mut self.times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_at_once_and_the_others_are_counted() {
        let mut faults = AcceptFaults::default();
        let told: Vec<(u64, u64)> =
            (0..600).filter_map(|at| Some((at, faults.due(Moment::from_nanos(at * 50_000_000))?))).collect();
        assert_eq!(told, [(0, 1), (200, 200), (400, 200)]);
        assert_eq!(faults.due(Moment::from_nanos(3_600_000_000_000)), Some(200), "an hour later");
    }
}
