//! How much this node is asked for: the larger of the last two half-lives of a slice.
//!
//! A slice of that size lasts about half of its life. It knows no limit, and counts what is denied too.

use crate::{Moment, Span};

/// What was asked of one bucket lately, on this node. Micro-tokens.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LocalDemand {
    /// When the present window began.
    begun: Moment,
    present: u64,
    before: u64,
    /// When something was last asked.
    last: Moment,
}

impl LocalDemand {
    /// Counts a check. `window` is half of a slice's life.
    #[inline]
    pub(super) fn count(&mut self, micros: u64, window: Span, now: Moment) {
        let passed = now.since(self.begun);
        if passed >= window {
            // A pause of a whole window forgets what was before it.
            self.before = if passed < window + window { self.present } else { 0 };
            (self.begun, self.present) = (now, 0);
        }
        self.present = self.present.saturating_add(micros);
        self.last = now;
    }

    /// What to expect of the next window.
    #[inline]
    pub(super) fn expected(&self) -> u64 {
        self.present.max(self.before)
    }

    /// When something was last asked of it.
    pub(super) fn last(&self) -> Moment {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_busier_of_two_windows_and_forgets_over_a_pause() {
        let (window, mut demand) = (Span::from_millis(200), LocalDemand::default());
        let at = |millis: u64| Moment::from_nanos(1_000_000_000 + millis * 1_000_000);
        for millis in 0..200 {
            demand.count(3, window, at(millis));
        }
        assert_eq!(demand.expected(), 600);
        demand.count(1, window, at(200));
        assert_eq!(demand.expected(), 600, "the window before");
        demand.count(1, window, at(900));
        assert_eq!(demand.expected(), 1, "after a pause");
    }
}
