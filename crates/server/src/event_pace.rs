//! Limits how often one kind of event is logged: the first at once, then one line per interval with the number of events.

use tollgate_core::{Moment, Span};

/// Least time between two lines.
const INTERVAL: Span = Span::from_secs(10);

/// Counts the events since the last line.
#[derive(Debug, Default)]
pub(crate) struct EventPace {
    events: u64,
    logged_at: Option<Moment>,
}

impl EventPace {
    /// Counts `events`. Returns the number of events since the last line if a line is due.
    pub(crate) fn note(&mut self, events: u64, now: Moment) -> Option<u64> {
        self.events = self.events.saturating_add(events);
        if self.logged_at.is_some_and(|logged_at| now < logged_at + INTERVAL) {
            return None;
        }
        self.logged_at = Some(now);
        Some(std::mem::take(&mut self.events))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_event_is_logged_at_once_and_others_are_counted() {
        let mut pace = EventPace::default();
        let logged: Vec<(u64, u64)> = (0..600)
            .filter_map(|at| Some((at, pace.note(1, Moment::from_nanos(at * 50_000_000))?)))
            .collect();
        assert_eq!(logged, [(0, 1), (200, 200), (400, 200)]);
        assert_eq!(pace.note(2, Moment::from_nanos(3_600_000_000_000)), Some(201), "an hour later");
    }
}
